// Airy's function by three ranges, which reach over each other's borders, so that derivatives are whole there.
#include <limits>

#include "decompositions/bessel.hpp"
#include "decompositions/special.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// Interpolations in Chebyshev's points, of values with 40 digits, with a relative error of 2e-15. Ai as a polynomial of
// (x + 1) / 3.25.
constexpr double airy_middle_terms[] = {
    3.7410443354583325e-08, -1.6764411538643804e-07, -1.4617599548570903e-07,
    2.2704838761987775e-06, -3.90331856020178e-06,   -8.922620766516863e-06,
    4.943679030737385e-05,  -5.629323102905484e-05,  -0.00019133766683595692,
    0.0007944431730379418,  -0.0006537776668933339,  -0.003011773527655334,
    0.009758806248149687,   -0.0050024787365156465,  -0.034874400830179196,
    0.08649620788219818,    -0.017979585684700636,   -0.28186162280289706,
    0.5179993586886043,     0.04939575504648626,     -1.4791683851531463,
    1.8988564757890363,     0.7742022578378233,      -4.501586115053867,
    3.5932367239000578,     2.729427414077752,       -6.503683069722123,
    2.3951436316528483,     3.1222656941368854,      -2.828430914887733,
    -0.03302184312909689,   0.5355608832923521};

// 2 * sqrt(pi) * x^(1/4) * exp(z) * Ai as a polynomial of 2 * least / z - 1, with z = x^(3/2) * 2 / 3, for x from 1.75 on.
constexpr double airy_right_terms[] = {
    -2.4704020529259156e-10, 3.454200515137772e-10,   1.053687377528208e-09,
    -1.365320064624313e-09,  -2.464203498923295e-09,  3.100672446022265e-09,
    2.7929644298525082e-09,  -3.0443249195313766e-09, -3.712597864381319e-09,
    4.907544958840925e-09,   -2.406377461430632e-09,  6.3299342526499905e-09,
    -1.6747656582946916e-08, 3.4606837756418406e-08,  -7.408447482306746e-08,
    1.6797782839434575e-07,  -3.97561631804431e-07,   9.89189036836543e-07,
    -2.6157177037314965e-06, 7.451138983375305e-06,   -2.3312604172185842e-05,
    8.251142511919538e-05,   -0.0003469530198039476,  0.0019027347321054712,
    -0.017127079477889388,   0.9805056464592625};

// P, and Q * z, of which Ai(-x) is made from 3.75 on, as polynomials of 2 * (least / z)^2 - 1.
constexpr double airy_p_terms[] = {
    -1.9310296099387127e-12, 3.0648192424860515e-12,  3.145165081029907e-12,
    -3.522845404364257e-12,  -1.122003654492374e-11,  1.969633469455757e-11,
    -2.5599308284232815e-11, 7.00179937366105e-11,    -2.0363031637649612e-10,
    5.971765872228457e-10,   -1.9526179529933255e-09, 7.3243228104065734e-09,
    -3.2712424257156964e-08, 1.8524375645838366e-07,  -1.4771065052964012e-06,
    2.0185245589469453e-05,  -0.0007464091484076577,  0.9992317003407076};
constexpr double airy_q_terms[] = {
    3.0019354316175582e-12,  -3.981817921311904e-12,  -1.1098454332872084e-11,
    1.335178120109136e-11,   2.299664330461436e-11,   -2.7221608490654124e-11,
    -1.9316548589888857e-11, 1.6611884348203366e-11,  3.41041433759388e-11,
    -5.240643206672662e-11,  7.0384290098687e-11,     -1.6949033593413558e-10,
    4.2293014337980664e-10,  -1.0735934563970905e-09, 2.949699061824421e-09,
    -8.920214187122069e-09,  3.032992049485033e-08,   -1.1987826462028994e-07,
    5.791361852217161e-07,   -3.706967792847571e-06,  3.623947007305812e-05,
    -0.0007237170446614271,  0.06868003792790138};

constexpr double right_least = 1.5433549314543445111, left_least = 4.8412291827592711065,
                 root_pi = 1.77245385090551602730;

Tensor airy_to_the_right(const Tensor& x) {
  const Tensor root = sqrt(x), z = mul(mul(x, root), 2.0 / 3);
  const Tensor smooth = polynomial(sub(div(2 * right_least, z), 1), airy_right_terms);
  return div(mul(smooth, exp(neg(z))), mul(sqrt(root), 2 * root_pi));
}

// Of -x.
Tensor airy_to_the_left(const Tensor& x) {
  const Tensor root = sqrt(x), z = mul(mul(x, root), 2.0 / 3), near = div(left_least, z);
  const Tensor t = sub(mul(mul(near, near), 2), 1);
  const Tensor p = polynomial(t, airy_p_terms), q = div(polynomial(t, airy_q_terms), z);
  const Tensor sine = sin(z), cosine = cos(z);
  const Tensor sum = add(mul(p, add(cosine, sine)), mul(q, sub(sine, cosine)));
  return div(sum, mul(sqrt(root), root_pi * 1.41421356237309504880));
}

}  // namespace

Tensor airy_by_series(const Tensor& input) {
  const Tensor x = as_computed("airy_ai", input);
  const Tensor inner = minimum(maximum(x, -4.25), 2.25);
  const Tensor middle = polynomial(mul(add(inner, 1), 1 / 3.25), airy_middle_terms);
  // Beyond, float32 and float64 have no digit of the angle; at infinity the limit is 0.
  const Tensor left = airy_to_the_left(minimum(maximum(neg(x), 3.75), 1e12));
  const Tensor right = airy_to_the_right(minimum(maximum(x, 1.75), 1e12));
  const Tensor outer = where(lt(x, 0), where(lt(x, -1e12), 0, left), right);
  return as_given(where(logical_and(gt(x, -4), lt(x, 2)), middle, outer), input);
}

}  // namespace bp
