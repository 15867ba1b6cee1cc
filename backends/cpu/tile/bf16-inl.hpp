// Vectors of f32 from and to bf16 in memory, rounded to nearest even.
#if defined(BP_CPU_BF16_INL) == defined(HWY_TARGET_TOGGLE)
#  ifdef BP_CPU_BF16_INL
#    undef BP_CPU_BF16_INL
#  else
#    define BP_CPU_BF16_INL
#  endif

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
HWY_INLINE void store_pair(Pair pair, uint16_t* to) {
  const Bits d;
  const hn::Repartition<uint16_t, Wide> narrow;
  const auto odd = hn::And(rounded(pair.odd), hn::Set(d, 0xffff0000u));
  const auto both = hn::Or(hn::ShiftRight<16>(rounded(pair.even)), odd);
  hn::StoreU(hn::BitCast(narrow, both), narrow, to);
}
#  else
HWY_INLINE Pair load_pair(const uint16_t*);
HWY_INLINE void store_pair(Pair, uint16_t*);
#  endif

}  // namespace bf16
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
