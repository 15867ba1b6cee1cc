// needs: cpu
// Functions that modules call around forward, on the way back, and around their dicts.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

using Span = std::span<const Tensor>;
using Tensors = std::vector<Tensor>;

// Of two tensors, and gives two.
struct SumAndProduct : nn::Module {
  using Module::forward;
  Tensors forward_all(Span inputs) const override {
    return {inputs[0] + inputs[1], inputs[0] * inputs[1]};
  }
};

TEST(Hooks, see_inputs_and_outputs_in_the_order_of_their_registration) {
  nn::Linear layer(4, 3);
  const Tensor x = rand({2, 4});
  std::string seen;
  layer.register_forward_pre_hook([&](const nn::Module& module, Span inputs) {
    EXPECT_EQ(&module, &layer);
    EXPECT_TRUE(inputs.size() == 1 && inputs[0].is_same(x));
    seen += "a";
    return Tensors{};
  });
  layer.register_forward_hook([&](const nn::Module&, Span inputs, Span outputs) {
    EXPECT_TRUE(inputs[0].is_same(x));
    EXPECT_EQ(outputs[0].shape(), Dims({2, 3}));
    seen += "c";
    return Tensors{};
  });
  layer.register_forward_pre_hook([&](const nn::Module&, Span) {
    seen += "b";
    return Tensors{};
  });
  EXPECT_EQ(numbers_of(layer(x)), numbers_of(layer.forward(x)));
  EXPECT_EQ(seen, "abc");
}

TEST(Hooks, put_others_in_the_place_of_inputs_and_outputs) {
  nn::Linear layer(4, 3);
  const Tensor x = rand({2, 4});
  layer.register_forward_pre_hook(
      [](const nn::Module&, Span inputs) { return Tensors{inputs[0] * 2}; });
  layer.register_forward_hook(
      [](const nn::Module&, Span, Span outputs) { return Tensors{outputs[0] + 1}; });
  EXPECT_EQ(numbers_of(layer(x)), numbers_of(layer.forward(x * 2) + 1));
  layer.register_forward_hook([](const nn::Module&, Span, Span outputs) {
    return Tensors{outputs[0], outputs[0]};
  });
  EXPECT_THAT(sentence_of([&] { layer(x); }),
              HasSubstr("forward hook: the hook returned 2 tensors in place of 1"));
}

TEST(Hooks, are_called_within_networks_and_of_modules_with_several_tensors) {
  nn::Sequential net(nn::Linear(4, 3), Relu{});
  int calls = 0;
  net[0].register_forward_hook([&](const nn::Module&, Span, Span) {
    ++calls;
    return Tensors{};
  });
  net(rand({2, 4}));
  EXPECT_EQ(calls, 1);

  SumAndProduct both;
  both.register_forward_pre_hook([](const nn::Module&, Span inputs) {
    return Tensors{inputs[1], inputs[1]};
  });
  both.register_forward_hook([](const nn::Module&, Span, Span outputs) {
    return Tensors{outputs[0], outputs[1] + 100};
  });
  const Tensors results = both.call_all({full({1}, 3), full({1}, 4)});
  EXPECT_EQ(numbers_of(results[0]), Values{8});
  EXPECT_EQ(numbers_of(results[1]), Values{116});
}

TEST(Hooks, are_called_around_losses_and_layers_of_two_tensors) {
  nn::MSELoss loss;
  nn::Bilinear bilinear(2, 3, 4);
  int calls = 0;
  const auto count = [&](const nn::Module&, Span inputs, Span) {
    EXPECT_EQ(inputs.size(), 2u);
    ++calls;
    return Tensors{};
  };
  loss.register_forward_hook(count);
  bilinear.register_forward_hook(count);
  const Tensor x = rand({5, 2}), y = rand({5, 3});
  EXPECT_EQ(numbers_of(bilinear(x, y)), numbers_of(bilinear.forward(x, y)));
  EXPECT_EQ(numbers_of(loss(x, x * 2)), numbers_of(loss.forward(x, x * 2)));
  EXPECT_EQ(calls, 2);
  nn::ConvTranspose1d convolution(2, 3, 3, {.stride = 2});
  convolution.register_forward_hook([&](const nn::Module&, Span, Span outputs) {
    EXPECT_EQ(outputs[0].size(2), 10);
    return Tensors{outputs[0] * 0};
  });
  EXPECT_EQ(numbers_of(sum(convolution(rand({1, 2, 4}), {10}))), Values{0});
  nn::EmbeddingBag bag(4, 2);
  bag.register_forward_pre_hook([](const nn::Module&, Span inputs) {
    return Tensors{inputs[0] * 0, inputs[1], inputs[2]};
  });
  EXPECT_EQ(numbers_of(bag(tensor({3, 2}), tensor({0}))),
            numbers_of(bag.forward(tensor({0, 0}), tensor({0}))));
}

TEST(Hooks, leave_when_their_handle_says_so_even_while_they_run) {
  nn::Linear layer(4, 3);
  int calls = 0;
  nn::HookHandle handle;
  handle = layer.register_forward_hook([&](const nn::Module&, Span, Span) {
    ++calls;
    handle.remove();
    return Tensors{};
  });
  const Tensor x = rand({2, 4});
  layer(x);
  layer(x);
  EXPECT_EQ(calls, 1);
  handle.remove();
  nn::HookHandle orphan;
  {
    nn::Linear gone(2, 2);
    orphan = gone.register_forward_hook([](const nn::Module&, Span, Span) { return Tensors{}; });
  }
  orphan.remove();
}

TEST(Hooks, take_others_with_them_when_what_they_captured_is_destroyed) {
  struct Remover {
    nn::HookHandle handle;
    ~Remover() { handle.remove(); }
  };
  nn::Linear layer(4, 3);
  int calls = 0;
  auto owned = std::make_shared<Remover>();
  owned->handle = layer.register_forward_hook([&](const nn::Module&, Span, Span) {
    ++calls;
    return Tensors{};
  });
  nn::HookHandle handle =
      layer.register_forward_hook([owned](const nn::Module&, Span, Span) { return Tensors{}; });
  owned.reset();
  layer(rand({2, 4}));
  handle.remove();
  layer(rand({2, 4}));
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, leave_the_module_as_it_was_when_they_throw) {
  nn::Linear layer(4, 3);
  const Tensor x = rand({2, 4});
  set_requires_grad(x);
  const auto run = [&] { backward(sum(layer(x))); };
  const auto throwing = []<class... Arguments>(const Arguments&...) -> Tensors { throw 5; };
  const auto fails = [&](nn::HookHandle handle) {
    EXPECT_THROW(run(), int);
    handle.remove();
    EXPECT_NO_THROW(run());
  };
  fails(layer.register_forward_pre_hook(throwing));
  fails(layer.register_forward_hook(throwing));
  fails(layer.register_full_backward_pre_hook(throwing));
  fails(layer.register_full_backward_hook(throwing));
}

TEST(Hooks, go_with_a_module_that_moves_and_are_copied_with_one_that_is_copied) {
  int calls = 0;
  nn::Linear layer(4, 3);
  nn::HookHandle handle = layer.register_forward_hook([&](const nn::Module&, Span, Span) {
    ++calls;
    return Tensors{};
  });
  const nn::Linear copy = layer;
  const nn::Linear independent = nn::clone(layer);
  const nn::Sequential net(std::move(layer));
  const Tensor x = rand({2, 4});
  net(x);
  copy(x);
  independent(x);
  EXPECT_EQ(calls, 3);
  handle.remove();
  net(x);
  EXPECT_EQ(calls, 3);
  copy(x);
  independent(x);
  EXPECT_EQ(calls, 5);
}

TEST(BackwardHooks, see_the_gradients_by_inputs_and_outputs) {
  nn::Linear layer(3, 2, {.dtype = f64});
  const Tensor x = leaf({1, 2, 3});
  Tensors by_inputs, by_outputs;
  layer.register_full_backward_hook([&](Span inputs, Span outputs) {
    by_inputs.assign(inputs.begin(), inputs.end());
    by_outputs.assign(outputs.begin(), outputs.end());
    return Tensors{};
  });
  backward(sum(layer(x) * tensor<double>({3, 5})));
  ASSERT_TRUE(by_inputs.size() == 1 && by_outputs.size() == 1);
  EXPECT_EQ(values_of(by_outputs[0]), (Values{3, 5}));
  EXPECT_EQ(values_of(by_inputs[0]), values_of(grad(x)));
  const Values weight = numbers_of(layer.weight);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(values_of(grad(x))[i], 3 * weight[i] + 5 * weight[3 + i]);
  EXPECT_EQ(values_of(grad(layer.bias)), (Values{3, 5}));
}

TEST(BackwardHooks, put_others_in_their_place) {
  nn::Linear layer(3, 2, {.dtype = f64});
  const Tensor x = leaf({1, 2, 3});
  layer.register_full_backward_pre_hook([](Span outputs) { return Tensors{outputs[0] * 10}; });
  layer.register_full_backward_hook([](Span inputs, Span outputs) {
    EXPECT_EQ(values_of(outputs[0]), (Values{10, 10}));
    return Tensors{inputs[0] * 0 + 7};
  });
  backward(sum(layer(x)));
  EXPECT_EQ(values_of(grad(x)), (Values{7, 7, 7}));
  EXPECT_EQ(values_of(grad(layer.bias)), (Values{10, 10}));
}

TEST(BackwardHooks, run_where_no_input_takes_part_and_change_nothing_there) {
  nn::Linear layer(3, 2);
  int calls = 0;
  nn::HookHandle handle = layer.register_full_backward_hook([&](Span inputs, Span outputs) {
    ++calls;
    EXPECT_FALSE(inputs[0].defined());
    EXPECT_TRUE(outputs[0].defined());
    return Tensors{};
  });
  backward(sum(layer(rand({1, 3}))));
  EXPECT_EQ(calls, 1);
  handle.remove();
  layer.register_full_backward_hook([](Span, Span outputs) { return Tensors{outputs[0]}; });
  const Tensor loss = sum(layer(rand({1, 3})));
  EXPECT_THAT(sentence_of([&] { backward(loss); }), HasSubstr("no gradient to replace"));
  const NoGrad no_grad;
  layer(rand({1, 3}));
}

TEST(BackwardHooks, say_what_did_not_come_back_of_several_tensors) {
  SumAndProduct both;
  Tensors seen_inputs, seen_outputs;
  both.register_full_backward_hook([&](Span inputs, Span outputs) {
    seen_inputs.assign(inputs.begin(), inputs.end());
    seen_outputs.assign(outputs.begin(), outputs.end());
    return Tensors{};
  });
  const Tensor x = leaf({2});
  const Tensors results = both.call_all({x, tensor<double>({3.0})});
  backward(results[1]);
  ASSERT_TRUE(seen_inputs.size() == 2 && seen_outputs.size() == 2);
  EXPECT_EQ(values_of(seen_inputs[0]), Values{3});
  EXPECT_FALSE(seen_inputs[1].defined());
  EXPECT_EQ(values_of(seen_outputs[0]), Values{0});
  EXPECT_EQ(values_of(seen_outputs[1]), Values{1});
}

TEST(BackwardHooks, hold_for_derivatives_of_derivatives_and_modules_that_are_gone) {
  const Tensor x = leaf({3});
  Tensor y;
  int calls = 0;
  {
    struct Cube : nn::Module {
      Tensor forward(const Tensor& a) const override { return a * a * a; }
    } cube;
    cube.register_full_backward_hook([&](Span inputs, Span) {
      ++calls;
      return Tensors{inputs[0] * 2};
    });
    y = cube(x);
  }
  const Tensor first = autograd::grad({y}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values_of(first), Values{54});
  EXPECT_EQ(values_of(autograd::grad({first}, {x})[0]), Values{36});
  EXPECT_EQ(calls, 1);
}

TEST(DictHooks, change_what_is_saved_and_what_is_loaded) {
  Net net;
  std::string order;
  net.hidden.register_state_dict_pre_hook(
      [&](const nn::Module&, const std::string& prefix) { order += "pre " + prefix + ","; });
  net.hidden.register_state_dict_post_hook(
      [&](const nn::Module&, nn::StateDict& dict, const std::string& prefix) {
        order += "post " + prefix + ",";
        dict.set(prefix + "kernel", dict.at(prefix + "weight"));
        dict.erase(prefix + "weight");
      });
  net.register_state_dict_post_hook(
      [&](const nn::Module&, nn::StateDict& dict, const std::string& prefix) {
        order += "whole" + prefix;
        dict.set("version", ones({}));
      });
  const nn::StateDict dict = net.state_dict();
  EXPECT_THAT(names_of(dict),
              ElementsAre("hidden.bias", "hidden.kernel", "output.weight", "version"));
  EXPECT_EQ(order, "pre hidden.,post hidden.,whole");

  Net other;
  EXPECT_THAT(sentence_of([&] { other.load_state_dict(dict); }), HasSubstr("hidden.kernel"));
  other.register_load_state_dict_pre_hook(
      [](const nn::Module&, nn::StateDict& all, const std::string&) { all.erase("version"); });
  other.hidden.register_load_state_dict_pre_hook(
      [](const nn::Module&, nn::StateDict& all, const std::string& prefix) {
        all.set(prefix + "weight", all.at(prefix + "kernel"));
        all.erase(prefix + "kernel");
      });
  other.load_state_dict(dict);
  EXPECT_EQ(numbers_of(other.hidden.weight), numbers_of(net.hidden.weight));
  EXPECT_TRUE(dict.contains("version"));
}

TEST(Hooks, refuse_functions_that_cannot_be_called) {
  nn::Linear layer(2, 2);
  EXPECT_THAT(sentence_of([&] { layer.register_forward_hook(nullptr); }),
              HasSubstr("an empty function"));
}

}  // namespace
}  // namespace bp::test
