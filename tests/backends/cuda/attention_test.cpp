// needs: cpu cuda
// Attention and its gradients by cuDNN, against cpu in f64.
#include <backplane/autograd/autograd.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/runtime/settings.hpp>

#include "backends/cuda/cudnn.hpp"

namespace bp::test {
namespace {

struct Heads {
  std::int64_t batch = 2, heads = 4, shared = 4, queries = 128, keys = 128, size = 64, values = 64;
};

class CudnnAttention : public CudnnKernels {
 protected:
  struct Given {
    Tensor query, key, value, grad;
  };
  static Given random_of(const Heads& h, Dtype dtype) {
    return {random({h.batch, h.heads, h.queries, h.size}, dtype),
            random({h.batch, h.shared, h.keys, h.size}, dtype),
            random({h.batch, h.shared, h.keys, h.values}, dtype),
            random({h.batch, h.heads, h.queries, h.values}, dtype)};
  }
  static double scale_of(const Heads& h) { return 1 / std::sqrt(static_cast<double>(h.size)); }

  static Given wide(const Given& g) {
    return {cast(g.query, f64), cast(g.key, f64), cast(g.value, f64), cast(g.grad, f64)};
  }

  // Weights, and gradients by scores, are rounded to 16 bits between two products.
  static double allowed_between(Dtype dtype) { return 3 * allowed(dtype); }

  // `place` brings a tensor to the card.
  template <class Place>
  void expect_placed(const Heads& h, bool is_causal, Dtype dtype, Place place,
                     const std::string& rung = "native 1") {
    SCOPED_TRACE(std::string(bp::name(dtype)) + (is_causal ? " causal" : "") + ", " +
                 std::to_string(h.queries) + " by " + std::to_string(h.keys) + ", " +
                 std::to_string(h.heads) + " heads of " + std::to_string(h.shared));
    const Given g = random_of(h, dtype), exact = wide(g);
    const auto forward =
        native_attention(exact.query, exact.key, exact.value, {}, is_causal, scale_of(h));
    const auto backward =
        attention_backward(exact.grad, {}, exact.query, exact.key, exact.value, {}, forward.result,
                           forward.logsumexp, is_causal, scale_of(h));

    const Tensor query = place(g.query), key = place(g.key), value = place(g.value);
    const Served served("native_attention", "cuda");
    const auto made = native_attention(query, key, value, {}, is_causal, scale_of(h));
    expect_served(served, rung);
    EXPECT_LE(error_of(made.result, forward.result), allowed_between(dtype));
    EXPECT_LE(error_of(made.logsumexp, forward.logsumexp), 1e-3);

    const Served served_backward("attention_backward", "cuda");
    const auto grads = attention_backward(place(g.grad), {}, query, key, value, {}, made.result,
                                          made.logsumexp, is_causal, scale_of(h));
    expect_served(served_backward, rung);
    EXPECT_LE(error_of(grads.grad_query, backward.grad_query), allowed_between(dtype));
    EXPECT_LE(error_of(grads.grad_key, backward.grad_key), allowed_between(dtype));
    EXPECT_LE(error_of(grads.grad_value, backward.grad_value), allowed_between(dtype));
  }
  void expect_attention(const Heads& h, bool is_causal, Dtype dtype,
                        const std::string& rung = "native 1") {
    expect_placed(
        h, is_causal, dtype, [&](const Tensor& t) { return there(t); }, rung);
  }
};

TEST_F(CudnnAttention, agrees_with_cpu) {
  for (Dtype dtype : {f16, bf16}) expect_attention({}, false, dtype);
}

TEST_F(CudnnAttention, sees_no_key_behind_a_query_that_is_causal) {
  expect_attention({}, true, bf16);
  expect_attention({2, 4, 4, 200, 130}, true, f16);
  expect_attention({2, 4, 4, 130, 200}, true, bf16);
}

TEST_F(CudnnAttention, lengths_that_fill_no_block) {
  expect_attention({2, 4, 4, 100, 203}, false, bf16);
}

TEST_F(CudnnAttention, heads_share_keys) {
  expect_attention({2, 8, 2, 128, 128}, false, bf16);
  expect_attention({2, 8, 1, 128, 100}, true, f16);
}

TEST_F(CudnnAttention, sizes_of_heads) {
  expect_attention({2, 4, 4, 128, 128, 128, 128}, true, bf16);
  expect_attention({2, 4, 4, 128, 128, 64, 32}, false, f16);
  expect_attention({2, 4, 4, 128, 128, 40, 40}, false, bf16);
}

// As a network makes them: [batch, length, heads, size].
TEST_F(CudnnAttention, heads_are_read_where_they_lie) {
  expect_placed({}, true, bf16, [&](const Tensor& t) {
    return transpose(there(contiguous(transpose(t, 1, 2))), 1, 2);
  });
}

TEST_F(CudnnAttention, rows_with_gaps_are_copied_first) {
  expect_placed(
      {}, false, bf16,
      [&](const Tensor& t) { return transpose(there(contiguous(transpose(t, 2, 3))), 2, 3); },
      "legalized 1");
}

TEST_F(CudnnAttention, what_it_does_not_take_is_computed_from_products) {
  if (!has_card()) GTEST_SKIP() << "cpu has kernels of its own";
  expect_attention({1, 1, 1, 8, 8}, false, bf16, "decomposed 1");              // small
  expect_attention({2, 4, 4, 128, 128, 20, 20}, false, bf16, "decomposed 1");  // odd sizes
  expect_attention({}, true, f32, "decomposed 1");
}

TEST_F(CudnnAttention, the_same_arguments_give_the_same_bits) {
  set_deterministic(true);
  const Heads h{2, 4, 4, 256, 256};
  expect_attention(h, true, bf16);
  const Given g = random_of(h, bf16);
  const Tensor query = there(g.query), key = there(g.key), value = there(g.value),
               grad = there(g.grad);
  const auto made = native_attention(query, key, value, {}, true, scale_of(h));
  const auto by_query = [&] {
    return here(attention_backward(grad, {}, query, key, value, {}, made.result, made.logsumexp,
                                   true, scale_of(h))
                    .grad_query);
  };
  const Tensor first = by_query();
  for (int i = 0; i < 3; ++i) expect_same(by_query(), first);
  set_deterministic(false);
}

TEST_F(CudnnAttention, is_replayed_with_new_queries) {
  const Heads h;
  const Given g = random_of(h, bf16), other = random_of(h, bf16);
  const Tensor query = there(g.query), key = there(g.key), value = there(g.value);
  Tensor result;
  Recording graph = capture(
      card_, [&] { result = native_attention(query, key, value, {}, true, scale_of(h)).result; });
  copy_into(query, there(other.query));
  graph.replay();
  EXPECT_LE(error_of(result, native_attention(cast(other.query, f64), cast(g.key, f64),
                                              cast(g.value, f64), {}, true, scale_of(h))
                                 .result),
            allowed_between(bf16));
}

TEST_F(CudnnAttention, goes_back_through_the_public_function) {
  const Heads h;
  const Given g = random_of(h, bf16);
  const auto gradient_on = [&](bool on_card) {
    const auto place = [&](const Tensor& t) { return on_card ? there(t) : cast(t, f64); };
    const Tensor query = place(g.query), key = place(g.key), value = place(g.value);
    set_requires_grad(query);
    backward(scaled_dot_product_attention(query, key, value, {}, 0.0, true), place(g.grad));
    return here(bp::grad(query));
  };
  EXPECT_LE(error_of(gradient_on(true), gradient_on(false)), allowed_between(bf16));
}

}  // namespace
}  // namespace bp::test
