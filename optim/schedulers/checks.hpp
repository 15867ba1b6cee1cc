// What the options of several schedulers must be, given or loaded.
#pragma once

#include <cstdint>
#include <string>

namespace bp::optim {

// Throws bad_argument unless it is from `least` to 2^53, where doubles still count.
void check_count(const std::string& scheduler, const char* name, std::int64_t value,
                 std::int64_t least);
// "cos" or "linear".
void check_strategy(const std::string& scheduler, const std::string& strategy);

}  // namespace bp::optim
