// Arguments of windows: lists in which one element holds for all dimensions.
#pragma once

#include "checks.hpp"

namespace bp {

inline std::int64_t of_dim(IntList list, std::size_t dim) {
  return list[list.size() == 1 ? 0 : dim];
}

// Of a pool along one dimension; 0 if none fits. With ceil_mode one that ends outside counts, if it begins before
// the padding behind.
inline std::int64_t num_pool_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                                     std::int64_t padding, std::int64_t dilation, bool ceil_mode) {
  const std::int64_t room =
      size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  const std::int64_t count = room < 0 ? 0 : room / stride + 1;
  return ceil_mode && (count - 1) * stride >= size + padding ? count - 1 : count;
}

namespace rules {

// Beyond it the arithmetic of windows would leave 64 bits.
constexpr std::int64_t most_of_windows = std::int64_t{1} << 31;

// Throws unless the list has one element or one for each of `rank` dimensions, all at least `least`.
inline void check_per_dim(const Call& call, std::string_view what, IntList list, std::size_t rank,
                          std::int64_t least) {
  BP_CHECK(list.size() == 1 || list.size() == rank,
           "{}: {} {} has {} elements for {} dimensions; give one, or one for each", call.op.name(),
           what, bp::to_string(list), list.size(), rank);
  for (std::int64_t value : list)
    BP_CHECK(value >= least && value <= most_of_windows,
             "{}: {} {} has {}; it must be at least {} and at most 2^31", call.op.name(), what,
             bp::to_string(list), value, least);
}

}  // namespace rules
}  // namespace bp
