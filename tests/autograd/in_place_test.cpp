// needs: cpu
// Writing in place, through views and not, under autograd.
#include <cmath>
#include <numeric>

#include <backplane/dispatcher/transfer.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::DoubleNear;

TEST(InPlace, goes_on_from_the_new_values) {
  const Tensor x = leaf({1, 2}), y = x * 3;
  add_(y, x);
  mul_(y, 2);
  EXPECT_THAT(values_of(y), ElementsAre(8, 16));
  EXPECT_THAT(values_of(derivative(y, x)), ElementsAre(8, 8));
}

TEST(InPlace, rules_read_the_result_that_was_written) {
  const Tensor x = leaf({0.5}), y = x * 1;
  exp_(y);
  EXPECT_THAT(values_of(derivative(y, x)), ElementsAre(std::exp(0.5)));
}

TEST(InPlace, on_a_saved_tensor_is_an_error_that_names_both_versions) {
  const Tensor x = leaf({1, 2}), y = x * 1, z = y * y;
  add_(y, 1);
  EXPECT_EQ(sentence_of([&] { backward(sum(z)); }),
            "backward through mul: argument 'other', shape [2], was written in place after the "
            "call: it is "
            "at version 1, and version 0 is needed; write to a copy of it");
}

TEST(InPlace, on_a_saved_result_is_an_error) {
  const Tensor x = leaf({1, 2}), y = exp(x);
  mul_(y, 2);
  EXPECT_EQ(
      sentence_of([&] { backward(sum(y)); }),
      "backward through exp: its result, shape [2], was written in place after the call: it is at "
      "version 1, and version 0 is needed; write to a copy of it");
}

TEST(InPlace, on_what_no_rule_reads_is_fine) {
  const Tensor x = leaf({1, 2}), y = x * 3, z = y + 1;
  mul_(y, 5);
  EXPECT_THAT(values_of(derivative(z, x)), ElementsAre(3, 3));
}

TEST(InPlace, on_a_leaf_is_an_error_but_under_no_grad) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(sentence_of([&] { add_(x, 1); }),
            "add_: a leaf that requires grad, shape [2], is written in place; write to a copy, or "
            "under NoGrad");
  EXPECT_EQ(
      sentence_of([&] { add_(select(x, 0, 0), 1); }),
      "add_: a leaf that requires grad, shape [], is written in place through a view; write to "
      "a copy, or under NoGrad");
  const NoGrad step;
  sub_(x, tensor(Values{1, 1}));
  EXPECT_THAT(values_of(x), ElementsAre(0, 1));
  EXPECT_TRUE(requires_grad(x));
}

TEST(InPlace, with_constants_cuts_the_way) {
  const Tensor x = leaf({1, 2}), y = x * 3;
  fill_(select(y, 0, 0), 7);
  EXPECT_THAT(values_of(derivative(y * y, x)), ElementsAre(0, 36));
  const Tensor z = x * 3;
  copy_into(z, tensor(Values{1, 1}));
  EXPECT_THAT(values_of(derivative(z + x, x)), ElementsAre(1, 1));
}

TEST(InPlace, into_an_output_of_a_recorded_call_is_refused) {
  const Tensor x = leaf({1, 2}), out = zeros({2}, f64);
  EXPECT_EQ(
      sentence_of([&] { add_out(out, x, x); }),
      "add: an output was given for a call that is recorded for derivatives; use the form that "
      "returns its result, or NoGrad");
}

TEST(Views, written_in_place_change_what_their_base_came_from) {
  const Tensor x = leaf({1, 2, 3}), y = x * 2;
  mul_(narrow(y, 0, 1, 2), 10);
  EXPECT_THAT(values_of(y), ElementsAre(2, 40, 60));
  EXPECT_THAT(values_of(derivative(y, x)), ElementsAre(2, 20, 20));
}

TEST(Views, made_earlier_see_what_was_written_to_their_base) {
  const Tensor x = leaf({1, 2, 3}), y = x * 2, view = narrow(y, 0, 0, 2), other = view * 1;
  mul_(y, 10);
  EXPECT_THAT(values_of(derivative(view, x)), ElementsAre(20, 20, 0));
  EXPECT_THAT(values_of(derivative(other, x)), ElementsAre(2, 2, 0));
}

TEST(Views, bring_a_buffer_into_the_record) {
  const Tensor x = leaf({1, 2}), buffer = zeros({3, 2}, f64);
  copy_into(select(buffer, 0, 1), x * 3);
  EXPECT_TRUE(requires_grad(buffer));
  EXPECT_THAT(values_of(derivative(buffer * buffer, x)), ElementsAre(18, 36));
}

TEST(Views, of_views_lead_to_the_one_base) {
  const Tensor x = leaf({1, 2, 3, 4}), y = x * 1;
  const Tensor square = reshape(y, {2, 2}), column = select(square, 1, 1);
  mul_(column, 5);
  EXPECT_THAT(values_of(y), ElementsAre(1, 10, 3, 20));
  EXPECT_THAT(values_of(derivative(y, x)), ElementsAre(1, 5, 1, 5));
  EXPECT_THAT(values_of(derivative(square, x)), ElementsAre(1, 5, 1, 5));
}

TEST(Views, that_would_not_hear_of_a_recorded_write_forbid_it) {
  const Tensor x = leaf({1, 2}), buffer = zeros({2}, f64);
  const Tensor early = narrow(buffer, 0, 0, 1);
  EXPECT_EQ(
      sentence_of([&] { add_(buffer, x); }),
      "add_: recorded values are written in place into a tensor, shape [2], whose memory is shared "
      "by 1 other that was made before it took part in derivatives; make it afterwards, or write "
      "to a copy");
}

TEST(Detached, tensors_do_not_forbid_a_write_and_stay_constants) {
  const Tensor x = leaf({1, 2}), buffer = zeros({2}, f64), detached = detach(buffer);
  add_(buffer, x);
  EXPECT_THAT(values_of(derivative(buffer, x)), ElementsAre(1, 1));
  EXPECT_FALSE(requires_grad(detached));
  EXPECT_THAT(values_of(detached), ElementsAre(1, 2));
}

TEST(Views, under_no_grad_are_written_by_an_optimizer) {
  const Tensor x = leaf({1, 2, 3});
  {
    const NoGrad step;
    fill_(narrow(x, 0, 1, 2), 9);
  }
  EXPECT_THAT(values_of(x), ElementsAre(1, 9, 9));
  EXPECT_THAT(values_of(derivative(x * x, x)), ElementsAre(2, 18, 18));
}

TEST(Views, made_leaves_stay_leaves_when_their_base_is_written) {
  const Tensor base = ones({3}, f64), x = set_requires_grad(narrow(base, 0, 0, 2));
  {
    const NoGrad step;
    fill_(base, 5);
  }
  EXPECT_TRUE(is_leaf(x));
  backward(sum(x * x));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(10, 10));
}

TEST(Views, keep_their_memory_when_the_base_is_gone) {
  Tensor view;
  {
    const Tensor base = leaf({1, 2, 3});
    view = narrow(base, 0, 1, 2);
  }
  EXPECT_THAT(values_of(view), ElementsAre(2, 3));
  EXPECT_TRUE(requires_grad(view));
  backward(sum(view * view));
}

// What a convolution without a bias, a copying reshape or a decomposed row gives is a view of memory that only
// they know of.
TEST(Results, that_are_views_inside_keep_their_way_when_written) {
  const Tensor x = leaf({1, 2, 3, 4}), w = leaf({2});
  const Tensor picture = reshape(x, {1, 1, 2, 2}), kernel = reshape(w, {1, 1, 1, 1});
  const Tensor y = conv2d(picture, kernel), again = y * 1;
  relu_(y);
  const std::vector<Tensor> found = autograd::grad({sum(y) + sum(again)}, {x, w});
  EXPECT_THAT(values_of(found[0]), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(values_of(found[1]), ElementsAre(20));
  const Tensor z = conv2d(picture, kernel);
  mul_(select(z, 2, 0), 3);
  EXPECT_THAT(values_of(derivative(z, x)), ElementsAre(6, 6, 2, 2));
}

TEST(Results, of_reshape_that_copied_keep_their_way_when_written) {
  const Tensor x = leaf({1, 2, 3, 4});
  for (const Tensor& y : {reshape(transpose(reshape(x, {2, 2}), 0, 1), {4}),
                          flatten(transpose(reshape(x, {2, 2}), 0, 1)), roll(x, {1}, {0})}) {
    const Values before = values_of(y);
    mul_(narrow(y, 0, 0, 2), 5);
    mul_(y, y);
    const Values by_x = values_of(derivative(y, x));
    EXPECT_EQ(std::accumulate(by_x.begin(), by_x.end(), 0.0),
              50 * (before[0] + before[1]) + 2 * (before[2] + before[3]));
  }
}

TEST(Results, that_are_views_inside_take_recorded_writes_later) {
  const Tensor x = leaf({3}), y = reshape(transpose(ones({2, 2}, f64), 0, 1), {4});
  const Tensor early = select(ones({2}, f64), 0, 0);
  mul_(narrow(y, 0, 1, 1), x);
  mul_(early, select(x, 0, 0));
  EXPECT_THAT(values_of(derivative(y * y, x)), ElementsAre(6));
  EXPECT_THAT(values_of(derivative(early, x)), ElementsAre(1));
}

TEST(SecondDerivatives, go_through_written_views) {
  const Tensor x = leaf({1, 1}), y = x * 1;
  mul_(select(y, 0, 0), 0.5);
  const Tensor first = autograd::grad({sum(y * y)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(values_of(first), ElementsAre(0.5, 2));
  EXPECT_THAT(values_of(derivative(first, x)), ElementsAre(0.5, 2));
}

// PyTorch gives zeros as well.
TEST(SecondDerivatives, of_steps_are_zeros) {
  const Tensor x = leaf({-1, 2}), w = leaf({3, 4});
  for (const Tensor& y : {relu(x), abs(x), clamp(x, -2, 1), maximum(x, w), where(x > 0, x, w)}) {
    const Tensor first = derivative(y, x, {.create_graph = true});
    if (!requires_grad(first)) continue;
    EXPECT_THAT(values_of(derivative(first, x)), ElementsAre(0, 0));
  }
  const Tensor y = x * 1;
  relu_(select(y, 0, 1));
  const Tensor first = derivative(y, x, {.create_graph = true});
  EXPECT_THAT(values_of(first), ElementsAre(1, 1));
  EXPECT_THAT(values_of(derivative(first, x)), ElementsAre(0, 0));
}

TEST(SecondDerivatives, go_through_results_that_written_views_kept) {
  const Tensor x = leaf({1, 2}), y = x * 1;
  exp_(select(y, 0, 0));
  const Tensor first = autograd::grad({sum(y * y)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(values_of(first), ElementsAre(DoubleNear(2 * std::exp(2), 1e-12), 4));
  EXPECT_THAT(values_of(derivative(first, x)), ElementsAre(DoubleNear(4 * std::exp(2), 1e-12), 2));
}

TEST(Views, that_overlap_get_the_sum_after_a_write_to_their_base) {
  const Tensor x = leaf({1, 2, 3}), y = x * 1.0;
  const Tensor windows = unfold(y, 0, 2, 1), strided = as_strided(y, {2, 2}, {1, 1}),
               repeated = expand(y, {2, 3});
  mul_(y, 1.0);
  for (const Tensor& view : {windows, strided}) {
    EXPECT_THAT(values_of(derivative(view, x)), ElementsAre(1, 2, 1));
  }
  EXPECT_THAT(values_of(derivative(repeated, x)), ElementsAre(2, 2, 2));
}

// PyTorch shares an element's gradient among the places of the input that show it.
TEST(Views, of_views_that_overlap_count_each_element_once) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor windows = as_strided(x, {2, 2}, {1, 1});
  EXPECT_THAT(values_of(derivative(as_strided(windows, {1, 2}, {0, 1}), x)),
              ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values_of(derivative(as_strided(windows, {2}, {2}, 1), x)), ElementsAre(0, 1, 0, 0));
}

TEST(Views, made_under_no_grad_are_not_written_in_a_record) {
  const Tensor x = leaf({1, 2}), y = x * 2;
  Tensor view;
  {
    const NoGrad not_recorded;
    view = select(y, 0, 0);
  }
  EXPECT_EQ(sentence_of([&] { mul_(view, 3); }),
            "mul_: a view, shape [], that was made under NoGrad is written in place while "
            "derivatives are recorded, and its base takes part in them; make the view outside of "
            "NoGrad, or write under NoGrad");
  const std::string refused = sentence_of([&] { mul_(view, 3); });
  EXPECT_EQ(sentence_of([&] { mul_(unsqueeze(view, 0), 3); }),
            std::string(refused).replace(refused.find("[]"), 2, "[1]"));
  mul_(select(y, 0, 0), 3);
  EXPECT_THAT(values_of(derivative(y, x)), ElementsAre(6, 2));
}

TEST(Views, made_under_no_grad_are_not_read_in_a_record_after_a_write) {
  const Tensor x = leaf({1, 2}), y = x * 2;
  Tensor view, later;
  {
    const NoGrad not_recorded;
    view = select(y, 0, 0);
  }
  EXPECT_THAT(values_of(derivative(sum(y) * view, x)), ElementsAre(4, 4));
  mul_(y, x);
  EXPECT_EQ(
      sentence_of([&] { mul(view, 3); }),
      "mul: 'input', shape [], is a view that was made under NoGrad, and its base was written "
      "since; make the view afterwards, or outside of NoGrad, or detach() it");
  EXPECT_THAT(values_of(detach(view) * 3), ElementsAre(6));
  {
    const NoGrad not_recorded;
    later = select(y, 0, 0);
    EXPECT_THAT(values_of(view * 3), ElementsAre(6));
  }
  EXPECT_THAT(values_of(derivative(sum(x) * later, x)), ElementsAre(2, 2));
}

TEST(InPlace, keeps_the_gradient_that_was_asked_for) {
  const Tensor x = leaf({1, 2}), y = x * 3;
  retain_grad(y);
  mul_(y, 4);
  mul_(select(y, 0, 0), 5);
  backward(sum(y * 2));
  EXPECT_THAT(values_of(grad(y)), ElementsAre(2, 2));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(120, 24));
}

TEST(InPlace, of_views_shows_hooks_and_retain_grad_of_the_base_its_gradient) {
  const Tensor x = leaf({1, 2}), y = x * 3, part = select(y, 0, 0);
  retain_grad(y);
  mul_(part, 4);
  Values seen;
  autograd::register_hook(y, [&](const Tensor& gradient) {
    seen = values_of(gradient);
    return Tensor();
  });
  backward(part * 2);
  EXPECT_THAT(values_of(grad(y)), ElementsAre(2, 0));
  EXPECT_THAT(seen, ElementsAre(2, 0));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(24, 0));
}

TEST(InPlace, of_views_keeps_the_gradient_that_was_asked_for) {
  const Tensor x = leaf({1, 2}), y = x * 3, view = select(y, 0, 0);
  retain_grad(view);
  mul_(y, 4);
  mul_(view, 5);
  backward(sum(view * 2));
  EXPECT_THAT(values_of(grad(view)), ElementsAre(2));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(120, 0));
}

TEST(InPlace, keeps_old_values_that_its_own_rule_reads) {
  const Tensor w = leaf({2, 3});
  const auto by_x = [&](const auto& write) {
    const Tensor x = leaf({0.5, 2}), y = x * 1;
    write(y);
    return values_of(derivative(y, x));
  };
  const auto near = [](double a, double b) {
    return ElementsAre(DoubleNear(a, 1e-12), DoubleNear(b, 1e-12));
  };
  EXPECT_THAT(by_x([](const Tensor& y) { sin_(y); }), near(std::cos(0.5), std::cos(2)));
  EXPECT_THAT(by_x([](const Tensor& y) { clamp_(y, 0.0, 1.0); }), near(1, 0));
  EXPECT_THAT(by_x([](const Tensor& y) { square_(y); }), near(1, 4));
  EXPECT_THAT(by_x([](const Tensor& y) { pow_(y, 3); }), near(0.75, 12));
  EXPECT_THAT(by_x([](const Tensor& y) { log_(y); }), near(2, 0.5));
  EXPECT_THAT(by_x([](const Tensor& y) { abs_(y); }), near(1, 1));
  EXPECT_THAT(by_x([&](const Tensor& y) { mul_(y, w); }), near(2, 3));
  EXPECT_THAT(by_x([&](const Tensor& y) { div_(y, w); }), near(0.5, 1.0 / 3));
  EXPECT_THAT(by_x([&](const Tensor& y) { mul_(y, y); }), near(1, 4));
  const Tensor y = ones({2}, f64) * 4;
  mul_(y, w);
  EXPECT_THAT(values_of(derivative(y, w)), near(4, 4));
}

TEST(InPlace, on_results_that_no_rule_needs_is_fine) {
  const Tensor x = leaf({1, 2});
  const auto silu_at = [](double a) {
    const double s = 1 / (1 + std::exp(-a));
    return 3 * s * (1 + a * (1 - s));
  };
  const Tensor y = silu(x);
  mul_(y, 3);
  EXPECT_THAT(values_of(derivative(y, x)),
              ElementsAre(DoubleNear(silu_at(1), 1e-12), DoubleNear(silu_at(2), 1e-12)));
  const Tensor z = gelu_tanh(x), plain = derivative(gelu_tanh(x), x);
  mul_(z, 3);
  EXPECT_THAT(values_of(derivative(z, x)), ElementsAre(DoubleNear(3 * values_of(plain)[0], 1e-12),
                                                       DoubleNear(3 * values_of(plain)[1], 1e-12)));
}

// What it captures dies with the last node.
autograd::TensorHook holding(const std::shared_ptr<int>& token) {
  return [token](const Tensor&) { return Tensor(); };
}

TEST(Records, do_not_hold_themselves_when_what_they_keep_is_written) {
  const auto token = std::make_shared<int>(0);
  {
    const Tensor x = leaf({1, 2}), y = x * 1, z = sin(y);
    autograd::register_hook(z, holding(token));
    mul_(y, z);
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Records, do_not_hold_themselves_by_a_constant_that_is_written) {
  const auto token = std::make_shared<int>(0);
  {
    const Tensor x = leaf({1, 2}), constant = ones({2}, f64), y = x * constant;
    autograd::register_hook(y, holding(token));
    mul_(constant, y);
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Records, do_not_hold_themselves_by_a_retained_gradient) {
  const auto token = std::make_shared<int>(0);
  {
    const Tensor x = leaf({1, 2}), y = x * x;
    autograd::register_hook(y, holding(token));
    retain_grad(y);
    derivative(y * y, x, {.create_graph = true});
    EXPECT_TRUE(requires_grad(grad(y)));
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace bp::test
