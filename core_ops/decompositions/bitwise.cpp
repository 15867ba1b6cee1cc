#include "decompositions/bitwise.hpp"

namespace bp {

Tensor either_bit(const Tensor& a, const Tensor& b) {
  if (a.dtype() == boolean) return maximum(a, b);
  return add(add(a, b), bitwise_and(a, b), -1);
}

Tensor one_bit_of_two(const Tensor& a, const Tensor& b) {
  if (a.dtype() == boolean) return ne(a, b);
  return add(add(a, b), bitwise_and(a, b), -2);
}

Tensor other_bits(const Tensor& a) {
  if (a.dtype() == boolean) return eq(a, false);
  return add(-1, a, -1);
}

}  // namespace bp
