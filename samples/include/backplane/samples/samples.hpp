// Arguments for each row of the table, made by its recipes: what tools and tests run operators on.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// One call of an operator. `args` point into the other members, so a sample moves but is not copied.
struct Sample {
  std::string recipe;
  std::vector<bp_value> args;  // in schema order; those left out at the end have defaults
  std::vector<Tensor> tensors;
  std::deque<std::vector<std::int64_t>> lists;
  std::deque<std::vector<const bp_tensor*>> tensor_lists;

  Sample() = default;
  Sample(Sample&&) = default;
  Sample& operator=(Sample&&) = default;
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
};

// All samples of a row, with tensors of `dtype` on `device` where the operator's meaning leaves the
// choice. The values depend on the recipe and `variant` alone. Empty for operators that are not of the table.
// Throws bad_argument for a recipe that is unknown for this operator.
std::vector<Sample> samples_of(const Operator& op, Dtype dtype, Device device,
                               std::uint32_t variant = 0);

// float32, or a dtype of those that the row takes: one for a test that needs any.
Dtype usual_dtype_of(const Operator& op);

}  // namespace bp
