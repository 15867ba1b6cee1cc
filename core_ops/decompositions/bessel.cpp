#include "decompositions/bessel.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <backplane/core_ops/creation.hpp>

#include "decompositions/special.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// All coefficients here are interpolations in Chebyshev's points, of values with 40 digits, with a relative error of 1e-15.
constexpr double root_of_pi = 1.77245385090551602730, two_by_pi = 0.63661977236758134308,
                 never_ends = std::numeric_limits<double>::infinity();

// The first two positive roots of J0 and of J1, their first parts with float32's digits.
struct Root {
  double high, low;
};
constexpr Root bessel_roots[2][2] = {{{2.4048254489898681640625, 1.0870590460455913188e-7},
                                      {5.520078182220458984375, -7.1934148334778395887e-8}},
                                     {{3.83170604705810546875, -7.6850593153135564114e-8},
                                      {7.01558685302734375, -1.8321172499646295002e-7}}};

// J0 by (x^2 - r^2) of both roots, and J1 by x and these, as polynomials of x^2 / 32 - 1, for x up to 8.
constexpr double first_near_terms[2][14] = {
    {-1.2482967042743655e-14, 3.4063540255152697e-13, -8.023472601933258e-12,
     1.6276296659994082e-10, -2.7948629678329127e-09, 3.998839476948713e-08, -4.677128021300745e-07,
     4.366932324180517e-06, -3.157342540223544e-05, 0.00016977200714005512, -0.0006415390646406123,
     0.0015636431645931613, -0.002119794289479692, 0.0011434937743762545},
    {-3.9104228826133377e-16, 1.1384465543068819e-14, -2.875530868558852e-13, 6.284676985256089e-12,
     -1.1696932521783476e-10, 1.8268548082885016e-09, -2.352192254577852e-08, 2.442522260616395e-07,
     -1.989093515914257e-06, 1.224217365301787e-05, -5.408003239085506e-05, 0.00015860016799369858,
     -0.0002697522746716368, 0.00019498936985895625}};

// Y0 - log(x) * J0 * 2 / pi, and (Y1 - (log(x) * J1 - 1 / x) * 2 / pi) / x, as polynomials of the same.
constexpr double second_near_terms_0[] = {
    -8.840112096073101e-13,  2.6926938054524057e-11, -7.13046146536789e-10,  1.6390875014077404e-08,
    -3.2185078445935923e-07, 5.3213188103997145e-06, -7.279541882454115e-05, 0.000806158605961636,
    -0.00702574105727097,    0.046367047681375125,   -0.21895747096171628,   0.6721770783431679,
    -1.0775477338215995,     0.14412632369302475,    1.6470964788745466,     -0.8284358903604587,
    -0.382250654459425};
constexpr double second_near_terms_1[] = {
    8.760001143977853e-13,  -2.499531546171249e-11, 6.169688029066965e-10, -1.3153147367094951e-08,
    2.3804930420514178e-07, -3.601000022590458e-06, 4.467433012646365e-05, -0.0004438173434420147,
    0.0034224907399188495,  -0.01962875683311711,   0.07854786922242532,   -0.19639839859930203,
    0.23507209206669755,    0.02336757172099348,    -0.24337743079193114,  0.07075985882118005};

// P, and Q * x, of which J and Y are made from 8 on, as polynomials of 2 * (8 / x)^2 - 1.
constexpr double wave_p_terms[2][13] = {
    {3.339452259070809e-14, -1.0251790052831013e-13, 2.4531772967345006e-13,
     -1.0157485021065676e-12, 4.786995821368028e-12, -2.491146535471666e-11, 1.5500565496632596e-10,
     -1.2121098178951377e-09, 1.280376144080092e-08, -2.0527448261170675e-07, 6.137416080109497e-06,
     -0.0005363673192129672, 0.9994572757882519},
    {-3.5455617466606254e-14, 1.0923713653079462e-13, -2.6335760672461096e-13,
     1.0954826479277623e-12, -5.191158004646548e-12, 2.72345126828134e-11, -1.713107485294131e-10,
     1.3602969253877949e-09, -1.4708512991275258e-08, 2.453676633366693e-07, -7.9596946984383e-06,
     0.0008988049416705183, 1.0009070262780821}};
constexpr double wave_q_terms[2][15] = {
    {-4.0574096424030336e-14, 1.0185094098694355e-13, -1.3137515498826537e-13,
     4.605060470396763e-13, -1.873640743543296e-12, 6.951785915752245e-12, -2.8707211071105146e-11,
     1.3623497617833053e-10, -7.5763304988972e-10, 5.146231602705606e-09, -4.534972837363434e-08,
     5.684971881753781e-07, -1.1817110661200976e-05, 0.0005466519279475266, -0.12444091103610815},
    {4.275621822194818e-14, -1.0759215471978615e-13, 1.3996264453471973e-13, -4.91574062967655e-13,
     2.002728774766585e-12, -7.465104477698295e-12, 3.100364837230575e-11, -1.4816588916791194e-10,
     8.316077350038262e-10, -5.720890888840857e-09, 5.136105997071193e-08, -6.633568561050814e-07,
     1.4569614809851411e-05, -0.0007697167057643706, 0.3742149922195918}};

// K0 + log(x / 2) * I0, and x * (K1 - log(x / 2) * I1), as polynomials of x^2 / 2 - 1, for x up to 2.
constexpr double third_near_terms[2][10] = {
    {3.518631515854722e-14, 5.452564662772586e-12, 6.623013272794453e-10, 6.093361894172114e-08,
     4.054506619949891e-06, 0.0001828055582791554, 0.005053392643196092, 0.07177701034240509,
     0.3404973210133806, -0.30362077291575545},
    {-6.214271617329577e-13, -8.533634168575142e-11, -9.032127501740678e-09, -7.081133691517408e-07,
     -3.891869064371633e-05, -0.001383168846618116, -0.02785423521977184, -0.2438385288677433,
     -0.3322409552403131, 0.8850882877295894}};

// sqrt(x) * exp(x) * K as a polynomial of 4 / x - 1, for x from 2 on.
constexpr double third_far_terms[2][24] = {
    {-6.910453875670571e-11,  1.0926983537268735e-10, 2.213758097591008e-10,
     -3.119936129682105e-10,  -5.541051446065683e-10, 8.133913205464114e-10,
     1.7887095838476482e-10,  4.757544705776374e-11,  -1.9309444875845705e-09,
     3.808399859919043e-09,   -7.286380907337665e-09, 1.7047535884249698e-08,
     -4.133923052104385e-08,  1.02954317593912e-07,   -2.6890662472901614e-07,
     7.427801232190096e-07,   -2.191177788015528e-06, 7.002245645755651e-06,
     -2.4735204561466906e-05, 9.95605474202942e-05,   -0.0004797690567662314,
     0.0030328918102753206,   -0.03107146182488952,   1.2185953385133905},
    {7.52479548635394e-11,    -1.1931668393112158e-10, -2.399376595899464e-10,
     3.3867804167808003e-10,  6.042482293782838e-10,   -8.908596710923906e-10,
     -1.7982138496175016e-10, -8.336227195991456e-11,  2.1757782025837176e-09,
     -4.331939985658629e-09,  8.40938756536177e-09,    -1.9817577141591116e-08,
     4.8461952200091865e-08,  -1.2203186351938403e-07, 3.2298119177151824e-07,
     -9.067087633371393e-07,  2.730041433569803e-06,   -8.961207387750025e-06,
     3.284386555825453e-05,   -0.00013959021956272223, 0.0007357241549081501,
     -0.005566729880074588,   0.10334973775386523,     1.363151890371342}};

struct Waves {
  Tensor first, second;
};

// Of x from 8 on. The angle's shift by pi / 4 is taken through sums of sine and cosine, so that no digit of x is lost.
Waves waves_from_8(const Tensor& x, int order) {
  const Tensor near = div(8, x), t = sub(mul(mul(near, near), 2), 1);
  const Tensor p = polynomial(t, wave_p_terms[order]);
  const Tensor q = div(polynomial(t, wave_q_terms[order]), x);
  const Tensor sine = sin(x), cosine = cos(x), height = mul(sqrt(x), root_of_pi);
  const Tensor both = add(sine, cosine), apart = sub(sine, cosine);
  if (order == 0)
    return {div(sub(mul(p, both), mul(q, apart)), height),
            div(add(mul(p, apart), mul(q, both)), height)};
  return {div(add(mul(p, apart), mul(q, both)), height),
          div(sub(mul(q, apart), mul(p, both)), height)};
}

// Of x from 0 up to 8.
Tensor first_kind_near(const Tensor& x, int order) {
  Tensor value = polynomial(sub(mul(mul(x, x), 1.0 / 32), 1), first_near_terms[order]);
  for (const auto& [high, low] : bessel_roots[order])
    value = mul(mul(value, sub(sub(x, high), low)), add(x, high + low));
  return order == 0 ? value : mul(value, x);
}

// Of x from 0 up to 2, where it is infinite at 0.
Tensor modified_near(const Tensor& x, int order) {
  const Tensor smooth = polynomial(sub(mul(mul(x, x), 0.5), 1), third_near_terms[order]);
  // Half of the smallest number is nothing.
  const Tensor log_of_half = where(lt(x, 1e-30), sub(log(x), std::numbers::ln2), log(mul(x, 0.5)));
  const Tensor part = mul(log_of_half, modified_bessel_near(x, order));
  if (order == 0) return sub(smooth, part);
  return where(eq(x, 0), never_ends, add(div(smooth, x), part));
}

}  // namespace

Tensor bessel_first_kind(const Tensor& input, int order) {
  const Tensor x = as_computed(order == 0 ? "bessel_j0" : "bessel_j1", input), size = abs(x);
  const Tensor near = first_kind_near(minimum(size, 8.0), order);
  const Tensor far = where(eq(size, never_ends), 0, waves_from_8(maximum(size, 8.0), order).first);
  const Tensor result = where(lt(size, 8), near, far);
  return as_given(order == 0 ? result : where(lt(x, 0), neg(result), result), input);
}

Tensor bessel_second_kind(const Tensor& input, int order) {
  const Tensor x = as_computed(order == 0 ? "bessel_y0" : "bessel_y1", input),
               low = minimum(x, 8.0);
  const Tensor t = sub(mul(mul(low, low), 1.0 / 32), 1);
  const Tensor part = mul(log(low), first_kind_near(low, order));
  const Tensor near = order == 0 ? add(mul(part, two_by_pi), polynomial(t, second_near_terms_0))
                                 : add(mul(sub(part, div(1, low)), two_by_pi),
                                       mul(polynomial(t, second_near_terms_1), low));
  const Tensor far = where(eq(x, never_ends), 0, waves_from_8(maximum(x, 8.0), order).second);
  return as_given(where(eq(x, 0), -never_ends, where(lt(x, 8), near, far)), input);
}

Tensor modified_bessel_second_kind(const char* op, const Tensor& input, int order, bool scaled) {
  const Tensor x = as_computed(op, input);
  const Tensor small = minimum(x, 2.0), large = maximum(x, 2.0);
  Tensor near = modified_near(small, order);
  Tensor far = div(polynomial(sub(div(4, large), 1), third_far_terms[order]), sqrt(large));
  if (scaled)
    near = mul(near, exp(small));
  else
    far = mul(far, exp(neg(large)));
  return as_given(where(lt(x, 2), near, far), input);
}

// By its series around 0, whose derivatives have their digits there.
Tensor spherical_bessel_by_sine(const Tensor& input) {
  constexpr double terms[] = {1.0 / 355687428096000,
                              -1.0 / 1307674368000,
                              1.0 / 6227020800,
                              -1.0 / 39916800,
                              1.0 / 362880,
                              -1.0 / 5040,
                              1.0 / 120,
                              -1.0 / 6,
                              1.0};
  const Tensor x = as_computed("spherical_bessel_j0", input), size = abs(x);
  const Tensor is_near = lt(size, 0.5), small = where(is_near, x, 0);
  const Tensor large = where(logical_or(is_near, eq(size, never_ends)), 1, x);
  const Tensor far = where(eq(size, never_ends), 0, div(sin(large), large));
  return as_given(where(is_near, polynomial(mul(small, small), terms), far), input);
}

}  // namespace bp
