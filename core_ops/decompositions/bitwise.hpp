// Logic on bits, from bitwise_and and arithmetic that wraps.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// a | b: a sum has the bits of both twice.
Tensor either_bit(const Tensor& a, const Tensor& b);
// a ^ b.
Tensor one_bit_of_two(const Tensor& a, const Tensor& b);
// ~a.
Tensor other_bits(const Tensor& a);

}  // namespace bp
