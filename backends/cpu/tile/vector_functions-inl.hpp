// The functions of a table's steps that vector_math-inl.hpp does not have: arcs, tan, powers and logarithms of other bases, fmod. Each is made of the
// pieces there, or of a polynomial that backends/cpu/tile/minimax.py prints.
#if defined(BP_CPU_VECTOR_FUNCTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#  ifdef BP_CPU_VECTOR_FUNCTIONS_INL
#    undef BP_CPU_VECTOR_FUNCTIONS_INL
#  else
#    define BP_CPU_VECTOR_FUNCTIONS_INL
#  endif

#  include <cmath>
#  include <limits>

#  include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {

// A constant and what rounding took from it.
template <class T> struct Split { T high, low; };

template <class T> struct FunctionNumbers;

template <> struct FunctionNumbers<float> {
  static constexpr Split<float> pi = {0x1.921fb6p+1f, -0x1.777a5cp-24f};
  static constexpr Split<float> ln2 = {0x1.62e43p-1f, -0x1.05c61p-29f};
  static constexpr Split<float> log2_e = {0x1.715476p+0f, 0x1.4ae0cp-26f};
  static constexpr Split<float> log10_e = {0x1.bcb7b2p-2f, -0x1.5b235ep-27f};
  static constexpr Split<float> log10_2 = {0x1.344136p-2f, -0x1.ec10cp-27f};
  static constexpr float exp2_lowest = -151, exp2_highest = 129;  // 0 and infinity beyond
  static constexpr float sinh_highest = 90;                       // infinity beyond
  static constexpr float whole_quotients = 0x1p22f;
  static constexpr float atan_terms[] = {
      -0.333333269f,  0.1999967112f,   -0.1427983304f, 0.1105822362f,    -0.08811091184f,
      0.06741596812f, -0.04468993837f, 0.02253986503f, -0.007317955904f, 0.001113788683f};
  static constexpr float asin_terms[] = {0.1666675248f, 0.07495297637f, 0.04547037678f,
                                         0.02417951041f, 0.04216631583f};
  static constexpr float sinh_terms[] = {1.0f / 6, 1.0f / 120, 1.0f / 5040, 1.0f / 362880,
                                         1.0f / 39916800};
};

template <> struct FunctionNumbers<double> {
  static constexpr Split<double> pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
  static constexpr Split<double> ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  static constexpr Split<double> log2_e = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
  static constexpr Split<double> log10_e = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  static constexpr Split<double> log10_2 = {0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59};
  static constexpr double exp2_lowest = -1076, exp2_highest = 1025;
  static constexpr double sinh_highest = 711;
  static constexpr double whole_quotients = 0x1p51;
  static constexpr double atan_terms[] = {
      -0.33333333333333068,    0.199999999999514588,    -0.142857142825750387,
      0.111111110070244777,    -0.0909090700296647398,  0.0769227983904182783,
      -0.0666640405577637288,  0.0588052780514946269,   -0.0525351851564337682,
      0.0472232210526023319,   -0.0421917869792667364,  0.0366419062893012485,
      -0.0299038520496952951,  0.0219848464547017842,   -0.0139005545258364654,
      0.00719649989300159616,  -0.00288491708544532324, 0.000831321475212358296,
      -0.00015216080786174123, 0.0000132250720055900262};
  static constexpr double asin_terms[] = {
      0.166666666666667605,  0.0749999999997079744,  0.0446428571746137163, 0.0303819427077109437,
      0.0223722149893245504, 0.0173516119890344687,  0.0139808207894104109, 0.0113989105650963773,
      0.0107802608761128734, 0.00370638119850540166, 0.0217075091444039973, -0.0209991454001998382,
      0.0326286733576586765};
  static constexpr double exp_terms_of_floats[] = {
      1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  static constexpr double sinh_terms[] = {1.0 / 6,
                                          1.0 / 120,
                                          1.0 / 5040,
                                          1.0 / 362880,
                                          1.0 / 39916800,
                                          1.0 / 6227020800.0,
                                          1.0 / 1307674368000.0,
                                          1.0 / 355687428096000.0,
                                          1.0 / 121645100408832000.0};
};

// The C library's function of each lane, where no vector code is exact enough.
template <class D, class V, class F> HWY_INLINE V lane_by_lane(D d, V a, V b, F scalar) {
  HWY_ALIGN hn::TFromD<D> left[hn::MaxLanes(d)], right[hn::MaxLanes(d)];
  hn::Store(a, d, left);
  hn::Store(b, d, right);
  for (size_t i = 0; i < hn::Lanes(d); ++i) left[i] = scalar(left[i], right[i]);
  return hn::Load(d, left);
}

// share * pi - y
template <class D, class V> HWY_INLINE V from_pi(D d, hn::TFromD<D> share, V y) {
  using N = FunctionNumbers<hn::TFromD<D>>;
  return hn::Sub(hn::Set(d, share * N::pi.high), hn::Sub(y, hn::Set(d, share * N::pi.low)));
}

// For t from 0 to 1.
template <class D, class V> HWY_INLINE V atan_of_unit(D d, V t) {
  const V z = hn::Mul(t, t);
  return hn::MulAdd(hn::Mul(t, z), polynomial(d, z, FunctionNumbers<hn::TFromD<D>>::atan_terms), t);
}

template <class D, class V> HWY_INLINE V atan(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, 1), size = hn::Abs(x);
  const auto inverts = hn::Gt(size, one);
  const V t = hn::Div(hn::IfThenElse(inverts, one, size), hn::IfThenElse(inverts, size, one));
  const V y = atan_of_unit(d, t);
  return hn::CopySign(hn::IfThenElse(inverts, from_pi(d, T(0.5), y), y), x);
}

template <class D, class V> HWY_INLINE V atan2(D d, V y, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, 1), zero = hn::Zero(d), high = hn::Abs(y), wide = hn::Abs(x);
  const auto is_steep = hn::Gt(high, wide);
  const V over = hn::IfThenElse(is_steep, wide, high), under = hn::IfThenElse(is_steep, high, wide);
  const V if_equal = hn::IfThenElse(hn::Eq(under, zero), zero, one);  // also of infinities
  const V t = hn::IfThenElse(hn::Eq(over, under), if_equal, hn::Div(over, under));
  V angle = atan_of_unit(d, t);
  angle = hn::IfThenElse(is_steep, from_pi(d, T(0.5), angle), angle);
  const auto is_left = hn::Lt(hn::CopySign(one, x), zero);
  return hn::CopySign(hn::IfThenElse(is_left, from_pi(d, T(1), angle), angle), y);
}

// asin of |x| up to 0.5; beyond, of sqrt((1 - |x|) / 2), whose double is what |x|'s lacks of pi / 2. In two parts.
template <class V> struct Arc { V sine, rest; };
template <class D, class V, class M> HWY_INLINE Arc<V> asin_of_half(D d, V size, M is_beyond) {
  using T = hn::TFromD<D>;
  const V half = hn::Set(d, T(0.5));
  const V z = hn::IfThenElse(is_beyond, hn::NegMulAdd(size, half, half), hn::Mul(size, size));
  const V s = hn::IfThenElse(is_beyond, hn::Sqrt(z), size);
  return {s, hn::Mul(hn::Mul(s, z), polynomial(d, z, FunctionNumbers<T>::asin_terms))};
}

// share * pi - 2 * arc
template <class D, class V> HWY_INLINE V twice_from_pi(D d, hn::TFromD<D> share, Arc<V> arc) {
  using N = FunctionNumbers<hn::TFromD<D>>;
  const V two = hn::Set(d, 2);
  return hn::Add(hn::NegMulAdd(two, arc.sine, hn::Set(d, share * N::pi.high)),
                 hn::NegMulAdd(two, arc.rest, hn::Set(d, share * N::pi.low)));
}

template <class D, class V> HWY_INLINE V asin(D d, V x) {
  using T = hn::TFromD<D>;
  const V size = hn::Abs(x);
  const auto is_beyond = hn::Gt(size, hn::Set(d, T(0.5)));
  const Arc<V> arc = asin_of_half(d, size, is_beyond);
  const V near = hn::Add(arc.sine, arc.rest);
  return hn::CopySign(hn::IfThenElse(is_beyond, twice_from_pi(d, T(0.5), arc), near), x);
}

template <class D, class V> HWY_INLINE V acos(D d, V x) {
  using T = hn::TFromD<D>;
  const V size = hn::Abs(x);
  const auto is_beyond = hn::Gt(size, hn::Set(d, T(0.5)));
  const Arc<V> arc = asin_of_half(d, size, is_beyond);
  const V y = hn::Add(arc.sine, arc.rest);
  const V beyond =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), twice_from_pi(d, T(1), arc), hn::Add(y, y));
  return hn::IfThenElse(is_beyond, beyond, from_pi(d, T(0.5), hn::CopySign(y, x)));
}

template <class D, class V> HWY_INLINE V tan(D d, V x) {
  using T = hn::TFromD<D>;
  if (HWY_UNLIKELY(!is_bounded(d, x)))
    return lane_by_lane(d, x, x, [](T a, T) { return std::tan(a); });
  const auto turned = turn(d, x);
  const auto odd = is_odd(d, turned.quadrant);
  const V over = hn::IfThenElse(odd, hn::Neg(turned.cosine), turned.sine);
  const V under = hn::IfThenElse(odd, turned.sine, turned.cosine);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Div(over, under));
}

template <class D, class V> HWY_INLINE V exp2(D d, V x) {
  using T = hn::TFromD<D>;
  using N = FunctionNumbers<T>;
  const V bounded = at_most(d, at_least(d, x, N::exp2_lowest), N::exp2_highest);
  const V n = hn::Round(bounded);
  const V rest = hn::Sub(bounded, n), ln2 = hn::Set(d, N::ln2.high);
  const V r = hn::Mul(rest, ln2);
  const V lost = hn::MulAdd(rest, hn::Set(d, N::ln2.low), hn::MulSub(rest, ln2, r));
  const V p = hn::Add(hn::MulAdd(hn::Mul(r, r), polynomial(d, r, Numbers<T>::exp_terms), lost), r);
  return scale(d, hn::Add(p, hn::Set(d, 1)), n);
}

// Logarithms of positive normal numbers times `factor`, the factor times ln 2 being `of_two`.
template <class D, class V>
HWY_INLINE V log_of_normal_times(D d, V x, V extra_exponent, Split<hn::TFromD<D>> factor,
                                 Split<hn::TFromD<D>> of_two) {
  const auto parts = log_parts(d, x, extra_exponent);
  const V whole = hn::Sub(parts.f, parts.half_square);
  const V lost = hn::Sub(hn::Sub(parts.f, whole), parts.half_square);
  const V low = hn::Add(lost, parts.rest), by = hn::Set(d, factor.high);
  const V small = hn::MulAdd(parts.k, hn::Set(d, of_two.low), hn::Mul(low, by));
  const V rest = hn::MulAdd(whole, hn::Set(d, factor.low), small);
  return hn::MulAdd(parts.k, hn::Set(d, of_two.high), hn::MulAdd(whole, by, rest));
}

template <class D, class V>
HWY_INLINE V log_times(D d, V x, Split<hn::TFromD<D>> factor, Split<hn::TFromD<D>> of_two) {
  V exponent;
  const V normal = without_denormals(d, x, exponent);
  return log_specials(d, x, log_of_normal_times(d, normal, exponent, factor, of_two));
}

template <class D, class V> HWY_INLINE V log2(D d, V x) {
  return log_times(d, x, FunctionNumbers<hn::TFromD<D>>::log2_e, {1, 0});
}

template <class D, class V> HWY_INLINE V log10(D d, V x) {
  using N = FunctionNumbers<hn::TFromD<D>>;
  return log_times(d, x, N::log10_e, N::log10_2);
}

// e^x / 2 for x from 0 on, which is finite wherever sinh is.
template <class D, class V> HWY_INLINE V half_of_exp(D d, V x) {
  using T = hn::TFromD<D>;
  V n, n_with_magic;
  const V r = reduce_by_ln2(d, at_most(d, x, FunctionNumbers<T>::sinh_highest), n, n_with_magic);
  const V p = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, Numbers<T>::exp_terms), r);
  const V one = hn::Set(d, 1);
  return scale(d, hn::Add(p, one), hn::Sub(n, one));
}

template <class D, class V> HWY_INLINE V sinh(D d, V x) {
  using T = hn::TFromD<D>;
  const V size = hn::Abs(x), z = hn::Mul(x, x), up = half_of_exp(d, size);
  const V near =
      hn::MulAdd(hn::Mul(size, z), polynomial(d, z, FunctionNumbers<T>::sinh_terms), size);
  const V far = hn::Sub(up, hn::Div(hn::Set(d, T(0.25)), up));
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 1)), near, far), x);
}

template <class D, class V> HWY_INLINE V cosh(D d, V x) {
  const V up = half_of_exp(d, hn::Abs(x));
  return hn::Add(up, hn::Div(hn::Set(d, hn::TFromD<D>(0.25)), up));
}

// Whether MulAdd rounds once: the vector code of fmod is exact only then.
#  if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE2 || \
      HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
inline constexpr bool has_fused_products = false;
#  else
inline constexpr bool has_fused_products = true;
#  endif

// Exact: the quotient, truncated, is one too large at most, so that what remains is a number of the type or |b| below one.
template <class D, class V> HWY_INLINE V fmod(D d, V a, V b) {
  using T = hn::TFromD<D>;
  const V size = hn::Abs(a), by = hn::Abs(b), quotient = hn::Div(size, by);
  const V limit = hn::Set(d, FunctionNumbers<T>::whole_quotients);
  if (!has_fused_products || HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(quotient, limit))))
    return lane_by_lane(d, a, b, [](T x, T y) { return std::fmod(x, y); });
  const V rest = hn::NegMulAdd(hn::Floor(quotient), by, size);
  const V above = hn::IfThenElse(hn::Lt(rest, hn::Zero(d)), hn::Add(rest, by), rest);
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, by), size, above), a);  // `by` may be infinity
}

// What is not an ordinary power, as C's function has it: `y` is 2^(b * log2(|a|)), where those give a number.
template <class D, class V> HWY_INLINE V pow_specials(D d, V a, V b, V y) {
  const V one = hn::Set(d, 1), zero = hn::Zero(d), size = hn::Abs(a);
  const V inf = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
  const V half = hn::Mul(b, hn::Set(d, hn::TFromD<D>(0.5)));
  const auto is_whole = hn::Eq(hn::Round(b), b);
  const auto is_odd = hn::AndNot(hn::Eq(hn::Round(half), half), is_whole);
  V result = hn::IfThenElse(hn::Eq(size, one), one, y);  // also to the power of infinity
  result = hn::IfThenElse(is_odd, hn::CopySign(result, a), result);
  const auto has_power = hn::Or(is_whole, hn::Or(hn::Ge(a, zero), hn::Eq(size, inf)));
  result = hn::IfThenElse(has_power, result, nan);
  return hn::IfThenElse(hn::Or(hn::Eq(a, one), hn::Eq(b, zero)), one, result);
}

// a^b for what was f32, computed in f64 to 2^-36 at least: b * log2(|a|) takes eight bits of that.
template <class D, class V> HWY_INLINE V pow_of_floats(D d, V a, V b) {
  using N = FunctionNumbers<double>;
  const V zero = hn::Zero(d), size = hn::Abs(a);
  const V inf = hn::Set(d, std::numeric_limits<double>::infinity());
  const bool all_ordinary =
      hn::AllTrue(d, hn::And(hn::Gt(a, zero), hn::And(hn::Lt(a, inf), hn::Lt(hn::Abs(b), inf))));
  const auto parts = log_parts(d, size, zero);
  const V log_of_rest = hn::Sub(parts.f, hn::Sub(parts.half_square, parts.rest));
  V log2_of_size = hn::MulAdd(log_of_rest, hn::Set(d, N::log2_e.high), parts.k);
  if (HWY_UNLIKELY(!all_ordinary)) log2_of_size = log_specials(d, size, log2_of_size);
  const V power = hn::Mul(b, log2_of_size);
  const V bounded = at_most(d, at_least(d, power, N::exp2_lowest), N::exp2_highest);
  const V n = hn::Round(bounded);
  const V r = hn::Mul(hn::Sub(bounded, n), hn::Set(d, N::ln2.high));
  const V p = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, N::exp_terms_of_floats), r);
  V result = scale(d, hn::Add(p, hn::Set(d, 1)), n);
  if (HWY_UNLIKELY(!all_ordinary)) result = pow_specials(d, a, b, result);
  return hn::IfThenElse(hn::Eq(b, hn::Set(d, 2)), hn::Mul(a, a), result);  // as Pow's short way
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
