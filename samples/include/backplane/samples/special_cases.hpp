// Results of rows of the table for special values, as docs/add_an_operator.md says: "atan2(-0, n) = -pi".
#pragma once

#include <span>

namespace bp {

struct SpecialCase {
  const char* row;
  const char* text;
};

// In the table's order.
std::span<const SpecialCase> special_cases();

}  // namespace bp
