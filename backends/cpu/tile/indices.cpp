#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/indices.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>
#include <type_traits>

#include "tile/indices.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One outside makes itself, or what is left up to the last, negative: their sign bits together tell of all.
template <class I> bool within(const I* indices, int64_t count, int64_t size) {
  using Bits = std::make_unsigned_t<I>;
  constexpr int64_t most = std::numeric_limits<I>::max();
  if (count == 0) return true;
  if (size <= 0) return false;
  const auto last = static_cast<I>(std::min(size - 1, most));
  const hn::ScalableTag<I> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lasts = hn::Set(d, last);
  const auto sign_of = [&](const I* at) HWY_ATTR {
    const auto index = hn::LoadU(d, at);
    return hn::Or(index, hn::Sub(lasts, index));
  };
  auto even = hn::Zero(d), odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = hn::Or(even, sign_of(indices + i));
    odd = hn::Or(odd, sign_of(indices + i + lanes));
  }
  Bits rest = 0;
  for (; i < count; ++i) {
    const auto index = static_cast<Bits>(indices[i]);
    rest |= index | (static_cast<Bits>(last) - index);
  }
  return static_cast<I>(rest) >= 0 && hn::AllFalse(d, hn::Lt(hn::Or(even, odd), hn::Zero(d)));
}

}  // namespace

bool within_i32(const int32_t* indices, int64_t count, int64_t size) {
  return within(indices, count, size);
}
bool within_i64(const int64_t* indices, int64_t count, int64_t size) {
  return within(indices, count, size);
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(within_i32);
HWY_EXPORT(within_i64);

bool are_within(const int32_t* indices, int64_t count, int64_t size) {
  return HWY_DYNAMIC_DISPATCH(within_i32)(indices, count, size);
}
bool are_within(const int64_t* indices, int64_t count, int64_t size) {
  return HWY_DYNAMIC_DISPATCH(within_i64)(indices, count, size);
}

}  // namespace bp::cpu::tile
#endif
