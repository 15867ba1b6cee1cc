// needs: cpu
// Writing in place, through views and not, under autograd.
#include <backplane/dispatcher/transfer.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

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
  EXPECT_EQ(
      sentence_of([&] { backward(sum(z)); }),
      "backward through mul: argument 'b', shape [2], was written in place after the call: it is "
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
  EXPECT_EQ(
      sentence_of([&] { add_(x, 1); }),
      "add: a leaf that wants its gradient, shape [2], is written in place; write to a copy, or "
      "under NoGrad");
  EXPECT_EQ(
      sentence_of([&] { add_(select(x, 0, 0), 1); }),
      "add: a leaf that wants its gradient, shape [], is written in place through a view; write to "
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
      "add: recorded values are written in place into a tensor, shape [2], whose memory is shared "
      "by 1 other that was made before it took part in derivatives; make it afterwards, or write "
      "to a copy");
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

}  // namespace
}  // namespace bp::test
