// Complex numbers as pairs of real ones, from other operators.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// [..., 2] as complex numbers, in memory of their own if `pairs` is handed over.
Tensor complex_of_pairs(Tensor pairs);
// Integers and bools as the default dtype, 16-bit floats as float32.
Tensor with_complex_peer(const Tensor& input);
// Of a row of real numbers that is made of others which take complex ones: throws bad_argument for such tensors.
void check_real(std::string_view op, TensorList tensors);

Tensor real_parts(const Tensor& input);
Tensor imaginary_parts(const Tensor& input);
Tensor conjugated_by_pairs(const Tensor& input);
Tensor complex_by_polar(const Tensor& abs, const Tensor& angle);
Tensor angle_in_radians(const Tensor& input);
Tensor direction_by_parts(const Tensor& input);

}  // namespace bp
