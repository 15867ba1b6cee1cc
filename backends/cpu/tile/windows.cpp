#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/windows.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/windows.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// `load(tap)` gives that element of every window.
template <class T, class D, class Load>
HWY_INLINE void find_in_vector(const Windows<T>& w, D d, int64_t window, const Load& load) {
  const hn::RebindToSigned<D> numbers;
  auto best = load(0);
  auto which = hn::Zero(numbers);
  for (int64_t tap = 1; tap < w.num_taps; ++tap) {
    const auto each = load(tap);
    const auto taken = hn::AndNot(hn::Le(each, best), hn::Eq(best, best));
    best = hn::IfThenElse(taken, each, best);
    const auto number = hn::Set(numbers, static_cast<typename Windows<T>::Offset>(tap));
    which = hn::IfThenElse(hn::RebindMask(numbers, taken), number, which);
  }
  hn::StoreU(best, d, w.largest + window);
  hn::StoreU(which, numbers, w.which + window);
}

// `begins` are as many as a vector has lanes.
template <class T, class D>
HWY_INLINE void find_windows(const Windows<T>& w, D d, int64_t window,
                             const typename Windows<T>::Offset* begins) {
  const hn::RebindToSigned<D> offsets;
  const auto places = hn::LoadU(offsets, begins);
  const auto side_by_side = hn::Iota(offsets, begins[0]);
  if (hn::AllTrue(offsets, hn::Eq(places, side_by_side))) {
    const T* const from = w.from + begins[0];
    find_in_vector(w, d, window, [&](int64_t tap) { return hn::LoadU(d, from + w.taps[tap]); });
  } else {
    find_in_vector(w, d, window,
                   [&](int64_t tap) { return hn::GatherIndex(d, w.from + w.taps[tap], places); });
  }
}

template <class T> void find(const Windows<T>& w) {
  const hn::CappedTag<T, window_multiple> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t window = 0;
  for (; window + lanes <= w.count; window += lanes) find_windows(w, d, window, w.begins + window);
  if (window == w.count) return;
  // What lies behind the last may not be memory.
  typename Windows<T>::Offset begins[window_multiple];
  std::fill_n(begins, window_multiple, w.begins[window]);
  std::copy(w.begins + window, w.begins + w.count, begins);
  find_windows(w, d, window, begins);
}

void find_largest_f32(const Windows<float>& windows) {
  find(windows);
}
void find_largest_f64(const Windows<double>& windows) {
  find(windows);
}

}  // namespace
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(find_largest_f32);
HWY_EXPORT(find_largest_f64);

void find_largest(const Windows<float>& windows) {
  HWY_DYNAMIC_DISPATCH(find_largest_f32)(windows);
}
void find_largest(const Windows<double>& windows) {
  HWY_DYNAMIC_DISPATCH(find_largest_f64)(windows);
}

}  // namespace bp::cpu::tile
#endif
