// Rows of indices, which are looked at before anything is read or written by them.
#pragma once

#include <atomic>
#include <cstdint>

#include "../constants.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "../tile/indices.hpp"

namespace bp::cpu {

// One row of a walk: `count` elements along the last dimension of the indices.
template <class I> struct IndexRow {
  const I* data;
  int64_t step;
  int64_t operator[](int64_t i) const { return static_cast<int64_t>(data[i * step]); }
};

template <class I> bool are_within(IndexRow<I> indices, int64_t count, int64_t size) {
  if (indices.step == 1) return tile::are_within(indices.data, count, size);
  for (int64_t j = 0; j < count; ++j)
    if (static_cast<uint64_t>(indices[j]) >= static_cast<uint64_t>(size)) return false;
  return true;
}

// Of indices without gaps: in one pass, where rows would be a few elements each.
template <class I> bool all_are_within(const bp_tensor& index, int64_t size) {
  std::atomic<bool> is_bad{false};
  parallel_for(index.numel, 2 * constants::element_grain, [&](int64_t begin, int64_t end) {
    if (!are_within(IndexRow<I>{data_of<I>(index) + begin, 1}, end - begin, size)) is_bad = true;
  });
  return !is_bad;
}

}  // namespace bp::cpu
