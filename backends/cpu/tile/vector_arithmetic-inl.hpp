// Steps of two operands, on vectors of floats.
#if defined(BP_CPU_VECTOR_ARITHMETIC_INL) == defined(HWY_TARGET_TOGGLE)
#  ifdef BP_CPU_VECTOR_ARITHMETIC_INL
#    undef BP_CPU_VECTOR_ARITHMETIC_INL
#  else
#    define BP_CPU_VECTOR_ARITHMETIC_INL
#  endif

#  include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace vector {

struct Add {
  template <class V> static HWY_INLINE V apply(V a, V b) { return hwy::HWY_NAMESPACE::Add(a, b); }
};
struct Sub {
  template <class V> static HWY_INLINE V apply(V a, V b) { return hwy::HWY_NAMESPACE::Sub(a, b); }
};
struct Mul {
  template <class V> static HWY_INLINE V apply(V a, V b) { return hwy::HWY_NAMESPACE::Mul(a, b); }
};
struct Div {
  template <class V> static HWY_INLINE V apply(V a, V b) { return hwy::HWY_NAMESPACE::Div(a, b); }
};
// As in arithmetic.cpp: a NaN wins.
struct Max {
  template <class V> static HWY_INLINE V apply(V a, V b) {
    return hwy::HWY_NAMESPACE::IfThenElse(
        hwy::HWY_NAMESPACE::Or(hwy::HWY_NAMESPACE::Gt(a, b), hwy::HWY_NAMESPACE::IsNaN(a)), a, b);
  }
};
struct Min {
  template <class V> static HWY_INLINE V apply(V a, V b) {
    return hwy::HWY_NAMESPACE::IfThenElse(
        hwy::HWY_NAMESPACE::Or(hwy::HWY_NAMESPACE::Lt(a, b), hwy::HWY_NAMESPACE::IsNaN(a)), a, b);
  }
};

}  // namespace vector
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
