// A call as a person would write it, and its results as they print.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

namespace bp::test {

// "const Tensor input = tensor({0.5, 1.0});\nneg(input);"
std::string source_of(const Operator& op, std::span<const bp_value> args);
// "tensor([-0.5000, -1.0000])"; several results with their names.
std::string text_of(const Operator& op, const std::vector<Tensor>& results);

}  // namespace bp::test
