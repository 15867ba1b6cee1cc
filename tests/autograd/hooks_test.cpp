// needs: cpu
// Hooks of tensors, of nodes and of saved tensors.
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using autograd::SavedTensorHooks;

TEST(TensorHooks, see_the_whole_gradient_and_may_change_it) {
  const Tensor x = leaf({2}), y = x * x, z = y * 3 + y;
  Values seen;
  autograd::register_hook(y, [&](const Tensor& gradient) {
    seen.push_back(item<double>(gradient));
    return gradient * 10;
  });
  backward(z);
  EXPECT_THAT(seen, ElementsAre(4));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(160));
}

TEST(TensorHooks, run_in_the_order_of_their_registration_until_removed) {
  const Tensor x = leaf({1});
  std::string order;
  const auto note = [&](char name) {
    return autograd::register_hook(x, [&order, name](const Tensor&) {
      order += name;
      return Tensor();
    });
  };
  note('a');
  const autograd::HookId second = note('b');
  note('c');
  backward(x * 2);
  autograd::remove_hook(x, second);
  backward(x * 2);
  EXPECT_EQ(order, "abcac");
  EXPECT_THAT(values_of(grad(x)), ElementsAre(4));
}

TEST(TensorHooks, are_held_to_the_gradients_shape) {
  const Tensor x = leaf({1, 2}), y = x * 2;
  autograd::register_hook(y, [](const Tensor&) { return ones({3}, f64); });
  EXPECT_EQ(sentence_of([&] { backward(sum(y)); }),
            "a hook on a result of mul: it gave a gradient float64[3] on cpu:0, and float64[2] on "
            "cpu:0 is "
            "needed; give one like it");
}

TEST(TensorHooks, may_throw) {
  const Tensor x = leaf({1}), y = x * x;
  autograd::register_hook(y, [](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
  EXPECT_EQ(sentence_of([&] { backward(y); }), "mine");
  EXPECT_FALSE(grad(x).defined());
}

TEST(TensorHooks, may_go_back_through_the_same_record) {
  const Tensor x = leaf({2}), shared = x * x, y = shared * 3, z = y * shared;
  Values inner;
  autograd::register_hook(y, [&](const Tensor&) {
    const EnableGrad recorded;
    inner = values_of(autograd::grad({shared * 1}, {x}, {}, {.retain_graph = true})[0]);
    return Tensor();
  });
  backward(z);  // shared waits for its turn while the hook goes through it
  EXPECT_THAT(inner, ElementsAre(4));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(96));
}

TEST(TensorHooks, need_a_tensor_that_takes_part) {
  EXPECT_EQ(sentence_of(
                [] { autograd::register_hook(ones({2}), [](const Tensor&) { return Tensor(); }); }),
            "register_hook: the tensor, shape [2], does not require grad, so nothing would call "
            "the hook; call set_requires_grad on the tensors that it is computed from");
  EXPECT_EQ(sentence_of([] { autograd::register_hook(leaf({2}), {}); }),
            "register_hook: the hook is empty; give a function");
}

TEST(NodeHooks, come_before_and_after_the_call) {
  const Tensor x = leaf({2}), y = leaf({5}), z = x * y;
  autograd::register_node_pre_hook(
      z, [](std::span<const Tensor> by_results) { return std::vector<Tensor>{by_results[0] * 2}; });
  autograd::register_node_hook(
      z, [](std::span<const Tensor> by_inputs, std::span<const Tensor> by_results) {
        EXPECT_THAT(values_of(by_results[0]), ElementsAre(2));
        return std::vector<Tensor>{by_inputs[0] + 1, by_inputs[1]};
      });
  backward(z);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(11));
  EXPECT_THAT(values_of(grad(y)), ElementsAre(4));
}

TEST(NodeHooks, of_a_leaf_run_when_its_gradient_is_there) {
  const Tensor x = leaf({2});
  autograd::register_node_hook(x, [&](std::span<const Tensor>, std::span<const Tensor>) {
    const NoGrad step;
    sub_(x, grad(x));
    set_grad(x, {});
    return std::vector<Tensor>();
  });
  backward(x * 3);
  EXPECT_THAT(values_of(x), ElementsAre(-1));
  EXPECT_FALSE(grad(x).defined());
}

TEST(NodeHooks, give_as_many_gradients_as_there_are) {
  const Tensor x = leaf({2}), y = x * 3;
  autograd::register_node_hook(
      y, [](std::span<const Tensor>, std::span<const Tensor>) { return std::vector<Tensor>(3); });
  EXPECT_EQ(sentence_of([&] { backward(y); }),
            "a hook after mul: it gave 3 gradients, and there are 2; give one for each, or none");
}

TEST(SavedTensors, are_kept_as_hooks_pack_them) {
  const Tensor x = leaf({2, 3});
  int num_packed = 0, num_unpacked = 0;
  Tensor y;
  {
    const SavedTensorHooks halved(
        [&](const Tensor& tensor) -> std::any {
          ++num_packed;
          return to(tensor, f32);
        },
        [&](const std::any& packed) {
          ++num_unpacked;
          return to(std::any_cast<Tensor>(packed), f64);
        });
    y = x * exp(x);
  }
  EXPECT_EQ(num_packed, 3);  // exp's result and both factors
  const Tensor d = derivative(y, x, {.create_graph = true});
  EXPECT_EQ(num_unpacked, 3);
  EXPECT_NEAR(values_of(d)[0], 3 * std::exp(2.0), 1e-6);
  EXPECT_NEAR(values_of(derivative(d, x))[1], 5 * std::exp(3.0), 1e-5);
}

TEST(SavedTensors, come_back_as_they_were) {
  const Tensor x = leaf({2, 3});
  const auto unpacked_as = [&](const Tensor& tensor) {
    const SavedTensorHooks hooks([](const Tensor&) { return std::any(); },
                                 [tensor](const std::any&) { return tensor; });
    const Tensor y = x * x;
    return sentence_of([&] { backward(sum(y)); });
  };
  EXPECT_EQ(unpacked_as(ones({2}, f32)),
            "backward through mul: the hook unpacked float32[2] on cpu:0, and float64[2] on cpu:0 "
            "was packed; return that");
  EXPECT_EQ(unpacked_as({}),
            "backward through mul: the hook unpacked no tensor, and float64[2] on cpu:0 was "
            "packed; return that");
}

TEST(SavedTensors, have_the_innermost_hooks) {
  const Tensor x = leaf({2});
  std::string order;
  const auto noting = [&](char name) {
    return [&order, name](const Tensor& tensor) -> std::any {
      order += name;
      return tensor;
    };
  };
  const auto back = [](const std::any& packed) { return std::any_cast<Tensor>(packed); };
  const SavedTensorHooks outer(noting('o'), back);
  {
    const SavedTensorHooks inner(noting('i'), back);
    exp(x);
  }
  exp(x);
  EXPECT_EQ(order, "io");
}

}  // namespace
}  // namespace bp::test
