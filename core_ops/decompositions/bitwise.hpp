// Logic on bits, from bitwise_and and arithmetic that wraps.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// a | b: a sum has the bits of both twice.
Tensor either_bit(const Tensor& input, const Tensor& other);
// a ^ b.
Tensor one_bit_of_two(const Tensor& input, const Tensor& other);
// ~a.
Tensor other_bits(const Tensor& input);

Tensor left_shift_by_powers(const Tensor& input, const Tensor& other);
Tensor right_shift_by_quotients(const Tensor& input, const Tensor& other);

}  // namespace bp
