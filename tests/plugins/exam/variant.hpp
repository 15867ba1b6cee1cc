// Which fault and which benign variant this process asked for: BACKPLANE_EXAM_FAULT and BACKPLANE_EXAM_VARIANT.
#pragma once

#include <string_view>

namespace exam {

bool fault_is(std::string_view name);
bool variant_is(std::string_view name);
std::string_view fault();

}  // namespace exam
