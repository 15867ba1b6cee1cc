// Parts of lines, for scans that join each element with one a step before it, over steps that double.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

inline Tensor all_but_first(const Tensor& input, std::int64_t along, std::int64_t count) {
  return narrow(input, along, count, input.size(along) - count);
}
inline Tensor all_but_last(const Tensor& input, std::int64_t along, std::int64_t count) {
  return narrow(input, along, 0, input.size(along) - count);
}
// `later` behind the first elements of `input`, which stay.
inline Tensor behind_first(const Tensor& input, std::int64_t along, std::int64_t count,
                           const Tensor& later) {
  return cat({narrow(input, along, 0, count), later}, along);
}

}  // namespace bp
