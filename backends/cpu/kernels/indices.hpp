// Rows of indices, which are looked at before anything is read or written by them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../constants.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"

namespace bp::cpu {

// One row of a walk: `count` elements along the last dimension of the indices.
template <class I> struct IndexRow {
  const I* data;
  int64_t step;
  int64_t operator[](int64_t i) const { return static_cast<int64_t>(data[i * step]); }
};

// One outside makes itself, or what is left up to the last, negative: their sign bits together tell of all.
template <class I> bool are_within(IndexRow<I> indices, int64_t count, int64_t size) {
  using Bits = std::make_unsigned_t<I>;
  constexpr int64_t most = std::numeric_limits<I>::max();
  const auto last = static_cast<Bits>(std::min(size - 1, most));
  Bits seen = 0;
  const auto take = [&](I value) {
    seen |= static_cast<Bits>(value) | (last - static_cast<Bits>(value));
  };
  if (indices.step == 1) {
    for (int64_t j = 0; j < count; ++j) take(indices.data[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) take(indices.data[j * indices.step]);
  }
  return count == 0 || static_cast<I>(seen) >= 0;
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
