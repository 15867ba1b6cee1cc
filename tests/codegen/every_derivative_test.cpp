// needs: cpu reference_compiler slow
// The derivative of every row, taken on a device that compiles, against the same taken on cpu.
#include <fmt/format.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "codegen/agree.hpp"
#include "core_ops/rewired.hpp"

namespace bp::test {
namespace {

std::vector<const Operator*> rows_with_derivatives() {
  ensure_operators();
  std::vector<const Operator*> found;
  for (const Operator* op : registered_operators()) {
    if (!find_row_facts(op->name()) || !contains(op->dtypes, f32)) continue;
    if (op->schema->returns.empty()) continue;
    if (op->has_gradient || op->kind == BP_KIND_COMPOSITE) found.push_back(op);
  }
  return found;
}

// Between -1 and 1, and the same on every device.
Tensor weights_for(const Tensor& result) {
  const Tensor places = arange(0, result.numel(), 1, f32, device("cpu"));
  return to(cos(reshape(places * 0.37, result.shape())), result.device());
}

// The derivatives of sum(result * weights) by all floating tensors of the sample, undefined where there is none.
std::vector<Tensor> derivatives_of(Operator& op, const Sample& sample) {
  std::map<const bp_tensor*, Tensor> others;
  std::vector<Tensor> leaves;
  for (const Tensor& tensor : sample.tensors) {
    if (tensor.dtype() != f32 || others.contains(&tensor.impl()->abi)) continue;
    const Tensor leaf = copy(tensor);
    leaves.push_back(set_requires_grad(leaf));
    others[&tensor.impl()->abi] = leaf;
  }
  manual_seed(7);
  std::vector<Tensor> outputs, weights;
  for (const Tensor& result : call_boxed(op, Rewired(sample, others).args())) {
    if (result.dtype() != f32 || !requires_grad(result)) continue;
    outputs.push_back(result);
    weights.push_back(weights_for(result));
  }
  if (outputs.empty()) return {};
  return autograd::grad(outputs, leaves, weights, {}, true);
}

// Where terms cancel, what the larger ones lost remains: differences are held to the largest derivative of the call.
void expect_near(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                 const std::string& what) {
  double largest = 1;
  for (const Tensor& each : expected)
    if (each.defined())
      for (const float value : to_vector<float>(each))
        if (std::isfinite(value)) largest = std::max(largest, std::abs(double{value}));
  for (std::size_t k = 0; k < actual.size(); ++k) {
    ASSERT_EQ(actual[k].defined(), expected[k].defined()) << what;
    if (!actual[k].defined()) continue;
    ASSERT_EQ(actual[k].shape(), expected[k].shape()) << what;
    const std::vector<float> there = to_vector<float>(cpu(actual[k])),
                             here = to_vector<float>(expected[k]);
    for (std::size_t i = 0; i < here.size(); ++i) {
      const bool are_both_nan = std::isnan(there[i]) && std::isnan(here[i]);
      if (are_both_nan || there[i] == here[i]) continue;
      ASSERT_NEAR(there[i], here[i], 1e-5 * largest)
          << what << ", derivative " << k << ", element " << i;
    }
  }
}

void expect_derivatives_agree(const Operator& row, const char* device_name) {
  Operator& op = *find_operator(row.name());
  const std::vector<Sample> here = samples_of(op, f32, device("cpu"));
  const std::vector<Sample> there = samples_of(op, f32, device(device_name));
  for (std::size_t i = 0; i < here.size(); ++i) {
    // At NaN and the infinities a derivative is as the order of a formula's steps makes it.
    if (here[i].recipe == "specials") continue;
    const std::string what = fmt::format("{} ({})", op.name(), here[i].recipe);
    std::vector<Tensor> expected;
    try {
      expected = derivatives_of(op, here[i]);
    } catch (const Error&) {
      EXPECT_ANY_THROW(derivatives_of(op, there[i])) << what;
      continue;
    }
    try {
      const std::vector<Tensor> actual = derivatives_of(op, there[i]);
      ASSERT_EQ(actual.size(), expected.size()) << what;
      expect_near(actual, expected, what);
    } catch (const Error& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
  }
}

class EveryDerivative : public testing::TestWithParam<const Operator*> {};

TEST_P(EveryDerivative, agrees_with_cpu_on_opencl) {
  BP_SKIP_WITHOUT("opencl:0");
  expect_derivatives_agree(*GetParam(), "opencl:0");
}

TEST_P(EveryDerivative, agrees_with_cpu_on_cuda) {
  BP_SKIP_WITHOUT("cuda:0");
  expect_derivatives_agree(*GetParam(), "cuda:0");
}

INSTANTIATE_TEST_SUITE_P(all, EveryDerivative, testing::ValuesIn(rows_with_derivatives()),
                         [](const testing::TestParamInfo<const Operator*>& each) {
                           return std::string(each.param->name());
                         });

}  // namespace
}  // namespace bp::test
