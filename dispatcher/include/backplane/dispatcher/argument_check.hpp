// Do values that come from outside, as from a file, fit an operator's schema, and outputs its results?
#pragma once

#include <span>

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// All arguments, in schema order. Throws bad_argument naming operator, argument and schema.
BP_API void check_arguments(const Operator& op, std::span<const bp_value> args);

// Throws bad_argument unless the output may take a result of `result`: nothing is lost by the cast, and nobody writes real
// numbers in place of the complex ones that they were made of.
BP_API void check_output_dtype(const Operator& op, Dtype result, Dtype output);

}  // namespace bp
