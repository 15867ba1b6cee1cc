// needs: cpu
// Recurrent layers and packed sequences beside what tests/pytorch/modules compares: properties, and what is refused.
#include <backplane/nn/recurrent.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

namespace rnn = nn::utils::rnn;

TEST(PackedSequence, comes_back_as_it_was) {
  const Tensor a = rand({3, 2}), b = rand({1, 2}), c = rand({4, 2});
  for (bool batch_first : {false, true}) {
    const Tensor padded = rnn::pad_sequence({a, b, c}, batch_first, -1);
    EXPECT_EQ(padded.shape(), batch_first ? Dims({3, 4, 2}) : Dims({4, 3, 2}));
    const Tensor lengths = tensor({3, 1, 4});
    const nn::PackedSequence packed =
        rnn::pack_padded_sequence(padded, lengths, batch_first, false);
    EXPECT_EQ(packed.data.shape(), Dims({8, 2}));
    EXPECT_EQ(to_vector<std::int64_t>(packed.batch_sizes), (std::vector<std::int64_t>{3, 2, 2, 1}));
    const auto [back, found] = rnn::pad_packed_sequence(packed, batch_first, -1);
    EXPECT_EQ(numbers_of(back), numbers_of(padded));
    EXPECT_EQ(to_vector<std::int64_t>(found), (std::vector<std::int64_t>{3, 1, 4}));
    const std::vector<Tensor> each = rnn::unpad_sequence(padded, lengths, batch_first);
    EXPECT_EQ(numbers_of(each[1]), numbers_of(b));
  }
  const std::vector<Tensor> each = rnn::unpack_sequence(rnn::pack_sequence({a, b, c}, false));
  EXPECT_EQ(numbers_of(each[0]), numbers_of(a));
  EXPECT_EQ(numbers_of(each[2]), numbers_of(c));
  const Tensor left = rnn::pad_sequence({a, b}, true, 0, "left");
  EXPECT_EQ(numbers_of(select(left, 0, 1)), numbers_of(cat({zeros({2, 2}), b})));
}

TEST(PackedSequence, refuses_lengths_that_do_not_fit) {
  const Tensor padded = rand({4, 3, 2});
  EXPECT_THAT(sentence_of([&] {
                rnn::pack_padded_sequence(padded, tensor({3, 1, 4}));
              }),
              HasSubstr("sequence 2 has length 4 and the one before it 1"));
  EXPECT_NE(sentence_of([&] { rnn::pack_padded_sequence(padded, tensor({5, 1, 1})); }), "no error");
  EXPECT_NE(sentence_of([&] { rnn::pack_padded_sequence(padded, tensor({4, 1, 0})); }), "no error");
  EXPECT_NE(sentence_of([&] { rnn::pack_padded_sequence(padded, tensor({4, 1})); }), "no error");
  EXPECT_THAT(sentence_of([] { rnn::pad_sequence(std::vector<Tensor>{}); }),
              HasSubstr("no sequence"));
  EXPECT_THAT(sentence_of([&] { rnn::pad_sequence({padded}, false, 0, "middle"); }),
              HasSubstr("'middle'"));
  EXPECT_THAT(sentence_of([&] { rnn::unpad_sequence(padded, tensor({1})); }),
              HasSubstr("1 lengths of 3 sequences"));
}

TEST(LSTM, reads_packed_sequences_as_each_alone) {
  for (const nn::RNNOptions& options :
       {nn::RNNOptions{.num_layers = 2, .bidirectional = true, .dtype = f64},
        nn::RNNOptions{.bidirectional = true, .proj_size = 2, .dtype = f64}}) {
    const nn::LSTM lstm(3, 4, options);
    std::vector<Tensor> sequences;
    for (std::int64_t length : {2, 5, 1, 5}) sequences.push_back(rand({length, 3}, f64));
    const nn::PackedLSTMResult packed = lstm(rnn::pack_sequence(sequences, false));
    const std::vector<Tensor> outputs = rnn::unpack_sequence(packed.output);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const nn::LSTMResult alone = lstm(sequences[i]);
      const auto place = static_cast<std::int64_t>(i);
      EXPECT_TRUE(is_close(outputs[i], alone.output));
      EXPECT_TRUE(is_close(select(packed.hidden, 1, place), alone.hidden));
      EXPECT_TRUE(is_close(select(packed.cell, 1, place), alone.cell));
    }
  }
}

TEST(RNNCell, is_a_step_of_its_layer) {
  nn::GRU gru(3, 4, {.dtype = f64});
  nn::GRUCell cell(3, 4, {.dtype = f64});
  nn::RNNBase::Weights& weights = gru.weights(0);
  weights.weight_ih = cell.weight_ih;
  weights.weight_hh = cell.weight_hh;
  weights.bias_ih = cell.bias_ih;
  weights.bias_hh = cell.bias_hh;
  const Tensor x = rand({2, 5, 3}, f64);
  const Tensor output = gru(x).output;
  const Tensor state = cell(select(x, 0, 0));
  EXPECT_TRUE(is_close(select(output, 0, 0), state));
  EXPECT_TRUE(is_close(select(output, 0, 1), cell(select(x, 0, 1), state)));
}

TEST(RNN, drops_between_layers_in_training_alone) {
  nn::RNN layer(3, 8, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = rand({4, 2, 3});
  const nn::PackedSequence packed = rnn::pack_sequence({rand({4, 3}), rand({2, 3})});
  EXPECT_NE(numbers_of(layer(x).output), numbers_of(layer(x).output));
  EXPECT_NE(numbers_of(layer(packed).output.data), numbers_of(layer(packed).output.data));
  layer.eval();
  EXPECT_EQ(numbers_of(layer(x).output), numbers_of(layer(x).output));
  EXPECT_EQ(numbers_of(layer(packed).output.data), numbers_of(layer(packed).output.data));
}

TEST(RNN, refuses_sizes_that_do_not_fit) {
  const nn::LSTM lstm(3, 4, {.num_layers = 2});
  const Tensor x = rand({5, 2, 3});
  EXPECT_THAT(sentence_of([&] {
                lstm(rand({5, 2, 4}));
              }),
              HasSubstr("LSTM: the input has 4 features, input_size is 3"));
  EXPECT_THAT(sentence_of([&] { lstm(rand({3})); }), HasSubstr("[steps, batch, 3]"));
  EXPECT_THAT(sentence_of([&] { lstm(rand({0, 2, 3})); }), HasSubstr("no step"));
  EXPECT_THAT(sentence_of([&] {
                lstm(x, ones({2, 1, 4}), ones({2, 2, 4}));
              }),
              HasSubstr("the hidden state has shape [2, 1, 4]; pass one of [2, 2, 4]"));
  EXPECT_THAT(sentence_of([&] { lstm(x, ones({2, 2, 4})); }), HasSubstr("one of the two states"));
  EXPECT_THAT(sentence_of([&] { nn::GRU(3, 4, {.proj_size = 2}); }),
              HasSubstr("only an LSTM projects"));
  EXPECT_THAT(sentence_of([&] { nn::RNN(3, 4, {.nonlinearity = "gelu"}); }), HasSubstr("'gelu'"));
  EXPECT_THAT(sentence_of([&] { nn::RNN(3, 4, {.dropout = 1.5}); }), HasSubstr("from 0 to 1"));
  EXPECT_THAT(sentence_of([&] { nn::RNN(3, 0); }), HasSubstr("sizes above 0"));
  nn::GRU gru(3, 4);
  EXPECT_THAT(sentence_of([&] { gru.weights(0, true); }),
              HasSubstr("no reverse direction of layer 0"));
  EXPECT_THAT(sentence_of([&] {
                nn::LSTMCell(3, 4)(rand({2, 3}), ones({2, 4}));
              }),
              HasSubstr("one of the two states is missing"));
  EXPECT_THAT(sentence_of([&] {
                nn::GRUCell(3, 4)(rand({2, 3}), ones({1, 4}));
              }),
              HasSubstr("GRUCell: the state has shape [1, 4]; pass one of [2, 4]"));
}

}  // namespace
}  // namespace bp::test
