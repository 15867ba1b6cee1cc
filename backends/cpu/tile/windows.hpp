// The largest elements of many windows at once, as vector code for f32 and f64.
#pragma once

#include <cstdint>
#include <type_traits>

namespace bp::cpu::tile {

// Results are written up to the next multiple.
inline constexpr int64_t window_multiple = 16;

// Windows of one form. What an element is called in a window is its tap.
template <class T> struct Windows {
  using Offset = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  const T* from;
  const Offset* begins;  // of each window, from `from`
  int64_t count;
  const Offset* taps;  // from the begin of a window; at least one
  int64_t num_taps;
  T* largest;     // of each window; NaN is larger than all
  Offset* which;  // the number of its tap, the first of several
};
void find_largest(const Windows<float>& windows);
void find_largest(const Windows<double>& windows);

}  // namespace bp::cpu::tile
