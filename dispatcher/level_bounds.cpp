#include "level_bounds.hpp"

#include <algorithm>
#include <iterator>

namespace bp {
namespace {

// By level, from 1.
constexpr bp_dtype_set dtypes_of_level_1 = (bp_dtype_set{1} << (BP_F8_E5M2 + 1)) - 1;
constexpr bp_dtype_set dtypes_of_level[] = {dtypes_of_level_1, dtypes_of_level_1};
static_assert(std::size(dtypes_of_level) == BP_ABI_LEVEL, "a new level says which dtypes it knows");

}  // namespace

bp_arg bounded_by_level(bp_arg declared, std::uint32_t level) {
  const std::uint32_t known = std::clamp(level, 1u, BP_ABI_LEVEL);
  if (declared.dtypes == 0) declared.dtypes = dtypes_of_level[known - 1];
  // Of the host's own layouts, which are all strided; a backend's own have no such bit.
  if (declared.layouts == 0) declared.layouts = BP_LAYOUT_STRIDED;
  if (declared.spaces == 0) declared.spaces = 1;
  return declared;
}

}  // namespace bp
