// needs: cpu reference
// Records that span devices, end in the middle of backward, or hold a plugin's own operator.
#include "autograd/tensors.hpp"
#include "dispatcher/calls.hpp"

namespace bp::test {
namespace {

TEST(Devices, are_crossed_by_a_record_in_both_directions) {
  const Device far = device("reference");
  const Tensor x = leaf({1, 2}), w = set_requires_grad(to(tensor(Values{3, 4}), far));
  const Tensor y = cpu(to(x, far) * w) * x;
  backward(sum(y));
  EXPECT_EQ(grad(x).device(), x.device());
  EXPECT_EQ(grad(w).device(), far);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(6, 16));
  EXPECT_THAT(values_of(grad(w)), ElementsAre(1, 4));
}

TEST(Devices, have_derivatives_of_derivatives_through_moves) {
  const Tensor x = leaf({2});
  const Tensor far = to(x, device("reference")), y = far * far * far;
  const Tensor d = derivative(cpu(y), x, {.create_graph = true});
  EXPECT_THAT(values_of(d), ElementsAre(12));
  EXPECT_THAT(values_of(derivative(d, x)), ElementsAre(12));
}

TEST(Devices, are_told_apart_in_one_call) {
  const Tensor x = leaf({1}), far = to(x, device("reference"));
  EXPECT_EQ(sentence_of([&] { mul(x, far); }),
            "mul: 'input' is on cpu:0 and 'other' is on reference:0; move one with to()");
  EXPECT_EQ(sentence_of([&] { backward(far * 2, ones({1}, f64)); }),
            "backward: the gradient is float64[1] on cpu:0, and its tensor float64[1] on "
            "reference:0; give "
            "one like the tensor");
}

TEST(Devices, with_a_queue_of_their_own_take_recorded_values_into_a_buffer) {
  const Device far = device("reference");
  const Tensor x = leaf({1, 2}), buffer = zeros({2, 2}, f64, far);
  add_(buffer, 1);
  copy_(select(buffer, 0, 1), to(x, far) * 3);
  add_(select(buffer, 0, 0), to(x, far));
  EXPECT_THAT(values_of(derivative(cpu(buffer * buffer), x)), ElementsAre(22, 42));
}

TEST(Devices, serve_a_leaf_by_any_rung) {
  const Device far = device("reference");
  const Tensor a = set_requires_grad(to(reshape(arange(0, 6, 1, f64), {2, 3}), far));
  const Tensor b = set_requires_grad(to(reshape(arange(0, 6, 1, f64), {3, 2}), far));
  backward(
      sum(softmax(matmul(a, b), 1) * to(tensor({{1.0, 0.0}, {0.0, 2.0}}, {.dtype = f64}), far)));
  EXPECT_EQ(grad(a).device(), far);
  EXPECT_EQ(grad(b).shape(), b.shape());
}

// y = x * x with its derivative as data: tests/plugins/partial.
TEST(PluginOperators, bring_their_derivative_as_data) {
  const Tensor x = set_requires_grad(to(tensor({2.0f, 3.0f}), test_device("partial")));
  const Tensor y = call_boxed("partial::square", {value_of(x)})[0];
  EXPECT_TRUE(requires_grad(y));
  backward(sum(y * 5));
  EXPECT_THAT(to_vector<float>(cpu(grad(x))), ElementsAre(20, 30));
  EXPECT_EQ(sentence_of([&] { backward(sum(y)); }),
            "backward through partial::square: what the call saved was freed by an earlier "
            "backward; pass retain_graph to that one");
}

TEST(PluginOperators, without_a_derivative_say_so_in_backward) {
  const Tensor x = set_requires_grad(to(tensor({2.0f, 3.0f}), test_device("partial")));
  const Tensor gradient = to(tensor({1.0f, 1.0f}), test_device("partial"));
  const Tensor y = call_boxed("partial::square_backward", {value_of(gradient), value_of(x)})[0];
  EXPECT_EQ(
      sentence_of([&] { backward(sum(y)); }),
      "backward through partial::square_backward: its derivative is not known; detach() what it "
      "takes, or call it in a custom function");
}

// Everything that a record may hold, dropped in the order that C++ happens to choose.
void make_and_drop_records(Device far) {
  const Tensor x = set_requires_grad(ones({1 << 10}, f32, far));
  const autograd::Function identity{
      "identity",
      [](autograd::FunctionContext& context, std::span<const Tensor> inputs) {
        const Tensor result = inputs[0] * 1;
        context.save({inputs[0], result});
        return std::vector<Tensor>{result};
      },
      [](autograd::FunctionContext&, std::span<const Tensor> gradients) {
        return std::vector<Tensor>{gradients[0]};
      }};
  const auto region = [&](std::span<const Tensor> inputs) {
    return std::vector<Tensor>{exp(inputs[0]) * x};
  };
  Tensor y = autograd::apply(identity, {x * x})[0];
  mul_(narrow(y, 0, 0, 8), 3);
  y = sum(autograd::checkpoint(region, {y})[0]);
  retain_grad(y);
  autograd::register_hook(y, [x](const Tensor&) { return Tensor(); });
  const Tensor d = autograd::grad({y}, {x}, {}, {.create_graph = true})[0];
  backward(sum(d * d), {}, {.retain_graph = true});
  const Tensor unused = exp(d) * y;
}

TEST(Memory, of_records_is_given_back) {
  const Device far = device("reference");
  make_and_drop_records(far);
  synchronize(far);
  const std::uint64_t before = memory_statistics(far).allocated_bytes;
  for (int i = 0; i < 5; ++i) make_and_drop_records(far);
  synchronize(far);
  EXPECT_EQ(memory_statistics(far).allocated_bytes, before);
}

TEST(Memory, that_ends_in_the_midst_of_backward_loses_nothing) {
  const Device far = device("reference");
  const Tensor x = set_requires_grad(ones({1 << 23}, f32, far)),
               w = set_requires_grad(ones({1}, f32, far));
  const Tensor y = sum(x * x * x * w) + sum(w);
  synchronize(far);
  empty_cache(far);
  const std::uint64_t before = memory_statistics(far).allocated_bytes;
  set_memory_limit(far, memory_statistics(far).reserved_bytes);
  const std::string error = sentence_of([&] { backward(y); });
  set_memory_limit(far, 0);
  EXPECT_THAT(error, testing::HasSubstr("out of memory"));
  EXPECT_LE(memory_statistics(far).allocated_bytes, before);
  backward(sum(x * 2));
  EXPECT_EQ(item<float>(select(grad(x), 0, 0)), 2);
}

}  // namespace
}  // namespace bp::test
