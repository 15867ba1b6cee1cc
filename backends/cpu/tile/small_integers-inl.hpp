// Integers of 64 bits between -2^51 and 2^51 from and to f64, exactly, in loops that become vectors: AVX2 has no instruction for it.
#if defined(BP_CPU_SMALL_INTEGERS_INL) == defined(HWY_TARGET_TOGGLE)
#  ifdef BP_CPU_SMALL_INTEGERS_INL
#    undef BP_CPU_SMALL_INTEGERS_INL
#  else
#    define BP_CPU_SMALL_INTEGERS_INL
#  endif

#  include <bit>
#  include <cstdint>
#  include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {

constexpr int64_t small_limit = int64_t{1} << 51;
// The bits of 1.5 * 2^52 plus such a number are those of the sum.
constexpr int64_t magic_bits = 0x4338000000000000;
constexpr double magic = 0x1.8p52;

HWY_INLINE double small_to_f64(int64_t value) {
  return std::bit_cast<double>(value + magic_bits) - magic;
}
// Of a whole number.
HWY_INLINE int64_t small_from_f64(double whole) {
  return std::bit_cast<int64_t>(whole + magic) - magic_bits;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
