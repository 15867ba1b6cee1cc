#include "decompositions/orthogonal_polynomials.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/matrices.hpp"
#include "decompositions/special.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr std::int64_t highest_degree = 1024;

// From the polynomials of degrees 0 and 1 by `next`(degree, the last, the one before). Of a negative degree it is 0.
template <class Next>
Tensor polynomial_of_degree(std::int64_t n, const Tensor& x, const Tensor& first,
                            const Next& next) {
  if (n < 0) return full_like(x, 0.0);
  Tensor earlier = full_like(x, 1.0), last = first;
  if (n == 0) return earlier;
  for (std::int64_t k = 1; k < n && !is_shape_alone(x); ++k) {
    Tensor found = next(static_cast<double>(k), last, earlier);
    earlier = std::move(last);
    last = std::move(found);
  }
  return last;
}

Tensor checked_variable(const char* op, const Tensor& input, std::int64_t n) {
  BP_CHECK(n <= highest_degree, "{}: n is {}; pass at most {}", op, n, highest_degree);
  return as_computed(op, input);
}

const char* name_of_chebyshev(Chebyshev kind, bool shifted) {
  constexpr const char* names[2][4] = {
      {"chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
       "chebyshev_polynomial_w"},
      {"shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
       "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w"}};
  return names[shifted ? 1 : 0][static_cast<int>(kind)];
}

}  // namespace

Tensor chebyshev_by_recurrence(Chebyshev kind, bool shifted, const Tensor& input, std::int64_t n) {
  const Tensor given = checked_variable(name_of_chebyshev(kind, shifted), input, n);
  const Tensor x = shifted ? sub(mul(given, 2), 1) : given, twice = mul(x, 2);
  const Tensor first = kind == Chebyshev::t   ? x
                       : kind == Chebyshev::u ? twice
                       : kind == Chebyshev::v ? sub(twice, 1)
                                              : add(twice, 1);
  return as_given(polynomial_of_degree(n, x, first,
                                       [&](double, const Tensor& last, const Tensor& earlier) {
                                         return sub(mul(twice, last), earlier);
                                       }),
                  input);
}

Tensor hermite_by_recurrence(bool probabilists, const Tensor& input, std::int64_t n) {
  const Tensor x =
      checked_variable(probabilists ? "hermite_polynomial_he" : "hermite_polynomial_h", input, n);
  const double factor = probabilists ? 1 : 2;
  const Tensor first = probabilists ? x : mul(x, 2);
  return as_given(polynomial_of_degree(n, x, first,
                                       [&](double k, const Tensor& last, const Tensor& earlier) {
                                         return sub(mul(first, last), mul(earlier, factor * k));
                                       }),
                  input);
}

Tensor laguerre_by_recurrence(const Tensor& input, std::int64_t n) {
  const Tensor x = checked_variable("laguerre_polynomial_l", input, n);
  const auto next = [&](double k, const Tensor& last, const Tensor& earlier) {
    return div(sub(mul(sub(2 * k + 1, x), last), mul(earlier, k)), k + 1);
  };
  return as_given(polynomial_of_degree(n, x, sub(1, x), next), input);
}

Tensor legendre_by_recurrence(const Tensor& input, std::int64_t n) {
  const Tensor x = checked_variable("legendre_polynomial_p", input, n);
  const auto next = [&](double k, const Tensor& last, const Tensor& earlier) {
    return div(sub(mul(mul(x, 2 * k + 1), last), mul(earlier, k)), k + 1);
  };
  return as_given(polynomial_of_degree(n, x, x, next), input);
}

}  // namespace bp
