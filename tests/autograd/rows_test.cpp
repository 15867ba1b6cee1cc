// needs: cpu
// The derivative of every row that has one, and the derivative of that, against differences in float64, on
// the table's own samples and on the same values in other layouts.
#include <gtest/gtest.h>

#include "autograd/gradcheck.hpp"

namespace bp::test {
namespace {

const char* name_of(Placing placing) {
  constexpr const char* names[] = {"as_sampled", "contiguous", "transposed", "channels_last"};
  return names[static_cast<int>(placing)];
}

class Derivatives : public testing::TestWithParam<Placing> {};

TEST_P(Derivatives, of_every_row_are_what_differences_say) {
  int num_rows = 0;
  for (Operator* op : registered_operators()) {
    const bool is_composite = op->kind == BP_KIND_COMPOSITE;  // differentiated through its parts
    if (!op->has_gradient && !is_composite) continue;
    if (op->schema->returns.empty()) continue;  // it writes, into no leaf
    int num_checked = 0, num_large = 0;
    for (const Sample& sample : samples_of(*op, Dtype::f64, device("cpu"))) {
      const Checked checked = check_derivative(*op, sample, GetParam());
      EXPECT_EQ(checked.wrong, "");
      num_checked += checked.was_checked;
      num_large += checked.is_large;
    }
    const bool fits_all = GetParam() == Placing::as_sampled || GetParam() == Placing::contiguous;
    const bool takes_tensors = op->schema->text.find("(Tensor") != std::string::npos;
    // Of a row whose tensors have at least some size, few are small enough.
    if (fits_all && takes_tensors && contains(op->dtypes, f64)) {
      EXPECT_TRUE(num_checked >= 1 && num_checked + num_large >= 4)
          << op->name() << ": " << num_checked << " checked, " << num_large << " too large";
    }
    num_rows += num_checked != 0;
  }
  EXPECT_GE(num_rows, GetParam() == Placing::channels_last ? 20 : 40);
}

INSTANTIATE_TEST_SUITE_P(Placed, Derivatives,
                         testing::Values(Placing::as_sampled, Placing::contiguous,
                                         Placing::transposed, Placing::channels_last),
                         [](const auto& placed) { return std::string(name_of(placed.param)); });

// By the parts of their numbers.
TEST(ComplexDerivatives, of_every_row_are_what_differences_say) {
  int num_rows = 0;
  for (Operator* op : registered_operators()) {
    if (!op->has_gradient && op->kind != BP_KIND_COMPOSITE) continue;
    if (op->schema->returns.empty() || !contains(op->dtypes, complex128)) continue;
    int num_checked = 0;
    for (const Sample& sample : samples_of(*op, complex128, device("cpu"))) {
      const Checked checked = check_derivative(*op, sample, Placing::contiguous);
      EXPECT_EQ(checked.wrong, "");
      num_checked += checked.was_checked;
    }
    num_rows += num_checked != 0;
  }
  EXPECT_GE(num_rows, 150);
}

TEST(RulesOfDerivatives, are_known_for_each_row_with_a_grad_key) {
  set_requires_grad(ones({1}));  // puts the layer in place
  for (Operator* op : registered_operators())
    EXPECT_EQ(op->derivative.load() != nullptr, op->has_gradient) << op->name();
}

TEST(Gradcheck, finds_the_one_element_whose_derivative_is_wrong) {
  for (std::int64_t wrong_one = 0; wrong_one < 128; ++wrong_one) {
    const Tensor is_wrong = eq(arange(0, 128, 1, Dtype::i64), wrong_one);
    const Differentiable square = [&](std::span<const Tensor> inputs) {
      return std::vector<Tensor>{inputs[0] * where(is_wrong, detach(inputs[0]), inputs[0])};
    };
    const Tensor x = linspace(0.5, 2, 128, Dtype::f64);
    set_requires_grad(x);
    const std::string wrong = find_wrong_derivative(square, {x}, false);
    EXPECT_NE(wrong.find("element " + std::to_string(wrong_one) + ":"), wrong.npos) << wrong;
  }
}

}  // namespace
}  // namespace bp::test
