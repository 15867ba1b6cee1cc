// needs: cpu reference
// Every row on the cpu: each sample runs, and its decomposition agrees with the kernel.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

using test::rows;

// Dtypes that a row takes as they come.
std::vector<Dtype> tried_dtypes(const Operator& op) {
  std::vector<Dtype> tried;
  for (Dtype dtype : {f32, f64, f16, bf16, i32, i64, u8, boolean, complex64})
    if (contains(op.all_dtypes(), dtype)) tried.push_back(dtype);
  if (tried.empty()) tried.push_back(f32);
  return tried;
}

std::vector<double> as_doubles(const Tensor& a) {
  return to_vector<double>(to(a, f64));
}

// Of the largest absolute value: small types keep few bits.
double tolerance(Dtype dtype) {
  return dtype == f16 ? 1e-2 : dtype == bf16 ? 6e-2 : dtype == f32 ? 2e-5 : 1e-10;
}

void expect_close(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << what;
  ASSERT_EQ(name(actual.dtype()), name(expected.dtype())) << what;
  if (is_complex(actual.dtype())) return;
  const std::vector<double> a = as_doubles(actual);
  const std::vector<double> b = as_doubles(expected);
  double largest = 1;
  for (const double value : b)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    // What is small beside the largest may be a difference of larger ones.
    const double size = std::max({1.0, std::abs(b[i]), 1e-4 * largest});
    ASSERT_NEAR(a[i], b[i], tolerance(expected.dtype()) * size) << what << " element " << i;
  }
}

class EveryRow : public testing::TestWithParam<Operator*> {};

TEST_P(EveryRow, runs_its_samples_on_the_cpu) {
  Operator& op = *GetParam();
  for (Dtype dtype : tried_dtypes(op))
    for (const Sample& sample : samples_of(op, dtype, host_device()))
      EXPECT_NO_THROW(call_boxed(op, sample.args)) << name(dtype) << " " << sample.recipe;
}

// Whatever operator inside finds it.
TEST_P(EveryRow, names_its_own_arguments_where_devices_differ) {
  Operator& op = *GetParam();
  const auto is_argument = [&](std::string_view name) {
    const auto& all = op.schema->arguments;
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return name == each.name; });
  };
  for (const Sample& sample : samples_of(op, usual_dtype_of(op), host_device()))
    for (std::size_t place = 0; place < sample.args.size(); ++place) {
      if (sample.args[place].tag != BP_TENSOR) continue;
      std::vector<bp_value> args = sample.args;
      const Tensor moved =
          to(Tensor::share(TensorImpl::of(args[place].u.tensor)), device("reference"));
      args[place].u.tensor = &moved.impl()->abi;
      try {
        call_boxed(op, args);
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_TRUE(text.starts_with(op.name() + std::string(": "))) << text;
        for (std::size_t at = text.find("' is on "); at != std::string::npos;
             at = text.find("' is on ", at + 1)) {
          const std::size_t from = text.rfind('\'', at - 1) + 1;
          EXPECT_TRUE(is_argument(text.substr(from, at - from)))
              << text << ", with argument " << place << " of " << sample.recipe;
        }
      }
    }
}

// Below the rule, where the ladder would call it. In f32 and f64 no argument needs converting first.
class EveryDecomposition : public EveryRow {};
TEST_P(EveryDecomposition, computes_what_the_kernel_does) {
  Operator& op = *GetParam();
  for (Dtype dtype : {f32, f64}) {
    if (!contains(op.dtypes, dtype) && !contains(op.dtypes, i64)) continue;
    const Dtype taken = contains(op.dtypes, dtype) ? dtype : i64;
    for (const Sample& sample : samples_of(op, taken, host_device())) {
      const std::vector<Tensor> expected = call_boxed(op, sample.args);
      if (expected[0].numel() == 0) continue;
      std::vector<bp_value> args(op.schema->arguments.size());
      for (std::size_t i = 0; i < args.size(); ++i)
        args[i] = i < sample.args.size() ? sample.args[i] : op.schema->arguments[i].default_value;
      std::vector<Tensor> results(expected.size());
      const Call call{op, args.data(), static_cast<std::uint32_t>(args.size()), results.data(),
                      static_cast<std::uint32_t>(results.size())};
      Inferred inferred(call.num_results);
      op.infer(call, inferred);
      if (inferred.fills) continue;
      op.decompose(call);
      for (std::size_t i = 0; i < results.size(); ++i)
        expect_close(results[i], expected[i], std::string(name(dtype)) + " " + sample.recipe);
    }
  }
}

std::string row_name(const testing::TestParamInfo<Operator*>& info) {
  return info.param->name();
}

std::vector<Operator*> decomposed_rows() {
  std::vector<Operator*> found;
  for (Operator* op : rows())
    // What only writes is held against plain loops, in foreach_test.cpp and steps_test.cpp.
    if (op->decompose && op->infer && !op->schema->returns.empty()) found.push_back(op);
  return found;
}

INSTANTIATE_TEST_SUITE_P(table, EveryRow, testing::ValuesIn(rows()), row_name);
INSTANTIATE_TEST_SUITE_P(table, EveryDecomposition, testing::ValuesIn(decomposed_rows()), row_name);

}  // namespace
}  // namespace bp
