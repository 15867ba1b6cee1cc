// What stands before a kernel, so that one text means the same in every language.
#pragma once

#include <string>
#include <string_view>

#include "dialect/dialect.hpp"

namespace bp::codegen {

// Types, GLOBAL, DEVICE and, of the functions and types of the dialect, those that occur in `text`.
std::string prelude(Language language, std::string_view text);

}  // namespace bp::codegen
