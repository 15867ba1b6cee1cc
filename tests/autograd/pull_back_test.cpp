// needs: cpu
// Derivatives of calls that are not made, against those of calls that are recorded.
#include <backplane/autograd/pull_back.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

Tensor pulled(const char* row, const Tensor& gradient, std::vector<bp_value> args,
              std::uint32_t place = 0, std::vector<Tensor> results = {}) {
  return autograd::pull_back(*find_operator(row), args, place, gradient, results);
}

TEST(PullBack, gives_what_a_recorded_call_gives) {
  const Tensor x = randn({3, 70}, f64), weights = randn({3, 70}, f64);
  const Tensor by_gelu = pulled("gelu", weights, {value_of(x)});  // before anything is recorded
  const Tensor recorded = set_requires_grad(copy(x));
  const auto expected = [&](const Tensor& result) {
    return to_vector<double>(cpu(autograd::grad({result}, {recorded}, {weights})[0]));
  };
  EXPECT_EQ(to_vector<double>(by_gelu), expected(gelu(recorded)));
  EXPECT_FALSE(requires_grad(by_gelu));
  const Scalar beta(2.0), threshold(1.0);
  EXPECT_EQ(to_vector<double>(
                pulled("softplus", weights, {value_of(x), value_of(beta), value_of(threshold)})),
            expected(softplus(recorded, 2.0, 1.0)));
  const bp_value none{};
  const std::int64_t dim = 1;
  EXPECT_EQ(to_vector<double>(
                pulled("softmax", weights, {value_of(x), value_of(dim), none}, 0, {softmax(x, 1)})),
            expected(softmax(recorded, 1)));
}

TEST(PullBack, leaves_gradient_and_arguments_as_they_are_and_records_nothing) {
  const Tensor x = set_requires_grad(randn({3, 70}, f64)), weights = randn({3, 70}, f64);
  const auto before = to_vector<double>(weights), at = to_vector<double>(detach(x));
  EXPECT_FALSE(requires_grad(pulled("gelu", weights, {value_of(x)})));
  EXPECT_EQ(to_vector<double>(weights), before);
  EXPECT_EQ(to_vector<double>(detach(x)), at);
}

TEST(PullBack, says_what_is_wrong) {
  const Tensor x = randn({3}, f64), two = randn({2}, f64), narrow = randn({3}, f32);
  const auto said = [&](const char* row, const Tensor& gradient, std::vector<bp_value> args,
                        std::uint32_t place = 0) {
    return sentence_of([&] { pulled(row, gradient, args, place); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(
      said("gelu", two, {value_of(x)}),
      HasSubstr("the gradient is float64[2] on cpu:0, and gelu's argument 0 float64[3] on cpu:0"));
  EXPECT_THAT(said("gelu", narrow, {value_of(x)}), HasSubstr("the gradient is float32[3]"));
  EXPECT_THAT(said("gelu", x, {}), HasSubstr("gelu has 1 arguments, and 0 were given"));
  EXPECT_THAT(said("gelu", x, {value_of(x)}, 1), HasSubstr("argument 1"));
  EXPECT_THAT(said("exp", x, {value_of(x)}), HasSubstr("record the call and use grad"));
  EXPECT_THAT(said("floor_divide", x, {value_of(x), value_of(x)}), HasSubstr("record the call"));
}

}  // namespace
}  // namespace bp::test
