// needs: cpu
// Attention and transformers beside what tests/pytorch/modules compares: properties, and what is refused.
#include <backplane/nn/transformer.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

TEST(MultiheadAttention, weighs_with_parts_of_one_and_gives_the_same_without_weights) {
  for (bool batch_first : {false, true}) {
    const nn::MultiheadAttention attention(6, 2, {.batch_first = batch_first, .dtype = f64});
    const Tensor x = rand({3, 4, 6}, f64);
    const nn::AttentionResult with = attention(x, x, x);
    const nn::AttentionResult without = attention(x, x, x, {.need_weights = false});
    EXPECT_TRUE(is_close(with.output, without.output));
    EXPECT_FALSE(without.weights.defined());
    const std::int64_t batch = batch_first ? 3 : 4, length = batch_first ? 4 : 3;
    EXPECT_EQ(with.weights.shape(), Dims({batch, length, length}));
    EXPECT_TRUE(is_close(sum(with.weights, -1), ones({batch, length}, f64)));
  }
}

TEST(MultiheadAttention, does_not_see_what_is_masked) {
  const nn::MultiheadAttention attention(4, 2, {.dtype = f64});
  const Tensor x = rand({3, 1, 4}, f64), other = bp::clone(x);
  fill_(narrow(other, 0, 2, 1), 9);
  const Tensor padding = tensor<bool>({{false, false, true}});
  for (bool need_weights : {true, false}) {
    const nn::AttentionArguments masked{.key_padding_mask = padding, .need_weights = need_weights};
    EXPECT_TRUE(
        is_close(attention(x, other, other, masked).output, attention(x, x, x, masked).output));
  }
}

TEST(MultiheadAttention, refuses_sizes_that_do_not_fit) {
  const nn::MultiheadAttention attention(4, 2);
  const Tensor x = rand({3, 2, 4});
  const auto sentence = [&](const Tensor& query, const Tensor& key, const Tensor& value,
                            const nn::AttentionArguments& arguments = {}) {
    return sentence_of([&] { attention(query, key, value, arguments); });
  };
  EXPECT_THAT(sentence_of([] { nn::MultiheadAttention(5, 2); }),
              HasSubstr("embed_dim 5 is not divisible into 2 heads"));
  EXPECT_THAT(sentence(x, rand({3, 2, 5}), x), HasSubstr("key and value have 5 and 4 features"));
  EXPECT_THAT(sentence(x, rand({2, 2, 4}), x), HasSubstr("they may differ only in features"));
  EXPECT_THAT(sentence(x, rand({3, 1, 4}), rand({3, 1, 4})), HasSubstr("dimension 1, the batch"));
  EXPECT_THAT(sentence(x, rand({3, 4}), x), HasSubstr("have 3, 2 and 3 dimensions"));
  EXPECT_THAT(sentence(x, x, x, {.attn_mask = ones({2, 3})}),
              HasSubstr("attn_mask has shape [2, 3]; pass one of [3, 3]"));
  EXPECT_THAT(sentence(x, x, x, {.key_padding_mask = ones({3, 3})}),
              HasSubstr("key_padding_mask has shape [3, 3]; pass one of [2, 3]"));
  EXPECT_THAT(sentence(x, x, x, {.attn_mask = ones({3, 3}, i64)}), HasSubstr("attn_mask is int64"));
  EXPECT_THAT(sentence(x, x, x, {.is_causal = true}), HasSubstr("pass attn_mask too"));
  EXPECT_THAT(sentence_of([&] { attention.call_all({x}); }), HasSubstr("query, key and value"));
}

TEST(MultiheadAttention, drops_weights_in_training_alone) {
  nn::MultiheadAttention attention(4, 2, {.dropout = 0.5});
  const Tensor x = rand({8, 2, 4});
  for (bool need_weights : {true, false}) {
    const nn::AttentionArguments arguments{.need_weights = need_weights};
    attention.train();
    EXPECT_NE(numbers_of(attention(x, x, x, arguments).output),
              numbers_of(attention(x, x, x, arguments).output));
    attention.eval();
    EXPECT_EQ(numbers_of(attention(x, x, x, arguments).output),
              numbers_of(attention(x, x, x, arguments).output));
  }
}

TEST(Transformer, sees_no_later_target_through_a_causal_mask) {
  nn::Transformer model({.d_model = 4,
                         .nhead = 2,
                         .num_encoder_layers = 1,
                         .num_decoder_layers = 2,
                         .layer = {.dim_feedforward = 8, .dtype = f64}});
  model.eval();
  const Tensor src = rand({5, 2, 4}, f64), tgt = rand({3, 2, 4}, f64), other = bp::clone(tgt);
  fill_(narrow(other, 0, 2, 1), 7);
  const nn::TransformerArguments causal{
      .decoder = {.tgt_mask = nn::Transformer::generate_square_subsequent_mask(3, f64),
                  .tgt_is_causal = true}};
  const Tensor first = model(src, tgt, causal), second = model(src, other, causal);
  EXPECT_TRUE(is_close(narrow(first, 0, 0, 2), narrow(second, 0, 0, 2)));
  EXPECT_FALSE(is_close(first, second));
  EXPECT_THAT(sentence_of([&] {
                model(src, rand({3, 1, 4}, f64));
              }),
              HasSubstr("src has shape [5, 2, 4] and tgt [3, 1, 4]"));
}

TEST(Transformer, stacks_clones_and_normalizes_behind_them) {
  const nn::TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 8});
  nn::TransformerEncoder encoder(layer, 2, nn::LayerNorm(4));
  const auto& first = encoder.layers.at<nn::TransformerEncoderLayer>(0);
  EXPECT_FALSE(first.linear1.weight.shares_storage(layer.linear1.weight));
  EXPECT_EQ(numbers_of(first.linear1.weight), numbers_of(layer.linear1.weight));
  encoder.eval();
  const Tensor x = rand({3, 1, 4});
  const nn::Module& any = encoder;
  EXPECT_EQ(numbers_of(any(x)), numbers_of(encoder(x)));
  EXPECT_THAT(nn::to_string(encoder), HasSubstr("(0-1): 2 x TransformerEncoderLayer("));
  EXPECT_THAT(sentence_of([&] {
                encoder(rand({3, 1, 5}));
              }),
              testing::StartsWith("layers.0.self_attn: MultiheadAttention: the query has 5"));
}

}  // namespace
}  // namespace bp::test
