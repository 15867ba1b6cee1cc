#include "decompositions/bitwise.hpp"

namespace bp {
namespace {

// By which a number's bits can be moved, and something be left of it.
Tensor is_beyond(const Tensor& places, Dtype dtype) {
  return logical_or(lt(places, 0), ge(places, static_cast<std::int64_t>(8 * itemsize(dtype))));
}

}  // namespace

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

// Powers of 2 wrap to 0 as what they multiply does.
Tensor left_shift_by_powers(const Tensor& input, const Tensor& other) {
  const Tensor beyond = is_beyond(other, input.dtype());
  return where(beyond, 0, mul(input, pow(2, where(beyond, 0, other))));
}

// In two steps: the highest power is not a number of a signed dtype.
Tensor right_shift_by_quotients(const Tensor& input, const Tensor& other) {
  const Tensor beyond = is_beyond(other, input.dtype());
  const Tensor places = where(beyond, 0, other), first = floor_divide(places, 2);
  const Tensor halfway = floor_divide(input, pow(2, first));
  const Tensor moved = floor_divide(halfway, pow(2, sub(places, first)));
  const Tensor sign = sub(0, where(lt(input, 0), add(mul(input, 0), 1), 0));
  return where(beyond, sign, moved);
}

}  // namespace bp
