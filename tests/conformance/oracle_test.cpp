// needs: cpu
// The oracle: every row of the table runs on it without the host, and in float64 it agrees with the cpu.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensors.hpp>

#include "core_ops/written.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

std::vector<Operator*> table_rows() {
  ensure_operators();
  std::vector<Operator*> found;
  for (Operator* op : registered_operators())
    if (find_row_facts(op->name())) found.push_back(op);
  return found;
}

std::vector<Dtype> dtypes_taken_by(const Operator& op) {
  std::vector<Dtype> taken;
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (contains(op.dtypes, static_cast<Dtype>(i))) taken.push_back(static_cast<Dtype>(i));
  if (taken.empty()) taken.push_back(f32);
  return taken;
}

class OracleRow : public testing::TestWithParam<Operator*> {};

TEST_P(OracleRow, runs_its_samples_without_the_host) {
  Operator& op = *GetParam();
  const PolicyScope alone(Rung::host, Policy::forbid);
  for (const Dtype dtype : dtypes_taken_by(op)) {
    for (const Sample& sample : samples_of(op, dtype, oracle())) {
      try {
        call_boxed(op, sample.args);
      } catch (const Error& error) {
        ADD_FAILURE() << name(dtype) << " " << sample.recipe << ": " << error.what();
      }
    }
  }
}

// Numbers of a tensor as pairs, whatever its dtype.
std::vector<double> doubles_of(const Tensor& a) {
  if (!is_complex(a.dtype())) return to_vector<double>(to(cpu(a), f64));
  const Tensor wide = contiguous(cpu(to(a, complex128)));
  const auto* values = static_cast<const double*>(wide.data_ptr());
  return {values, values + 2 * wide.numel()};
}

// Vectors of factorizations carry the rounding of whole matrices, over the distance between their values.
double share_of_largest(const Operator& op) {
  return has_trait(op.name(), Trait::telling_input) ? 4e-14 : 4e-15;
}

void expect_agreement(const Tensor& a, const Tensor& b, double share, const std::string& what) {
  ASSERT_EQ(to_string(a.shape()), to_string(b.shape())) << what;
  ASSERT_EQ(name(a.dtype()), name(b.dtype())) << what;
  const std::vector<double> x = doubles_of(a), y = doubles_of(b);
  double largest = 0;
  for (const double value : y)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (is_complex(a.dtype()) && !(std::isfinite(x[i]) && std::isfinite(y[i]))) continue;
    ASSERT_NEAR(x[i], y[i], 1e-14 * std::abs(y[i]) + share * largest) << what << " element " << i;
  }
}

TEST_P(OracleRow, agrees_with_the_cpu_in_float64_and_integers) {
  Operator& op = *GetParam();
  if (std::string_view(op.tolerance) == "shape") return;
  for (const Dtype dtype : {f64, complex128, i64, i32, u8, boolean}) {
    if (!contains(op.dtypes, dtype)) continue;
    const std::vector<Sample> here = samples_of(op, dtype, oracle());
    const std::vector<Sample> there = samples_of(op, dtype, host_device());
    for (std::size_t i = 0; i < here.size(); ++i) {
      for (const Device device : {oracle(), host_device()})
        default_generator(device).set_state({7, 0});
      const std::vector<Tensor> a = test::call_for_all(op, here[i].args);
      const std::vector<Tensor> b = test::call_for_all(op, there[i].args);
      ASSERT_EQ(a.size(), b.size()) << here[i].recipe;
      for (std::size_t r = 0; r < a.size(); ++r)
        expect_agreement(a[r], b[r], share_of_largest(op),
                         std::string(name(dtype)) + " " + here[i].recipe);
    }
  }
}

// The known answers of Random123 for a counter and a key of 0.
TEST(Oracle, words_are_those_of_philox) {
  const std::vector<std::uint32_t> words = to_vector<std::uint32_t>(philox({4}, 0, 0, oracle()));
  EXPECT_EQ(words, (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

// The largest distance of the numbers' distribution from `below`, times the root of their count (Kolmogorov, Smirnov).
template <class Below> double distance_from(std::vector<double> values, Below below) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double wanted = below(values[i]), at = static_cast<double>(i);
    most = std::max({most, std::abs(wanted - at / count), std::abs((at + 1) / count - wanted)});
  }
  return most * std::sqrt(count);
}

TEST(Oracle, random_numbers_have_their_distributions) {
  const std::vector<double> uniform = to_vector<double>(rand_philox({20000}, 3, 5, f64, oracle()));
  const std::vector<double> normal = to_vector<double>(randn_philox({20000}, 3, 5, f64, oracle()));
  EXPECT_LT(distance_from(uniform, [](double x) { return x; }), 1.6);
  EXPECT_LT(distance_from(normal, [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }),
            1.6);
  double sum = 0, squares = 0;
  for (const double value : normal) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(squares / 20000, 1, 0.05);
}

std::string oracle_row_name(const testing::TestParamInfo<Operator*>& info) {
  return info.param->name();
}
INSTANTIATE_TEST_SUITE_P(table, OracleRow, testing::ValuesIn(table_rows()), oracle_row_name);

}  // namespace
}  // namespace bp::conform
