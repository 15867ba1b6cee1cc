// needs: cpu
// What scopes change: no recording, inference, looking for anomalies.
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using autograd::DetectAnomaly;

TEST(NoGrad, records_nothing_until_it_ends) {
  const Tensor x = leaf({1});
  {
    const NoGrad not_recorded;
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_FALSE(requires_grad(x * 2));
    const EnableGrad recorded;
    EXPECT_TRUE(requires_grad(x * 2));
  }
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_TRUE(requires_grad(x * 2));
}

TEST(NoGrad, holds_when_an_exception_leaves_it) {
  EXPECT_EQ(sentence_of([] {
              const NoGrad not_recorded;
              throw std::runtime_error("out");
            }),
            "out");
  EXPECT_TRUE(is_grad_enabled());
}

TEST(InferenceMode, marks_what_is_made_in_it) {
  const Tensor outside = ones({2}, f64);
  Tensor inside, view;
  {
    const InferenceMode inference;
    EXPECT_FALSE(is_grad_enabled());
    inside = outside * 2 + 1;
    view = narrow(inside, 0, 0, 1);
    EXPECT_FALSE(is_inference(narrow(outside, 0, 0, 1)));
    mul_(inside, 2);
  }
  EXPECT_TRUE(is_inference(inside));
  EXPECT_TRUE(is_inference(view));
  EXPECT_FALSE(is_inference(outside));
  EXPECT_FALSE(is_inference(outside * 2));
  EXPECT_FALSE(is_inference(clone(inside)));
  EXPECT_THAT(values_of(inside * 1), ElementsAre(6, 6));
}

TEST(InferenceMode, keeps_its_tensors_out_of_every_record) {
  const Tensor x = leaf({1, 2});
  Tensor inside;
  {
    const InferenceMode inference;
    inside = x * 2;
  }
  EXPECT_EQ(sentence_of([&] { mul(x, inside); }),
            "mul: 'other', shape [2], was made in inference mode, and the call is recorded for "
            "derivatives; "
            "clone() it outside of inference mode, or call under NoGrad");
  EXPECT_EQ(
      sentence_of([&] { copy_(inside, x); }),
      "copy_: recorded values are written in place into a tensor, shape [2], that was made in "
      "inference mode; clone() it outside of inference mode, or write under NoGrad");
  EXPECT_EQ(
      sentence_of([&] { set_requires_grad(inside); }),
      "set_requires_grad: the tensor, shape [2], was made in inference mode; clone() it outside");
  EXPECT_THAT(values_of(derivative(x * clone(inside), x)), ElementsAre(2, 4));
  const NoGrad not_recorded;
  EXPECT_THAT(values_of(x * inside), ElementsAre(2, 8));
}

TEST(InferenceMode, has_no_backward) {
  const Tensor x = leaf({1}), y = x * x;
  const InferenceMode inference;
  EXPECT_EQ(sentence_of([&] { backward(y); }),
            "backward: called in inference mode, where gradients could not be used again; leave it "
            "first");
}

TEST(AnomalyMode, names_the_forward_call_that_a_nan_comes_from) {
  const Tensor x = leaf({0, 1});
  const DetectAnomaly detecting;
  const Tensor y = sqrt(x), z = y * 0;
  EXPECT_EQ(sentence_of([&] { backward(sum(z)); }),
            "backward through sqrt: the gradient for input 0 holds NaN; the forward call was "
            "sqrt(float64[2] on cpu:0)");
}

TEST(AnomalyMode, names_the_forward_call_in_errors) {
  const Tensor x = leaf({2, 3});
  const DetectAnomaly detecting;
  const Tensor y = x * 1, z = add(y * y, 1, 2);
  add_(y, 1);
  EXPECT_EQ(
      sentence_of([&] { backward(sum(z)); }),
      "backward through mul: argument 'other', shape [2], was written in place after the call: "
      "it is at "
      "version 1, and version 0 is needed; write to a copy of it; the forward call was "
      "mul(float64[2] on cpu:0, float64[2] on cpu:0)");
}

TEST(AnomalyMode, lets_good_gradients_pass) {
  const Tensor x = leaf({4});
  const DetectAnomaly detecting;
  backward(sqrt(x));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(0.25));
}

}  // namespace
}  // namespace bp::test
