// needs: cpu
// Functions with derivatives of the application's own, and checkpoints.
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using autograd::Function;
using autograd::FunctionContext;
using Inputs = std::span<const Tensor>;
using Tensors = std::vector<Tensor>;

Function cube() {
  return {"cube",
          [](FunctionContext& context, Inputs inputs) -> Tensors {
            context.save({inputs[0]});
            return {inputs[0] * inputs[0] * inputs[0]};
          },
          [](FunctionContext& context, Inputs gradients) -> Tensors {
            const Tensor x = context.saved()[0];
            return {gradients[0] * 3 * x * x};
          }};
}

TEST(CustomFunctions, bring_their_own_derivative_of_any_order) {
  const Tensor x = leaf({2});
  Tensor d = autograd::apply(cube(), {x})[0];
  EXPECT_THAT(values_of(d), ElementsAre(8));
  for (double expected : {12.0, 12.0, 6.0}) {
    d = derivative(d, x, {.create_graph = true});
    EXPECT_THAT(values_of(d), ElementsAre(expected));
  }
}

TEST(CustomFunctions, save_results_without_holding_themselves) {
  const Function exponential{"exponential",
                             [](FunctionContext& context, Inputs inputs) -> Tensors {
                               const Tensor result = exp(inputs[0]);
                               context.save({result});
                               context.data = std::make_shared<int>(7);
                               return {result};
                             },
                             [](FunctionContext& context, Inputs gradients) -> Tensors {
                               return {gradients[0] * context.saved()[0]};
                             }};
  std::weak_ptr<int> alive;
  const Function watched{"watched",
                         [&](FunctionContext& context, Inputs inputs) {
                           Tensors results = exponential.forward(context, inputs);
                           alive = std::any_cast<std::shared_ptr<int>>(context.data);
                           return results;
                         },
                         exponential.backward};
  const Tensor x = leaf({1});
  {
    const Tensor y = autograd::apply(watched, {x})[0];
    EXPECT_FALSE(alive.expired());
    const Tensor d = derivative(y, x, {.create_graph = true});
    EXPECT_DOUBLE_EQ(values_of(derivative(d, x))[0], std::exp(1.0));
  }
  EXPECT_TRUE(alive.expired());
}

TEST(CustomFunctions, know_which_inputs_matter_and_which_results_do_not) {
  std::vector<bool> needed;
  const Function divide{"divide",
                        [&](FunctionContext& context, Inputs inputs) -> Tensors {
                          needed = {context.needs_gradient(0), context.needs_gradient(1)};
                          const Tensor sign = where(inputs[0] > 0, ones_like(inputs[0]), -1);
                          context.mark_non_differentiable(sign);
                          return {inputs[0] / inputs[1], sign};
                        },
                        [](FunctionContext&, Inputs gradients) -> Tensors {
                          EXPECT_EQ(gradients.size(), 2u);
                          EXPECT_THAT(values_of(gradients[1]), ElementsAre(0));
                          return {gradients[0] / 4, {}};
                        }};
  const Tensor x = leaf({2});
  const Tensors results = autograd::apply(divide, {x, tensor(Values{4})});
  EXPECT_EQ(needed, (std::vector<bool>{true, false}));
  EXPECT_FALSE(requires_grad(results[1]));
  backward(results[0]);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(0.25));
}

TEST(CustomFunctions, may_return_their_inputs) {
  const Function reversal{
      "reversal", [](FunctionContext&, Inputs inputs) -> Tensors { return {inputs[0]}; },
      [](FunctionContext&, Inputs gradients) -> Tensors { return {-gradients[0]}; }};
  const Tensor x = leaf({2}), y = autograd::apply(reversal, {x})[0];
  backward(y * 3);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(-3));
  EXPECT_TRUE(is_leaf(x));
}

TEST(CustomFunctions, are_told_of_a_wrong_number_or_shape_of_gradients) {
  const Tensor x = leaf({1, 2});
  Function wrong = cube();
  wrong.backward = [](FunctionContext&, Inputs gradients) -> Tensors { return {gradients[0], {}}; };
  EXPECT_EQ(
      sentence_of([&] { backward(sum(autograd::apply(wrong, {x})[0])); }),
      "cube: backward gave 2 gradients, and there are 1 inputs; give one for each, undefined where "
      "there is none");
  wrong.backward = [](FunctionContext&, Inputs) -> Tensors { return {ones({3}, f64)}; };
  EXPECT_EQ(sentence_of([&] { backward(sum(autograd::apply(wrong, {x})[0])); }),
            "cube: backward gave a gradient float64[3] on cpu:0 for input 0, which is float64[2] "
            "on cpu:0; "
            "give one like it");
  EXPECT_FALSE(grad(x).defined());
  wrong.backward = {};
  EXPECT_EQ(sentence_of([&] { autograd::apply(wrong, {x}); }),
            "apply: the function 'cube' lacks forward or backward; give both");
}

TEST(CustomFunctions, throw_through_forward_and_backward_and_nothing_is_lost) {
  const Tensor x = leaf({1, 2});
  Function throwing = cube();
  throwing.forward = [](FunctionContext&, Inputs) -> Tensors { throw std::runtime_error("forth"); };
  EXPECT_EQ(sentence_of([&] { autograd::apply(throwing, {x}); }), "forth");
  throwing = cube();
  throwing.backward = [](FunctionContext&, Inputs) -> Tensors { throw std::runtime_error("back"); };
  const Tensor y = autograd::apply(throwing, {x * 1})[0], z = sum(y + x);
  EXPECT_EQ(sentence_of([&] { backward(z, {}, {.retain_graph = true}); }), "back");
  EXPECT_EQ(sentence_of([&] { backward(z, {}, {.retain_graph = true}); }), "back");
  backward(sum(x * 2));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(2, 2));
}

TEST(CustomFunctions, must_not_write_their_inputs) {
  Function writing = cube();
  writing.forward = [](FunctionContext&, Inputs inputs) -> Tensors {
    mul_(inputs[0], 2);
    return {inputs[0] * 1};
  };
  const Tensor x = leaf({1, 2}), y = x * 1;
  EXPECT_EQ(sentence_of([&] { autograd::apply(writing, {y}); }),
            "cube: forward wrote input 0, shape [2], in place; write to a copy of it");
}

// x *= 3 and, where asked, is marked and returned.
Function tripled(bool marks, bool returns) {
  return {"tripled",
          [=](FunctionContext& context, Inputs inputs) -> Tensors {
            if (marks) context.mark_dirty(inputs[0]);
            mul_(inputs[0], 3);
            return {returns ? inputs[0] : inputs[0] * 1};
          },
          [](FunctionContext&, Inputs gradients) -> Tensors { return {gradients[0] * 3}; }};
}

TEST(CustomFunctions, may_write_inputs_that_they_mark_as_dirty) {
  const Tensor x = leaf({1, 2}), y = x * 2, part = narrow(y, 0, 1, 1);
  const Tensor result = autograd::apply(tripled(true, true), {part})[0];
  EXPECT_TRUE(result.is_same(part));
  EXPECT_THAT(values_of(y), ElementsAre(2, 12));
  backward(sum(y));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(2, 6));
}

TEST(CustomFunctions, may_not_mark_what_must_not_be_written_or_is_not_returned) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(sentence_of([&] { autograd::apply(tripled(true, false), {x * 1}); }),
            "tripled: forward marked as dirty a tensor, shape [2], that is not both an input and a "
            "result; mark inputs that are written in place, and return them");
  EXPECT_EQ(
      sentence_of([&] { autograd::apply(tripled(true, true), {x}); }),
      "tripled: a leaf that requires grad, shape [2], is written in place; write to a copy, or "
      "under NoGrad");
}

TEST(CustomFunctions, check_what_they_saved) {
  const Tensor x = leaf({1, 2}), input = x * 1, y = autograd::apply(cube(), {input})[0];
  add_(input, 1);
  EXPECT_EQ(sentence_of([&] { backward(sum(y)); }),
            "backward through cube: saved tensor 0, shape [2], was written in place after the "
            "call: it is "
            "at version 1, and version 0 is needed; write to a copy of it");
  const Tensor z = autograd::apply(cube(), {x})[0];
  backward(sum(z));
  EXPECT_EQ(sentence_of([&] { backward(sum(z)); }),
            "backward through cube: what the call saved was freed by an earlier backward; pass "
            "retain_graph to that one");
}

TEST(CustomFunctions, record_nothing_under_no_grad) {
  const NoGrad not_recorded;
  EXPECT_FALSE(requires_grad(autograd::apply(cube(), {leaf({1})})[0]));
}

// ---- Checkpoints ----

TEST(Checkpoints, compute_again_instead_of_keeping) {
  const Tensor x = leaf({0.5, 1.5}), w = leaf({2, 3});
  int num_computed = 0;
  const auto region = [&](Inputs inputs) -> Tensors {
    ++num_computed;
    return {exp(inputs[0] * w) * inputs[0]};
  };
  const Tensor y = autograd::checkpoint(region, {x})[0];
  EXPECT_EQ(num_computed, 1);
  backward(sum(y));
  EXPECT_EQ(num_computed, 2);
  const Values by_x = values_of(grad(x)), by_w = values_of(grad(w));
  set_grad(x, {});
  set_grad(w, {});
  backward(sum(region(std::vector<Tensor>{x})[0]));
  EXPECT_EQ(by_x, values_of(grad(x)));
  EXPECT_EQ(by_w, values_of(grad(w)));
}

TEST(Checkpoints, draw_the_same_random_numbers_and_leave_the_generator_alone) {
  manual_seed(3);
  const Tensor x = leaf(Values(64, 1.0));
  const auto region = [](Inputs inputs) -> Tensors {
    return {dropout(inputs[0] * inputs[0], 0.5)};
  };
  const Tensor y = autograd::checkpoint(region, {x})[0];
  const PhiloxState before = default_generator(x.device()).state();
  backward(sum(y));
  EXPECT_EQ(default_generator(x.device()).state().offset, before.offset);
  const Values out = values_of(y), by_x = values_of(grad(x));
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(by_x[i], 2 * out[i]);
}

TEST(Checkpoints, have_derivatives_of_derivatives_and_lie_within_each_other) {
  const Tensor x = leaf({2});
  const auto inner = [](Inputs inputs) -> Tensors { return {inputs[0] * inputs[0] * inputs[0]}; };
  const auto outer = [&](Inputs inputs) -> Tensors {
    return {autograd::checkpoint(inner, {inputs[0] * 2})[0] * inputs[0]};
  };
  const Tensor y = autograd::checkpoint(outer, {x})[0];  // 8 x^4
  const Tensor d = derivative(y, x, {.create_graph = true});
  EXPECT_THAT(values_of(d), ElementsAre(256));
  EXPECT_THAT(values_of(derivative(d, x)), ElementsAre(384));
}

TEST(Checkpoints, must_do_the_same_both_times) {
  const Tensor x = leaf({2});
  int num_computed = 0;
  const auto region = [&](Inputs inputs) -> Tensors {
    const Tensor y = exp(inputs[0]);
    return {num_computed++ ? exp(y) : y};
  };
  const Tensor y = autograd::checkpoint(region, {x})[0];
  EXPECT_EQ(sentence_of([&] { backward(y); }),
            "checkpoint: the region saved 2 tensors when it was computed again, and 1 at first; it "
            "must do the same both times (under Autocast: checkpoint(amp::carried(region), "
            "inputs))");
}

}  // namespace
}  // namespace bp::test
