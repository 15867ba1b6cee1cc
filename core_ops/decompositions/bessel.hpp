// Bessel functions of orders 0 and 1, Airy's function, and the modified ones of the second kind.
#pragma once

#include <backplane/tensor/tensor.hpp>

namespace bp {

Tensor bessel_first_kind(const Tensor& input, int order);
Tensor bessel_second_kind(const Tensor& input, int order);
// `op`: the row's name; `scaled` by exp(input).
Tensor modified_bessel_second_kind(const char* op, const Tensor& input, int order, bool scaled);
Tensor spherical_bessel_by_sine(const Tensor& input);
Tensor airy_by_series(const Tensor& input);

}  // namespace bp
