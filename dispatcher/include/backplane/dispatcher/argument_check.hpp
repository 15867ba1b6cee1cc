// Checks that values from outside, such as from a file, fit an operator's schema, and that outputs fit its results.
#pragma once

#include <span>

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Checks all arguments, given in schema order. Throws bad_argument naming operator, argument and schema.
BP_API void check_arguments(const Operator& op, std::span<const bp_value> args);

// Throws bad_argument unless an output of dtype `output` can hold a result of dtype `result`: the cast must lose nothing,
// and real results must not be written over the complex numbers from which they were computed.
BP_API void check_output_dtype(const Operator& op, Dtype result, Dtype output);

}  // namespace bp
