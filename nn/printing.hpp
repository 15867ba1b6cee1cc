// How text of modules is put together.
#pragma once

#include <string>
#include <vector>

#include <backplane/nn/module.hpp>

namespace bp::nn {

// "Name()", or the lines in between, indented.
std::string in_parentheses(const std::string& name, const std::vector<std::string>& lines);
// "(0): entry" for each, and "(1-3): 3 x entry" for equal ones in a row.
std::vector<std::string> folded(const std::vector<std::string>& entries);
// Its type's, with "Parametrized" before it if a member is computed.
std::string printed_name(const Module& module);

}  // namespace bp::nn
