// needs: cpu
// Attention against three plain loops in float64, and in the corners where softmax has nothing to divide.
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

constexpr double no_key = -std::numeric_limits<double>::infinity();

struct Sizes {
  std::int64_t batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, size = 1, value_size = 1;

  std::size_t query(std::int64_t b, std::int64_t h, std::int64_t l) const {
    return static_cast<std::size_t>((b * heads + h) * queries + l);
  }
  std::size_t key(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return static_cast<std::size_t>((b * key_heads + h * key_heads / heads) * keys + s);
  }
};

using Numbers = std::vector<double>;
// What is added to the score of a query and a key.
using Mask = std::function<double(std::int64_t b, std::int64_t h, std::int64_t l, std::int64_t s)>;

// The weights of one query; all 0 if no key takes part.
Numbers weights_of_query(const Sizes& n, const Numbers& q, const Numbers& k, double scale,
                         const Mask& mask, std::int64_t b, std::int64_t h, std::int64_t l) {
  Numbers weights;
  double largest = no_key, total = 0;
  for (std::int64_t s = 0; s < n.keys; ++s) {
    double score = 0;
    for (std::int64_t e = 0; e < n.size; ++e)
      score +=
          q[n.query(b, h, l) * static_cast<std::size_t>(n.size) + static_cast<std::size_t>(e)] *
          k[n.key(b, h, s) * static_cast<std::size_t>(n.size) + static_cast<std::size_t>(e)];
    weights.push_back(score * scale + mask(b, h, l, s));
    largest = std::max(largest, weights.back());
  }
  for (double& weight : weights)
    total += weight = largest == no_key ? 0 : std::exp(weight - largest);
  for (double& weight : weights) weight = total == 0 ? 0 : weight / total;
  return weights;
}

Numbers attention_by_loops(const Sizes& n, const Numbers& q, const Numbers& k, const Numbers& v,
                           double scale, const Mask& mask) {
  Numbers result;
  for (std::int64_t b = 0; b < n.batch; ++b)
    for (std::int64_t h = 0; h < n.heads; ++h)
      for (std::int64_t l = 0; l < n.queries; ++l) {
        const Numbers weights = weights_of_query(n, q, k, scale, mask, b, h, l);
        for (std::int64_t e = 0; e < n.value_size; ++e) {
          double sum = 0;
          for (std::int64_t s = 0; s < n.keys; ++s)
            sum += weights[static_cast<std::size_t>(s)] *
                   v[n.key(b, h, s) * static_cast<std::size_t>(n.value_size) +
                     static_cast<std::size_t>(e)];
          result.push_back(sum);
        }
      }
  return result;
}

struct Inputs {
  Tensor query, key, value;

  Numbers by_loops(const Sizes& n, double scale, const Mask& mask) const {
    return attention_by_loops(n, to_vector<double>(to(query, f64)), to_vector<double>(to(key, f64)),
                              to_vector<double>(to(value, f64)), scale, mask);
  }
};

Inputs inputs_of(const Sizes& n, Dtype dtype) {
  manual_seed(11);
  return {to(randn({n.batch, n.heads, n.queries, n.size}), dtype),
          to(randn({n.batch, n.key_heads, n.keys, n.size}), dtype),
          to(randn({n.batch, n.key_heads, n.keys, n.value_size}), dtype)};
}

void expect_near(const Tensor& actual, const Numbers& expected, double room) {
  const Numbers values = to_vector<double>(to(actual, f64));
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], room) << "element " << i;
}

double no_mask(std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  return 0;
}
double causal(std::int64_t, std::int64_t, std::int64_t l, std::int64_t s) {
  return s <= l ? 0 : no_key;
}

double room_of(Dtype dtype) {
  return dtype == f64 ? 1e-13 : dtype == f32 ? 5e-6 : dtype == f16 ? 3e-3 : 2e-2;
}

// Sizes at and beside the blocks that kernels work in.
TEST(Attention, of_many_sizes_is_what_loops_say) {
  const Sizes all[] = {{1, 1, 1, 1, 1, 1, 1},      {2, 3, 3, 5, 7, 4, 6},
                       {1, 2, 2, 64, 64, 16, 64},  {1, 2, 2, 73, 129, 33, 17},
                       {1, 1, 1, 80, 300, 20, 16}, {1, 1, 1, 3, 513, 40, 128}};
  for (const Sizes& n : all) {
    for (Dtype dtype : {f32, f64, f16, bf16}) {
      const Inputs in = inputs_of(n, dtype);
      const double scale = 1 / std::sqrt(static_cast<double>(n.size));
      expect_near(scaled_dot_product_attention(in.query, in.key, in.value),
                  in.by_loops(n, scale, no_mask), room_of(dtype));
      expect_near(scaled_dot_product_attention(in.query, in.key, in.value, {}, 0, true, 0.25),
                  in.by_loops(n, 0.25, causal), room_of(dtype));
    }
  }
}

TEST(Attention, of_grouped_heads_shares_keys) {
  const Sizes n{2, 6, 2, 9, 80, 16, 16};
  const Inputs in = inputs_of(n, f32);
  expect_near(scaled_dot_product_attention(in.query, in.key, in.value, {}, 0, false, {}, true),
              in.by_loops(n, 0.25, no_mask), 2e-6);
}

TEST(Attention, of_grouped_heads_broadcasts_the_dimensions_before_them) {
  const Sizes n{1, 4, 2, 3, 6, 8, 8};
  const Inputs in = inputs_of(n, f64);
  const Tensor query = reshape(in.query, {4, 3, 8});
  const Tensor keys = expand(in.key, {5, 2, 6, 8}), values = expand(in.value, {5, 2, 6, 8});
  const Tensor result = scaled_dot_product_attention(query, keys, values, {}, 0, false, {}, true);
  const Tensor one =
      scaled_dot_product_attention(in.query, in.key, in.value, {}, 0, false, {}, true);
  EXPECT_TRUE(allclose(result, expand(one, {5, 4, 3, 8}), 1e-12, 1e-12));
}

TEST(Attention, takes_masks_of_both_kinds_that_broadcast) {
  const Sizes n{2, 2, 2, 80, 130, 8, 8};
  const Inputs in = inputs_of(n, f32);
  const Tensor added = randn({2, 1, 80, 130});
  const Numbers numbers = to_vector<double>(to(added, f64));
  const auto at = [](std::int64_t b, std::int64_t l, std::int64_t s) {
    return static_cast<std::size_t>((b * 80 + l) * 130 + s);
  };
  expect_near(
      scaled_dot_product_attention(in.query, in.key, in.value, added, 0, false, 0.5),
      in.by_loops(n, 0.5, [&](auto b, auto, auto l, auto s) { return numbers[at(b, l, s)]; }),
      2e-6);
  expect_near(scaled_dot_product_attention(in.query, in.key, in.value, added > 0, 0, false, 0.5),
              in.by_loops(n, 0.5,
                          [&](auto b, auto, auto l, auto s) {
                            return numbers[at(b, l, s)] > 0 ? 0 : no_key;
                          }),
              2e-6);
}

TEST(Attention, gives_zeros_where_no_key_takes_part_and_passes_no_gradient) {
  const Tensor query = randn({1, 1, 2, 4}), key = randn({1, 1, 3, 4}), value = randn({1, 1, 3, 4});
  for (const Tensor& a : {query, key, value}) set_requires_grad(a);
  const Tensor mask = tensor({{true, false, true}, {false, false, false}});
  const Tensor result = scaled_dot_product_attention(query, key, value, mask);
  backward(sum(result));
  const std::vector<float> values = to_vector<float>(result),
                           by_query = to_vector<float>(grad(query));
  for (std::size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(values[i], 0);
    EXPECT_EQ(by_query[i], 0);
  }
  for (const Tensor& a : {query, key, value})
    for (float number : to_vector<float>(grad(a))) EXPECT_TRUE(std::isfinite(number));
  EXPECT_EQ(to_vector<float>(grad(value))[4], 0);  // the key that is always masked
}

TEST(Attention, gives_zeros_where_there_are_no_keys) {
  const Tensor query = randn({1, 2, 3, 4});
  const Tensor result =
      scaled_dot_product_attention(query, zeros({1, 2, 0, 4}), zeros({1, 2, 0, 5}));
  EXPECT_EQ(to_vector<float>(result), std::vector<float>(30));
}

TEST(Attention, without_heads_of_queries_has_gradients_of_zeros) {
  const Tensor key = set_requires_grad(ones({1, 2, 5, 4}));
  const Tensor result =
      scaled_dot_product_attention(zeros({1, 0, 3, 4}), key, key, {}, 0, false, {}, true);
  EXPECT_EQ(result.numel(), 0);
  backward(sum(result));
  EXPECT_EQ(to_vector<float>(grad(key)), std::vector<float>(40));
}

// The gradients of a sum with changing weights.
std::vector<Tensor> gradients_by(const Inputs& in, const std::function<Tensor(const Inputs&)>& f) {
  for (const Tensor& a : {in.query, in.key, in.value}) set_grad(set_requires_grad(a), {});
  const Tensor result = f(in);
  const Tensor weights = cos(reshape(arange(0, result.numel()), result.shape()));
  backward(sum(result * to(weights, result.dtype())));
  return {grad(in.query), grad(in.key), grad(in.value)};
}

Tensor attention_by_softmax_of(const Inputs& in, const Tensor& added) {
  const Tensor scores = matmul(in.query, transpose(in.key, -1, -2)) * 0.25;
  return matmul(softmax(scores + added, -1), in.value);
}

void expect_gradients_of_softmax(const Sizes& n, Dtype dtype, bool is_causal, double room) {
  const Inputs in = inputs_of(n, dtype);
  const Inputs wide{detach(to(in.query, f64)), detach(to(in.key, f64)), detach(to(in.value, f64))};
  const Tensor rows = unsqueeze(arange(0, n.queries), 1), columns = arange(0, n.keys);
  const Tensor added =
      is_causal ? where(rows >= columns, zeros({}, f64), no_key) : to(cos(rows * columns), f64);
  const std::vector<Tensor> expected =
      gradients_by(wide, [&](const Inputs& at) { return attention_by_softmax_of(at, added); });
  const std::vector<Tensor> actual = gradients_by(in, [&](const Inputs& at) {
    return scaled_dot_product_attention(
        at.query, at.key, at.value, is_causal ? Tensor() : to(added, dtype), 0, is_causal, 0.25);
  });
  for (std::size_t i = 0; i < 3; ++i) expect_near(actual[i], to_vector<double>(expected[i]), room);
}

TEST(Attention, has_the_gradients_of_softmax_between_two_products) {
  const Sizes all[] = {{1, 1, 1, 1, 1, 1, 1},
                       {2, 3, 3, 5, 7, 4, 6},
                       {1, 2, 2, 64, 64, 16, 64},
                       {1, 2, 2, 73, 129, 33, 17},
                       {1, 1, 1, 80, 300, 20, 16}};
  for (const Sizes& n : all) {
    for (const bool is_causal : {false, true}) {
      expect_gradients_of_softmax(n, f64, is_causal, 1e-12);
      expect_gradients_of_softmax(n, f32, is_causal, 2e-5);
      expect_gradients_of_softmax(n, bf16, is_causal, 0.15);
    }
  }
}

TEST(Attention, drops_weights_and_keeps_their_mean) {
  manual_seed(3);
  const Tensor query = randn({1, 1, 64, 8}), key = randn({1, 1, 50, 8}),
               value = ones({1, 1, 50, 4});
  const Tensor dropped = scaled_dot_product_attention(query, key, value, {}, 0.5);
  EXPECT_NEAR(item<double>(mean(dropped)), 1, 0.1);
  EXPECT_GT(item<float>(max(dropped)) - item<float>(min(dropped)), 0.1f);
}

TEST(Attention, says_which_sizes_do_not_fit) {
  const Tensor query = zeros({1, 4, 3, 8});
  EXPECT_THROW(scaled_dot_product_attention(query, zeros({1, 4, 5, 7}), zeros({1, 4, 5, 8})),
               Error);
  EXPECT_THROW(scaled_dot_product_attention(query, zeros({1, 4, 5, 8}), zeros({1, 4, 6, 8})),
               Error);
  EXPECT_THROW(scaled_dot_product_attention(query, zeros({1, 3, 5, 8}), zeros({1, 3, 5, 8}), {}, 0,
                                            false, {}, true),
               Error);
  EXPECT_THROW(scaled_dot_product_attention(query, query, query, zeros({3, 3}), 0, true), Error);
  EXPECT_THROW(scaled_dot_product_attention(query, query, query, zeros({3, 3}, f64)), Error);
  EXPECT_THROW(scaled_dot_product_attention(query, zeros({1, 4, 5, 8}, f64), query), Error);
}

// PyTorch 2.15: torch.arange(12.).reshape(1, 1, 3, 4) / 8 as query, its cosine as key, its sine as value.
TEST(Attention, agrees_with_pytorchs_numbers) {
  const Tensor query = reshape(arange(0, 12, 1, f64), {1, 1, 3, 4}) / 8;
  const Tensor result =
      scaled_dot_product_attention(query, cos(query), sin(query), {}, 0, true, 0.7);
  expect_near(result,
              {0, 0.124674733385228, 0.247403959254523, 0.366272529086048, 0.189641107673411,
               0.306799032923521, 0.419169461876452, 0.524998891571658, 0.212250080722322,
               0.326069540071279, 0.434800793304203, 0.536747125580506},
              1e-12);
}

}  // namespace
}  // namespace bp
