// Vectors of f32 from and to bf16 in memory, rounded to nearest even.
#if defined(BP_CPU_BF16_INL) == defined(HWY_TARGET_TOGGLE)
#  ifdef BP_CPU_BF16_INL
#    undef BP_CPU_BF16_INL
#  else
#    define BP_CPU_BF16_INL
#  endif

#  include <cstring>
#  include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace bf16 {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Bits = hn::Rebind<uint32_t, Wide>;
using Narrow = hn::Rebind<uint16_t, Wide>;

HWY_INLINE hn::Vec<Wide> load(const uint16_t* from) {
  const Bits d;
  return hn::BitCast(Wide(), hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(Narrow(), from))));
}

// The bits of `value`, rounded to bf16 in their upper halves; the lower ones are to be dropped.
HWY_INLINE hn::Vec<Bits> rounded(hn::Vec<Wide> value) {
  const Bits d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto near = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  const auto is_nan = hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(Wide(), hn::IsNaN(value))));
  return hn::IfThenElse(is_nan, hn::Or(bits, hn::Set(d, 0x400000)), near);
}

HWY_INLINE void store(hn::Vec<Wide> value, uint16_t* to) {
  const auto upper = hn::BitCast(hn::Rebind<int32_t, Wide>(), hn::ShiftRight<16>(rounded(value)));
  hn::StoreU(hn::DemoteTo(Narrow(), upper), Narrow(), to);
}

// Of numbers that bf16 has: their lower halves are 0, or a NaN's.
HWY_INLINE void store_exact(hn::Vec<Wide> value, uint16_t* to) {
  const auto upper =
      hn::BitCast(hn::Rebind<int32_t, Wide>(), hn::ShiftRight<16>(hn::BitCast(Bits(), value)));
  hn::StoreU(hn::DemoteTo(Narrow(), upper), Narrow(), to);
}
inline bool is_exact(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0xffff) == 0;
}

// Two vectors from and to neighbours in memory, one of the even and one of the odd elements: a third fewer instructions, as nothing
// moves across lanes. Not in Highway's scalar code.
constexpr bool has_pairs = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
struct Pair {
  hn::Vec<Wide> even, odd;
};
#  if HWY_TARGET != HWY_SCALAR
HWY_INLINE Pair load_pair(const uint16_t* from) {
  const Bits d;
  const auto both = hn::BitCast(d, hn::LoadU(hn::Repartition<uint16_t, Wide>(), from));
  return {hn::BitCast(Wide(), hn::ShiftLeft<16>(both)),
          hn::BitCast(Wide(), hn::And(both, hn::Set(d, 0xffff0000u)))};
}
// As `rounded`, of what was computed from numbers of bf16: a NaN of theirs has a bit in its upper half, and is only cut.
HWY_INLINE hn::Vec<Bits> rounded_result(hn::Vec<Wide> value) {
  const Bits d;
  const auto bits = hn::BitCast(d, value);
  const auto half = hn::Add(hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1)), hn::Set(d, 0x7fff));
  return hn::Add(
      bits, hn::BitCast(d, hn::IfThenElseZero(hn::Eq(value, value), hn::BitCast(Wide(), half))));
}
HWY_INLINE void store_halves(hn::Vec<Bits> even, hn::Vec<Bits> odd, uint16_t* to) {
  const hn::Repartition<uint16_t, Wide> narrow;
  const auto low = hn::BitCast(narrow, hn::ShiftRight<16>(even));
  hn::StoreU(hn::OddEven(hn::BitCast(narrow, odd), low), narrow, to);
}
HWY_INLINE void store_pair(Pair pair, uint16_t* to) {
  store_halves(rounded_result(pair.even), rounded_result(pair.odd), to);
}
HWY_INLINE void store_exact_pair(Pair pair, uint16_t* to) {
  const Bits d;
  store_halves(hn::BitCast(d, pair.even), hn::BitCast(d, pair.odd), to);
}
#  else
HWY_INLINE Pair load_pair(const uint16_t*);
HWY_INLINE void store_pair(Pair, uint16_t*);
HWY_INLINE void store_exact_pair(Pair, uint16_t*);
#  endif

}  // namespace bf16
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
