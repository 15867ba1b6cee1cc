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

HWY_INLINE void store(hn::Vec<Wide> value, uint16_t* to) {
  const Bits d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto near = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  const auto is_nan = hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(Wide(), hn::IsNaN(value))));
  const auto kept = hn::IfThenElse(is_nan, hn::Or(bits, hn::Set(d, 0x400000)), near);
  const auto upper = hn::BitCast(hn::Rebind<int32_t, Wide>(), hn::ShiftRight<16>(kept));
  hn::StoreU(hn::DemoteTo(Narrow(), upper), Narrow(), to);
}

}  // namespace bf16
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
