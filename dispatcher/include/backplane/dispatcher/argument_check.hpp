// Do values that come from outside, as from a file, fit an operator's schema?
#pragma once

#include <span>

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// All arguments, in schema order. Throws bad_argument naming operator, argument and schema.
BP_API void check_arguments(const Operator& op, std::span<const bp_value> args);

}  // namespace bp
