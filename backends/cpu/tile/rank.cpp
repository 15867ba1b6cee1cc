#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/rank.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/rank.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A vector of keys at a time against each key. An equal key counts if it stands before.
template <class T> HWY_INLINE void rank(const T* keys, T* ranks, int64_t count) {
  const hn::CappedTag<T, rank_padding> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto bit = [&](auto mask) HWY_ATTR { return hn::VecFromMask(d, mask); };  // -1 where true
  for (int64_t i = 0; i < count; i += lanes) {
    const auto own = hn::LoadU(d, keys + i);
    auto above = hn::Zero(d), below = hn::Zero(d);
    for (int64_t k = 0; k < i; ++k) above = hn::Sub(above, bit(hn::Gt(hn::Set(d, keys[k]), own)));
    const int64_t end = std::min(i + lanes, count);
    const auto places = hn::Iota(d, static_cast<T>(i));
    for (int64_t k = i; k < end; ++k) {
      const auto key = hn::Set(d, keys[k]);
      const auto is_earlier = hn::Gt(places, hn::Set(d, static_cast<T>(k)));
      below = hn::Sub(below, bit(hn::Or(hn::Lt(key, own), hn::And(is_earlier, hn::Eq(key, own)))));
    }
    for (int64_t k = end; k < count; ++k)
      below = hn::Sub(below, bit(hn::Lt(hn::Set(d, keys[k]), own)));
    hn::StoreU(hn::Add(hn::Sub(hn::Set(d, static_cast<T>(i)), above), below), d, ranks + i);
  }
}

}  // namespace

void rank_32(const int32_t* keys, int32_t* ranks, int64_t count) {
  rank(keys, ranks, count);
}
void rank_64(const int64_t* keys, int64_t* ranks, int64_t count) {
  rank(keys, ranks, count);
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(rank_32);
HWY_EXPORT(rank_64);

void rank(const int32_t* keys, int32_t* ranks, int64_t count) {
  HWY_DYNAMIC_DISPATCH(rank_32)(keys, ranks, count);
}
void rank(const int64_t* keys, int64_t* ranks, int64_t count) {
  HWY_DYNAMIC_DISPATCH(rank_64)(keys, ranks, count);
}

}  // namespace bp::cpu::tile
#endif
