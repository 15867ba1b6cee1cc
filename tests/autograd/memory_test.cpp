// needs: cpu reference
// What backward needs of memory beyond what was there: the gradients that have to live, and nothing in between where
// the device makes one kernel of a rule.
#include <functional>
#include <utility>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/runtime/allocator.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

constexpr std::int64_t rows = 128, columns = 256;
constexpr double bytes_of_one = rows * columns * sizeof(float);
constexpr double small = 0.05;  // sums of rows and the like

Tensor random_on(const char* where, bool wants_gradient = false) {
  const Tensor made = to(randn({rows, columns}, f32, host_device()), device(where));
  return wants_gradient ? set_requires_grad(made) : made;
}

// The most that is held during `call` beyond what was there before, in tensors of rows x columns.
double most_held(const char* where, const std::function<void()>& call) {
  const Device there = device(where);
  synchronize(there);
  reset_peak_memory_statistics(there);
  const std::uint64_t before = memory_statistics(there).allocated_bytes;
  call();
  synchronize(there);
  return static_cast<double>(memory_statistics(there).peak_allocated_bytes - before) / bytes_of_one;
}

using Unary = Tensor (*)(const Tensor&);

double most_held_by_backward(const char* where, Unary function) {
  const Tensor x = random_on(where, true), gradient = random_on(where);
  const Tensor y = function(x);
  return most_held(where, [&] { autograd::backward({y}, {gradient}); });
}

// Each with a rule of several steps.
const Unary pointwise_functions[] = {
    [](const Tensor& a) { return gelu(a); },
    [](const Tensor& a) { return gelu_tanh(a); },
    [](const Tensor& a) { return tanh(a); },
    [](const Tensor& a) { return sigmoid(a); },
    [](const Tensor& a) { return silu(a); },
    [](const Tensor& a) { return relu(a); },
    [](const Tensor& a) { return abs(a); },
    [](const Tensor& a) { return square(a); },
    [](const Tensor& a) { return erf(a); },
    [](const Tensor& a) { return hardswish(a); },
    [](const Tensor& a) { return softplus(a, 2, 0.5); },
    [](const Tensor& a) { return elu(a, 0.5); },
    [](const Tensor& a) { return clamp(a, -0.5, 0.5); },
    [](const Tensor& a) { return maximum(a, 0.25); },
};
const Unary gelu_alone = pointwise_functions[0];
const Unary functions_with_sums[] = {
    [](const Tensor& a) { return softmax(a, -1); },
    [](const Tensor& a) { return log_softmax(a, -1); },
    [](const Tensor& a) { return expand(logsumexp(a, 1, true), a.shape()); },
    [](const Tensor& a) { return layer_norm(a, {a.size(1)}); },
};

TEST(BackwardMemory, a_pointwise_rule_holds_its_result_alone) {
  for (const Unary function : pointwise_functions)
    EXPECT_LE(most_held_by_backward("cpu:0", function), 1 + small);
}

TEST(BackwardMemory, a_rule_with_a_sum_frees_what_the_sum_read) {
  for (const Unary function : functions_with_sums)
    EXPECT_LE(most_held_by_backward("cpu:0", function), 1 + small);
}

// gelu's rule has eleven steps. At its widest three live: two terms, and the sum of them.
TEST(BackwardMemory, step_by_step_each_intermediate_result_goes_when_it_was_read) {
  EXPECT_LE(most_held_by_backward("reference:0", gelu_alone), 3 + small);
}

// Each layer keeps gelu's result and tanh's, and softmax its own. To these come two gradients, of which one is of h
// by the product, and the other goes through softmax's rule and the layers in one place.
TEST(BackwardMemory, of_a_chain_is_what_was_saved_and_two_gradients) {
  constexpr int num_layers = 4;
  const Tensor x = random_on("cpu:0", true),
               w = set_requires_grad(randn({columns}, f32, device("cpu:0")));
  const double most = most_held("cpu:0", [&] {
    Tensor h = x;
    for (int i = 0; i < num_layers; ++i) h = tanh(gelu(h) * w);
    h = softmax(h, -1) * h;
    const Tensor total = sum(std::exchange(h, {}));
    autograd::backward({total});
  });
  EXPECT_LE(most, 2 * num_layers + 1 + 2 + small);
}

TEST(BackwardMemory, a_gradient_that_nobody_holds_is_written_over) {
  const Tensor x = random_on("cpu:0", true), total = sum(square(tanh(gelu(x))));
  EXPECT_LE(most_held("cpu:0", [&] { autograd::backward({total}); }), 1 + small);
}

// Whoever holds a gradient sees it as it was.
TEST(BackwardMemory, a_gradient_that_is_held_stays_as_it_was) {
  const Values by{0.5, -1, 2};
  const Tensor x = leaf({1, 2, 3}), given = tensor(by), y = tanh(x);
  std::vector<Tensor> seen;
  const Tensor h = x * 1;
  retain_grad(h);
  const Tensor squares = square(h), top = squares * 1;
  autograd::register_node_hook(squares,
                               [&](std::span<const Tensor>, std::span<const Tensor> gradients) {
                                 seen.assign(gradients.begin(), gradients.end());
                                 return std::vector<Tensor>();
                               });
  autograd::backward({y, top}, {given, given});
  EXPECT_EQ(values_of(given), by);
  EXPECT_EQ(values_of(seen.at(0)), by);
  EXPECT_THAT(values_of(grad(h)), ElementsAre(1, -4, 12));
}

// Both rules of maximum read the gradient: only the second may take its memory.
TEST(BackwardMemory, two_rules_read_one_gradient) {
  const Tensor a = leaf({1, 5, 3}), b = leaf({2, 4, 3});
  autograd::backward({sum(square(maximum(a, b)))});
  EXPECT_THAT(values_of(grad(a)), ElementsAre(0, 10, 3));
  EXPECT_THAT(values_of(grad(b)), ElementsAre(4, 0, 3));
}

double calls_of(const char* op) {
  double calls = 0;
  for (const CallCount& count : call_counts())
    if (count.op == op)
      for (const auto number : count.calls) calls += static_cast<double>(number);
  return calls;
}

// It is the transpose of a product that nobody else holds.
TEST(BackwardMemory, the_gradient_of_a_weight_is_not_copied) {
  const Tensor x = random_on("cpu:0"), w = set_requires_grad(randn({7, columns}, f32)),
               bias = set_requires_grad(randn({7}, f32)), y = linear(x, w, bias);
  const double before = calls_of("copy");
  autograd::backward({sum(square(y))});
  EXPECT_EQ(calls_of("copy"), before);
  EXPECT_EQ(grad(w).shape(), w.shape());
  EXPECT_TRUE(grad(w).is_contiguous());
  EXPECT_TRUE(allclose(grad(w), matmul(transpose(2 * y, 0, 1), x), 1e-4, 1e-3));
}

// Not even where one's is a view of the other's.
TEST(BackwardMemory, leaves_never_share_a_gradient) {
  const Tensor a = leaf({1, 2, 3, 4}), b = leaf({5, 6, 7, 8});
  const Tensor flat = reshape(a, {2, 2}) + reshape(b, {2, 2});
  autograd::backward({sum(square(flat))});
  const Tensor by_a = grad(a), by_b = grad(b);
  EXPECT_FALSE(by_a.shares_storage(by_b));
  mul_(by_a, 0);
  EXPECT_THAT(values_of(by_b), ElementsAre(12, 16, 20, 24));
  const Tensor c = leaf({1, 2}), d = reshape(c, {2, 1});
  retain_grad(d);
  autograd::backward({sum(square(d))});
  const Tensor kept = grad(d);
  add_(grad(c), 1);
  EXPECT_THAT(values_of(kept), ElementsAre(2, 4));
}

double calls_of_joined_operators() {
  double calls = 0;
  for (const CallCount& count : call_counts())
    if (count.op.starts_with("joined_")) calls += static_cast<double>(count.calls[0]);
  return calls;
}

TEST(BackwardJoined, a_rule_of_many_steps_is_one_native_kernel) {
  const Tensor x = random_on("cpu:0", true), y = gelu(x);
  const double before = calls_of_joined_operators();
  autograd::backward({y}, {ones_like(y)});
  EXPECT_EQ(calls_of_joined_operators(), before + 1);
}

// With create_graph the same rule is recorded step by step.
Tensor gradient_of(Unary function, const Tensor& x, const Tensor& by, bool recorded) {
  const Tensor input = set_requires_grad(detach(x));
  return autograd::grad({function(input)}, {input}, {by}, {.create_graph = recorded})[0];
}

Values in_f64(const Tensor& a) {
  return values_of(cast(a, f64));
}

TEST(BackwardJoined, gives_what_its_steps_give_one_by_one) {
  for (const Unary function : pointwise_functions)
    for (const Dtype dtype : {f32, f64}) {
      const Tensor x = cast(random_on("cpu:0"), dtype), by = cast(random_on("cpu:0"), dtype);
      const Tensor one = gradient_of(function, x, by, false),
                   many = gradient_of(function, x, by, true);
      EXPECT_EQ(one.dtype(), dtype);
      EXPECT_EQ(in_f64(one), in_f64(many));
    }
}

// Rounded once instead of at every step.
TEST(BackwardJoined, is_nearer_to_the_derivative_in_16_bits) {
  const Tensor x = random_on("cpu:0"), by = random_on("cpu:0");
  const Tensor exact =
      gradient_of(gelu_alone, cast(cast(x, bf16), f64), cast(cast(by, bf16), f64), false);
  const auto distance = [&](bool recorded) {
    const Tensor found = gradient_of(gelu_alone, cast(x, bf16), cast(by, bf16), recorded);
    EXPECT_EQ(found.dtype(), bf16);
    return item<double>(max(abs(cast(detach(found), f64) - exact) / (abs(exact) + 1e-2)));
  };
  EXPECT_LE(distance(false), 1 / 256.0);
  EXPECT_GT(distance(true), 1 / 256.0);
}

TEST(BackwardJoined, follows_transposed_and_broadcast_tensors) {
  const Tensor x = detach(transpose(random_on("cpu:0"), 0, 1)),
               row = expand(randn({1, rows}), {columns, rows});
  for (const Unary function : {gelu_alone, functions_with_sums[0], functions_with_sums[2]})
    EXPECT_EQ(in_f64(gradient_of(function, x, row, false)),
              in_f64(gradient_of(function, x, row, true)));
}

// Complex gradients are conjugated, and tensors of several dtypes converted: that is not a single expression.
TEST(BackwardJoined, what_is_no_single_expression_goes_step_by_step) {
  const Tensor z = set_requires_grad(full({1}, std::complex<double>(0, 2)));
  const Tensor wide = leaf({1, 2}), narrow = set_requires_grad(cast(tensor(Values{3, 5}), f32));
  autograd::backward({sum(pow(wide, narrow))});
  EXPECT_THAT(values_of(grad(wide)), ElementsAre(3, 80));
  EXPECT_EQ(grad(narrow).dtype(), f32);
  autograd::backward({reciprocal(z)}, {ones_like(z)});
  EXPECT_EQ(item<bp::Scalar>(grad(z)).to_complex(), std::complex<double>(0.25, 0));
}

}  // namespace
}  // namespace bp::test
