// exp, log, sin ... of vectors of f32 and f64, for math.cpp and softmax. Included once for each
// instruction set, after hwy/highway.h; errors and special values are held by math_test.cpp.
#if defined(BP_CPU_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#  ifdef BP_CPU_VECTOR_MATH_INL
#    undef BP_CPU_VECTOR_MATH_INL
#  else
#    define BP_CPU_VECTOR_MATH_INL
#  endif

#  include <cmath>
#  include <cstdint>
#  include <hwy/highway.h>
#  include <limits>

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What differs between the types. ln2 is split so that n * ln2_high is exact; the logarithm's
// polynomial and pi/2's first parts for f64 are FreeBSD msun's, the sine's for f32 Cephes'.
template <class T> struct Numbers;

template <> struct Numbers<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr float round_magic = 0x1.8p23f;  // adding it leaves the integer in the low bits
  static constexpr float ln2_high = 6.9313812256e-01f, ln2_low = 9.0580006145e-06f;
  static constexpr float exp_lowest = -104.0f, exp_highest = 89.0f;  // 0 and infinity beyond
  // e^r = 1 + r + r^2 * p(r) within 0.06 ULP for |r| <= ln2 / 2.
  static constexpr float exp_terms[] = {0.4999999403953552f, 0.1666652113199234f,
                                        0.04166838899254799f, 0.00836874544620514f,
                                        0.001381453825160861f};
  static constexpr float log_terms[] = {0.66666662693f, 0.40000972152f, 0.28498786688f,
                                        0.24279078841f};
  static constexpr float expm1_saturates = 17.5f;  // e^-x - 1 is -1 from here on
  static constexpr float denormal_scale = 0x1p25f, denormal_steps = 25.0f;
  static constexpr float tiny = 0x1p-26f;
  // pi/2 in parts of 11 bits: n * part is exact for n < 2^13.
  static constexpr float pi_half[] = {0x1.92p+0f, 0x1.fbp-12f, 0x1.51p-22f, 0x1.0b4612p-34f};
  static constexpr float trig_limit = 1e4f;
  static constexpr float sin_terms[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
  static constexpr float cos_terms[] = {4.166664568298827e-2f, -1.388731625493765e-3f,
                                        2.443315711809948e-5f};
  // erf(x) = x * over(x^2) / under(x^2) within 0.4 ULP; beyond, it is 1.
  static constexpr float erf_saturates = 3.925f;
  static constexpr float erf_over_terms[] = {1.128379146f,   0.1905821946f,    0.05276758512f,
                                             0.00377200633f, 0.0002848233635f, 2.046010884e-6f};
  static constexpr float erf_under_terms[] = {1.0f,           0.5022318055f,   0.114177777f,
                                              0.01498211191f, 0.001163711294f, 3.804655169e-5f};
};

template <> struct Numbers<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr double round_magic = 0x1.8p52;
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr double exp_lowest = -746.0, exp_highest = 710.0;
  static constexpr double exp_terms[] = {1.0 / 2,        1.0 / 6,         1.0 / 24,
                                         1.0 / 120,      1.0 / 720,       1.0 / 5040,
                                         1.0 / 40320,    1.0 / 362880,    1.0 / 3628800,
                                         1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  static constexpr double log_terms[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                         2.857142874366239149e-01, 2.222219843214978396e-01,
                                         1.818357216161805012e-01, 1.531383769920937332e-01,
                                         1.479819860511658591e-01};
  static constexpr double expm1_saturates = 38.0;
  static constexpr double denormal_scale = 0x1p54, denormal_steps = 54.0;
  static constexpr double tiny = 0x1p-55;
  // Parts of 33 bits: exact for n < 2^20.
  static constexpr double pi_half[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                       2.02226624871116645580e-21, 8.47842766036889956997e-32};
  static constexpr double trig_limit = 1e5;
  static constexpr double sin_terms[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                         -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                         -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static constexpr double cos_terms[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                         2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                         2.08757232129817482790e-09, -1.13596475577881948265e-11};
  // erf(x) = x + x * p(x^2) up to 1, and 1 - exp(-x^2) * q(x - 2) beyond; here it becomes 1.
  static constexpr double erf_saturates = 6.0;
  static constexpr double erf_near_terms[] = {
      0.12837916709551256,     -0.37612638903183548,    0.11283791670945253,
      -0.026866170643276219,   0.0052239776074234677,   -0.00085483259896967576,
      0.00012055295320494294,  -1.4924744663335489e-05, 1.6447517677871873e-06,
      -1.6209175911748696e-07, 1.3722976265924504e-08,  -7.8011888740977512e-10};
  static constexpr double erf_far_terms[] = {
      0.2553956763105053,      -0.10679646185349624,    0.041802752603568138,
      -0.015460637763884013,   0.0054407385371499674,   -0.0018316642813880674,
      0.00059246999369226626,  -0.0001847783360808848,  5.572833370678997e-05,
      -1.6293806644732256e-05, 4.6281213758257969e-06,  -1.2793761751512986e-06,
      3.4492467051587662e-07,  -9.0894171441109763e-08, 2.3303675664509087e-08,
      -5.7723034263217559e-09, 1.4433554371191851e-09,  -3.8726765166473301e-10,
      9.5708399635536227e-11,  -1.5814607556182558e-11, 1.1724630307506614e-12};
};

// a / b for b from 1 to 200, within 0.6 ULP. AVX-512's approximation and one step of Newton's method take half
// the time of its division.
template <class D, class V> HWY_INLINE V divide_bounded(D d, V a, V b) {
#  if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V inverse = hn::ApproximateReciprocal(b);
    const V quotient = hn::Mul(a, inverse);
    return hn::MulAdd(hn::NegMulAdd(quotient, b, a), inverse, quotient);
  }
#  endif
  (void)d;
  return hn::Div(a, b);
}

// The lowest term first.
template <class D, class V, int count>
HWY_INLINE V polynomial(D d, V x, const hn::TFromD<D> (&terms)[count]) {
  V sum = hn::Set(d, terms[count - 1]);
  for (int i = count - 2; i >= 0; --i) sum = hn::MulAdd(sum, x, hn::Set(d, terms[i]));
  return sum;
}

// 2^n for an integral n within the exponents of normal numbers, given n + round_magic.
template <class D, class V> HWY_INLINE V power_of_two_with_magic(D d, V n) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const auto shifted = hn::ShiftLeft<Numbers<T>::mantissa_bits>(hn::BitCast(du, n));
  return hn::BitCast(d, hn::Add(shifted, hn::BitCast(du, hn::Set(d, T{1}))));
}

template <class D, class V> HWY_INLINE V power_of_two(D d, V n) {
  return power_of_two_with_magic(d, hn::Add(n, hn::Set(d, Numbers<hn::TFromD<D>>::round_magic)));
}

// p * 2^n, rounded once: in two steps, since 2^n may not be a normal number.
template <class D, class V> HWY_INLINE V scale(D d, V p, V n) {
#  if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(V) == 64 && sizeof(hn::TFromD<D>) == 4)
    return V{_mm512_scalef_ps(p.raw, n.raw)};
  if constexpr (sizeof(V) == 64 && sizeof(hn::TFromD<D>) == 8)
    return V{_mm512_scalef_pd(p.raw, n.raw)};
#  endif
  const V half = hn::Round(hn::Mul(n, hn::Set(d, hn::TFromD<D>(0.5))));
  return hn::Mul(hn::Mul(p, power_of_two(d, half)), power_of_two(d, hn::Sub(n, half)));
}

// x = n * ln2 + r with |r| <= ln2 / 2, for |n| far below round_magic, which is added to n.
template <class D, class V> HWY_INLINE V reduce_by_ln2(D d, V x, V& n, V& n_with_magic) {
  using T = hn::TFromD<D>;
  using N = Numbers<T>;
  const V magic = hn::Set(d, N::round_magic);
  n_with_magic = hn::MulAdd(x, hn::Set(d, T(1.44269504088896340736)), magic);
  n = hn::Sub(n_with_magic, magic);
  const V r = hn::NegMulAdd(n, hn::Set(d, N::ln2_high), x);
  return hn::NegMulAdd(n, hn::Set(d, N::ln2_low), r);
}

// x, or a bound beyond it. A NaN stays: x86's instructions give their second operand then, and Arm's the
// NaN.
template <class D, class V> HWY_INLINE V at_most(D d, V x, hn::TFromD<D> bound) {
#  if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, bound)), hn::Set(d, bound), x);
#  else
  return hn::Min(hn::Set(d, bound), x);
#  endif
}
template <class D, class V> HWY_INLINE V at_least(D d, V x, hn::TFromD<D> bound) {
#  if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, bound)), hn::Set(d, bound), x);
#  else
  return hn::Max(hn::Set(d, bound), x);
#  endif
}

// e^x for x up to exp_highest.
template <class D, class V> HWY_INLINE V exp_bounded(D d, V x) {
  using N = Numbers<hn::TFromD<D>>;
  V n, n_with_magic;
  const V r = reduce_by_ln2(d, at_least(d, x, N::exp_lowest), n, n_with_magic);
  const V p = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, N::exp_terms), r);
  return scale(d, hn::Add(p, hn::Set(d, 1)), n);
}

template <class D, class V> HWY_INLINE V exp(D d, V x) {
  return exp_bounded(d, at_most(d, x, Numbers<hn::TFromD<D>>::exp_highest));
}

// e^x - 1 for x between -expm1_saturates and the largest whose e^x is finite.
template <class D, class V> HWY_INLINE V expm1_bounded(D d, V x) {
  using N = Numbers<hn::TFromD<D>>;
  V n, n_with_magic;
  const V r = reduce_by_ln2(d, x, n, n_with_magic);
  const V p = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, N::exp_terms), r);
  const V two_to_n = power_of_two_with_magic(d, n_with_magic);
  return hn::MulAdd(two_to_n, p, hn::Sub(two_to_n, hn::Set(d, 1)));
}

template <class D, class V> HWY_INLINE V expm1(D d, V x) {
  using T = hn::TFromD<D>;
  using N = Numbers<T>;
  V n, n_with_magic;
  const V bounded = at_most(d, at_least(d, x, -N::expm1_saturates - 1), N::exp_highest);
  const V r = reduce_by_ln2(d, bounded, n, n_with_magic);
  const V p = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, N::exp_terms), r);
  // Half of it first: 2^n alone may be beyond the largest number.
  const V half_power = power_of_two_with_magic(d, hn::Sub(n_with_magic, hn::Set(d, 1)));
  const V half = hn::MulAdd(half_power, p, hn::Sub(half_power, hn::Set(d, T(0.5))));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, N::tiny)), x, hn::Add(half, half));
}

// -(e^-2|x| - 1) / (e^-2|x| + 1): no cancellation near 0, no overflow, no branch.
template <class D, class V> HWY_INLINE V tanh(D d, V x) {
  using T = hn::TFromD<D>;
  const V a = at_most(d, hn::Abs(x), Numbers<T>::expm1_saturates / 2 + 1);
  const V e = expm1_bounded(d, hn::Mul(a, hn::Set(d, T(-2))));
  return hn::CopySign(divide_bounded(d, e, hn::Add(e, hn::Set(d, T(2)))), x);
}

template <class D, class V> HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  const V e = exp(d, hn::Neg(hn::Abs(x)));  // never overflows
  return divide_bounded(d, hn::IfThenElse(hn::Ge(x, hn::Zero(d)), one, e), hn::Add(one, e));
}

// One fraction for all f32, of least error (Remez): 6 ULP at most, where its polynomials' roundings meet, at
// half the time of the two polynomials.
template <class D, class V> HWY_INLINE V erf_by_fraction(D d, V x) {
  using N = Numbers<float>;
  const V one = hn::Set(d, 1), size = at_most(d, hn::Abs(x), N::erf_saturates);
  const V square = hn::Mul(size, size);
  const V fraction = divide_bounded(d, hn::Mul(size, polynomial(d, square, N::erf_over_terms)),
                                    polynomial(d, square, N::erf_under_terms));
  const V bounded = at_most(d, fraction, 1);
  const auto is_one = hn::Ge(size, hn::Set(d, N::erf_saturates));
  return hn::CopySign(hn::IfThenElse(is_one, one, bounded), x);
}

// Both polynomials are the ones of least error, weighted as they are used (Remez).
template <class D, class V> HWY_INLINE V erf_by_polynomials(D d, V x) {
  using N = Numbers<double>;
  const V one = hn::Set(d, 1), size = at_most(d, hn::Abs(x), N::erf_saturates);
  const V square = hn::Mul(size, size);
  const V near = hn::MulAdd(x, polynomial(d, square, N::erf_near_terms), x);
  const V beyond =
      hn::NegMulAdd(exp_bounded(d, hn::Neg(square)),
                    polynomial(d, hn::Sub(size, hn::Set(d, 2)), N::erf_far_terms), one);
  return hn::IfThenElse(hn::Lt(size, one), near, hn::CopySign(beyond, x));
}

template <class D, class V> HWY_INLINE V erf(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return erf_by_fraction(d, x);
  else
    return erf_by_polynomials(d, x);
}

// log(x) of a normal positive x = 2^k * (1 + f), as FreeBSD's: k * ln2 + f - half_square + rest.
template <class V> struct LogParts { V k, f, half_square, rest; };
template <class D, class V> HWY_INLINE LogParts<V> log_parts(D d, V x, V extra_exponent) {
  using T = hn::TFromD<D>;
  using N = Numbers<T>;
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1), root_half = hn::Set(d, T(0.70710678118654752440));
  const auto bits = hn::Sub(hn::BitCast(di, x), hn::BitCast(di, root_half));
  const auto exponent = hn::ShiftRight<N::mantissa_bits>(bits);
  const V k = hn::Add(hn::ConvertTo(d, exponent), extra_exponent);
  const V m =
      hn::BitCast(d, hn::Sub(hn::BitCast(di, x), hn::ShiftLeft<N::mantissa_bits>(exponent)));
  const V f = hn::Sub(m, one);
  const V s = divide_bounded(d, f, hn::Add(f, hn::Set(d, 2)));
  const V z = hn::Mul(s, s);
  const V rest = hn::Mul(z, polynomial(d, z, N::log_terms));
  const V half_square = hn::Mul(hn::Mul(f, f), hn::Set(d, T(0.5)));
  return {k, f, half_square, hn::Mul(s, hn::Add(half_square, rest))};
}

// log(x) + correction for normal positive x.
template <class D, class V> HWY_INLINE V log_of_normal(D d, V x, V extra_exponent, V correction) {
  using N = Numbers<hn::TFromD<D>>;
  const LogParts<V> parts = log_parts(d, x, extra_exponent);
  const V low = hn::MulAdd(parts.k, hn::Set(d, N::ln2_low), correction);
  const V small = hn::Add(parts.rest, low);
  return hn::MulAdd(parts.k, hn::Set(d, N::ln2_high),
                    hn::Sub(parts.f, hn::Sub(parts.half_square, small)));
}

// `y` where x is positive and finite, else what the logarithm is there: -inf, NaN or inf.
template <class D, class V> HWY_INLINE V log_specials(D d, V x, V y) {
  using T = hn::TFromD<D>;
  const V inf = hn::Set(d, std::numeric_limits<T>::infinity());
  const V zero = hn::Zero(d);
  y = hn::IfThenElse(hn::Lt(x, inf), y, x);  // infinity and NaN stay
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(inf), y);
  return hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y);
}

// x, or a denormal times a power of two, whose exponent is to be added.
template <class D, class V> HWY_INLINE V without_denormals(D d, V x, V& exponent) {
  using T = hn::TFromD<D>;
  using N = Numbers<T>;
  const auto denormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  exponent = hn::IfThenElseZero(denormal, hn::Set(d, -N::denormal_steps));
  return hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, N::denormal_scale)), x);
}

template <class D, class V> HWY_INLINE V log(D d, V x) {
  V exponent;
  const V normal = without_denormals(d, x, exponent);
  return log_specials(d, x, log_of_normal(d, normal, exponent, hn::Zero(d)));
}

template <class D, class V> HWY_INLINE V log1p(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, 1), zero = hn::Zero(d);
  const V u = hn::Add(x, one);
  // What rounding took from u, from the side on which it is exact.
  const V lost =
      hn::IfThenElse(hn::Gt(x, one), hn::Sub(one, hn::Sub(u, x)), hn::Sub(x, hn::Sub(u, one)));
  const V y = log_specials(d, u, log_of_normal(d, u, zero, hn::Div(lost, u)));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, Numbers<T>::tiny)), x, y);
}

// x = n * pi/2 + r with |r| <= pi/4: sine and cosine of r, and n's low bits.
template <class V, class U> struct Turned {
  V sine, cosine;
  U quadrant;
};
// For |x| < trig_limit.
template <class D, class V> HWY_INLINE Turned<V, hn::Vec<hn::RebindToUnsigned<D>>> turn(D d, V x) {
  using T = hn::TFromD<D>;
  using N = Numbers<T>;
  const hn::RebindToUnsigned<D> du;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, T(0.63661977236758134308))));
  V r = x;
  for (T part : N::pi_half) r = hn::NegMulAdd(n, hn::Set(d, part), r);
  const V z = hn::Mul(r, r);
  const V sine = hn::MulAdd(hn::Mul(r, z), polynomial(d, z, N::sin_terms), r);
  const V cosine = hn::Add(hn::NegMulAdd(z, hn::Set(d, T(0.5)), hn::Set(d, 1)),
                           hn::Mul(hn::Mul(z, z), polynomial(d, z, N::cos_terms)));
  return {sine, cosine, hn::BitCast(du, hn::Add(n, hn::Set(d, N::round_magic)))};
}

template <class D, class U> HWY_INLINE hn::Mask<D> is_odd(D d, U quadrant) {
  const hn::RebindToUnsigned<D> du;
  const U one = hn::Set(du, 1);
  return hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(du, hn::Eq(hn::And(quadrant, one), one))));
}

// sin(x + quadrants * pi/2) for |x| < trig_limit.
template <class D, class V> HWY_INLINE V sin_of_bounded(D d, V x, int quadrants) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const auto turned = turn(d, x);
  const auto quadrant =
      hn::Add(turned.quadrant, hn::Set(du, static_cast<hn::TFromD<decltype(du)>>(quadrants)));
  const V value = hn::IfThenElse(is_odd(d, quadrant), turned.cosine, turned.sine);
  const auto sign =
      hn::ShiftLeft<sizeof(T) * 8 - 2>(hn::AndNot(hn::Set(du, 1), quadrant));  // bit 1 to the top
  const auto top = hn::BitCast(du, hn::Set(d, T(-0.0)));
  return hn::Xor(value, hn::BitCast(d, hn::And(sign, top)));
}

template <class D, class V> HWY_INLINE bool is_bounded(D d, V x) {
  return hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, Numbers<hn::TFromD<D>>::trig_limit)));
}

// Beyond the limit, and for infinity and NaN, the C library does the vector.
template <class D, class V, class F> HWY_INLINE V trig(D d, V x, int quadrants, F scalar) {
  using T = hn::TFromD<D>;
  if (HWY_LIKELY(is_bounded(d, x))) {
    const V y = sin_of_bounded(d, x, quadrants);
    return quadrants == 0 ? hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y) : y;
  }
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = scalar(lanes[i]);
  return hn::Load(d, lanes);
}

template <class D, class V> HWY_INLINE V sin(D d, V x) {
  using T = hn::TFromD<D>;
  return trig(d, x, 0, static_cast<T (*)(T)>(std::sin));
}

template <class D, class V> HWY_INLINE V cos(D d, V x) {
  using T = hn::TFromD<D>;
  return trig(d, x, 1, static_cast<T (*)(T)>(std::cos));
}

// The first `count` lanes, the others 0; nothing beyond is read.
template <class D> HWY_INLINE hn::Vec<D> load_part(D d, const hn::TFromD<D>* from, size_t count) {
#  if HWY_TARGET <= HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#  else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#  endif
}

// Nothing beyond the first `count` lanes is written.
template <class D>
HWY_INLINE void store_part(hn::Vec<D> value, D d, hn::TFromD<D>* to, size_t count) {
#  if HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(value, hn::FirstN(d, count), d, to);
#  else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(value, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#  endif
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
