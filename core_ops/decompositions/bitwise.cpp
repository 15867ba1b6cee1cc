#include "decompositions/bitwise.hpp"

namespace bp {

Tensor either_bit(const Tensor& input, const Tensor& other) {
  if (input.dtype() == boolean) return maximum(input, other);
  return add(add(input, other), bitwise_and(input, other), -1);
}

Tensor one_bit_of_two(const Tensor& input, const Tensor& other) {
  if (input.dtype() == boolean) return ne(input, other);
  return add(add(input, other), bitwise_and(input, other), -2);
}

Tensor other_bits(const Tensor& input) {
  if (input.dtype() == boolean) return eq(input, false);
  return add(-1, input, -1);
}

}  // namespace bp
