// needs: cpu
// Each row's batch rule is true: on each sample, vmap over three sets of values gives what three calls give, whether all
// tensors have a batch or one of them.
#include <cstring>
#include <gtest/gtest.h>

#include <backplane/core_ops/batch.hpp>
#include <backplane/functional/vmap.hpp>

#include "core_ops/rewired.hpp"
#include "core_ops/rows.hpp"
#include "core_ops/written.hpp"

namespace bp::test {
namespace {

constexpr std::uint32_t batch_size = 3;
constexpr std::int64_t most_elements =
    20'000;  // of a sample; the rules do not know how many there are
using Tensors = std::vector<Tensor>;

// The tensors that a sample calls with, in the order of its arguments.
Tensors operands_of(const Sample& sample) {
  Tensors operands;
  for (const bp_value& value : sample.args) {
    auto* listed = static_cast<const bp_tensor* const*>(value.u.ptr);
    if (value.tag == BP_TENSOR) operands.push_back(Tensor::share(TensorImpl::of(value.u.tensor)));
    for (std::uint32_t k = 0; value.tag == BP_TENSOR_LIST && k < value.aux; ++k)
      if (listed[k]) operands.push_back(Tensor::share(TensorImpl::of(listed[k])));
  }
  return operands;
}

// What the sample's call gives with other tensors in the places of its own, and what it writes.
Tensors call_with(Operator& op, const Sample& sample, std::span<const Tensor> operands) {
  const Tensors own = operands_of(sample);
  std::map<const bp_tensor*, Tensor> others;
  for (std::size_t i = 0; i < own.size(); ++i) others[&own[i].impl()->abi] = operands[i];
  return call_for_all(op, Rewired(sample, others).args());
}

std::int64_t num_elements(const Tensors& tensors) {
  std::int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.numel();
  return count;
}

bool same_outline(const Tensors& a, const Tensors& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = a[i].shape() == b[i].shape() && a[i].dtype() == b[i].dtype();
  return same;
}

std::vector<double> numbers_of(const Tensor& a) {
  return to_vector<double>(to(is_complex(a.dtype()) ? view_as_real(a) : a, f64));
}

void expect_close(const Tensor& actual, const Tensor& expected, bool exact) {
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  ASSERT_EQ(name(actual.dtype()), name(expected.dtype()));
  const std::vector<double> a = numbers_of(actual), b = numbers_of(expected);
  double largest = 1;
  for (const double number : b)
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
    ASSERT_FALSE(exact) << "element " << i << ": " << a[i] << " and " << b[i];
    ASSERT_NEAR(a[i], b[i], 2e-5 * largest) << "element " << i;
  }
}

// One recipe's samples, with different values.
struct Trial {
  Operator& op;
  std::vector<const Sample*> samples;
  std::vector<Tensors> operands;  // by sample

  // The elements that differ, where `batched` says so; else those of the first sample.
  Tensors element(std::size_t i, const std::vector<bool>& batched) const {
    Tensors chosen;
    for (std::size_t k = 0; k < batched.size(); ++k)
      chosen.push_back(copy(operands[batched[k] ? i : 0][k]));
    return chosen;
  }
};

bool is_all(const std::vector<bool>& batched) {
  return std::find(batched.begin(), batched.end(), false) == batched.end();
}

// A batch that is written to what all elements share is refused; all else is as a loop.
void expect_batch_is_loop(const Trial& trial, const std::vector<bool>& batched) {
  std::vector<Tensors> each;  // by element
  // Rows that are looped over draw again for each element; what others draw is the same for all.
  const bool loops = find_batch_rule(trial.op)->how == Batch::loop;
  for (std::size_t i = 0; i < batch_size; ++i) {
    if (i == 0 || !loops) manual_seed(7);
    each.push_back(call_with(trial.op, *trial.samples[0], trial.element(i, batched)));
  }
  manual_seed(7);
  Tensors inputs = trial.element(0, batched);
  std::vector<std::optional<std::int64_t>> in_dims(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!batched[k]) continue;
    Tensors stacked;
    for (std::size_t i = 0; i < batch_size; ++i) stacked.push_back(trial.operands[i][k]);
    inputs[k] = stack(stacked);
    in_dims[k] = 0;
  }
  const auto batch = [&] {
    return vmap(
        [&](std::span<const Tensor> x) { return call_with(trial.op, *trial.samples[0], x); },
        inputs, in_dims);
  };
  for (const Tensors& results : each)
    if (!same_outline(results, each[0])) {
      EXPECT_THROW(batch(), Error);
      return;
    }
  Tensors wholes;
  try {
    wholes = batch();
  } catch (const Error& error) {
    if (!trial.op.mutates || is_all(batched) ||
        !std::strstr(error.what(), "written to a tensor that all of them share"))
      throw;
    return;
  }
  ASSERT_EQ(wholes.size(), each[0].size());
  const std::string_view tolerance = trial.op.tolerance;
  for (std::size_t k = 0; k < wholes.size(); ++k) {
    Tensors expected;
    for (const Tensors& results : each) expected.push_back(results[k]);
    if (tolerance == "shape")
      EXPECT_EQ(to_string(wholes[k].shape()), to_string(stack(expected).shape()));
    else
      expect_close(wholes[k], stack(expected), tolerance == "exact");
  }
}

class EveryBatchRule : public testing::TestWithParam<Operator*> {};

TEST_P(EveryBatchRule, gives_what_calls_for_each_element_give) {
  Operator& op = *GetParam();
  std::vector<std::vector<Sample>> variants;
  for (std::uint32_t i = 0; i < batch_size; ++i)
    variants.push_back(samples_of(op, usual_dtype_of(op), host_device(), i));
  for (std::size_t s = 0; s < variants[0].size(); ++s) {
    Trial trial{op, {}, {}};
    for (const std::vector<Sample>& samples : variants) {
      trial.samples.push_back(&samples[s]);
      trial.operands.push_back(operands_of(samples[s]));
    }
    const std::size_t count = trial.operands[0].size();
    bool fits = num_elements(trial.operands[0]) <= most_elements;
    for (const Tensors& operands : trial.operands)
      fits &= same_outline(operands, trial.operands[0]);
    if (!fits || count == 0) continue;
    SCOPED_TRACE(std::string(op.name()) + " " + variants[0][s].recipe);
    std::vector<std::vector<bool>> choices{std::vector<bool>(count, true)};
    for (std::size_t k = 0; count > 1 && k < count; ++k) choices.emplace_back(count)[k] = true;
    for (const std::vector<bool>& batched : choices) {
      SCOPED_TRACE(to_string(std::vector<std::int64_t>(batched.begin(), batched.end())));
      try {
        expect_batch_is_loop(trial, batched);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(table, EveryBatchRule, testing::ValuesIn(rows()),
                         [](const auto& info) { return std::string(info.param->name()); });

TEST(batch_rules, are_there_for_every_row) {
  for (Operator* op : rows()) {
    const BatchRule* rule = find_batch_rule(*op);
    ASSERT_NE(rule, nullptr) << op->name();
    EXPECT_EQ(rule->op, op);
    EXPECT_STRNE(rule->text, "");
  }
}

}  // namespace
}  // namespace bp::test
