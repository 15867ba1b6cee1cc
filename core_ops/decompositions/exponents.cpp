#include "decompositions/exponents.hpp"

#include <cmath>
#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {

// By powers of 2 that halve, whose products are exact: large numbers come down to 1 up to 2, and small ones up.
FrexpResult fraction_and_exponent(const Tensor& input) {
  BP_CHECK(is_floating(input.dtype()), "frexp: input is {}; cast it to a floating dtype",
           name(input.dtype()));
  const Tensor x = widened(input), size = abs(x);
  const int highest = x.dtype() == Dtype::f64 ? 512 : 64;
  Tensor rest = size, exponent = full_like(x, 1.0);
  const auto scale = [&](const Tensor& goes_on, int power) {
    rest = where(goes_on, mul(rest, std::ldexp(1.0, -power)), rest);
    exponent = where(goes_on, add(exponent, power), exponent);
  };
  for (int power = highest; power > 0; power /= 2) scale(ge(rest, std::ldexp(1.0, power)), power);
  scale(lt(rest, std::ldexp(1.0, 1 - highest)), -highest);
  for (int power = highest; power > 0; power /= 2)
    scale(lt(rest, std::ldexp(1.0, 1 - power)), -power);
  const Tensor has_parts =
      logical_and(gt(size, 0), lt(size, std::numeric_limits<double>::infinity()));
  const Tensor half = mul(rest, 0.5), fraction = where(lt(x, 0), neg(half), half);
  return {in_dtype(where(has_parts, fraction, x), input.dtype()),
          cast(where(has_parts, exponent, 0), i32)};
}

}  // namespace bp
