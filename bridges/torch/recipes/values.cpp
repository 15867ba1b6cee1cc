// Values, types, and PyTorch's numbers for words.
#include <limits>

#include <backplane/dispatcher/chain.hpp>
#include <backplane/tensor/promotion.hpp>
#include <backplane/tensor/shape.hpp>

#include "recipes/helpers.hpp"

namespace bp::bridge {

void refuse(const char* op, const char* what) {
  throw_error(ErrorClass::unsupported, std::string(op) + ": no recipe for " + what);
}

Tensor whole_copy(const char* op, const Tensor& tensor) {
  if (!is_whole(tensor)) refuse(op, "this dtype");
  return copy(tensor);
}
void truths_only(const char* op, const Tensor& tensor) {
  if (tensor.dtype() != boolean) refuse(op, "this dtype");
}
Tensor put_truths(const Tensor& input, const std::vector<Tensor>& indices, const Tensor& values,
                  bool accumulate) {
  truths_only("index_put", input);
  return index_put(cast(input, u8), indices, cast(values, u8), accumulate) > 0;
}

bool is_whole(const Tensor& tensor) {
  return !is_floating(tensor.dtype()) && !is_complex(tensor.dtype());
}

Dtype computed_dtype(const Tensor& like) {
  return is_floating(like.dtype()) || is_complex(like.dtype()) ? like.dtype() : f32;
}

// PyTorch draws whole numbers that floating dtypes hold exactly.
std::int64_t highest_whole(Dtype dtype) {
  switch (dtype) {
    case boolean: return 2;
    case u8: return 256;
    case i8: return 128;
    case i16: return 32768;
    case i32: return std::int64_t{1} << 31;
    case f16: return (1 << 11) + 1;
    case bf16: return (1 << 8) + 1;
    case f32: return (1 << 24) + 1;
    case f64: return (std::int64_t{1} << 53) + 1;
    default: return std::numeric_limits<std::int64_t>::max();
  }
}

Tensor uniform_like(const Tensor& like, Generator* generator) {
  return rand(like.shape(), computed_dtype(like), like.device(), generator);
}

Pair made_alike(const Tensor& first, const Tensor& second) {
  Dtype dtype =
      promote(first.dtype(), second.dtype());  // a number without dimensions decides nothing
  if (first.ndim() == 0 && second.ndim() != 0) dtype = second.dtype();
  if (second.ndim() == 0 && first.ndim() != 0) dtype = first.dtype();
  const auto in_dtype = [&](const Tensor& tensor) {
    return tensor.dtype() == dtype ? tensor : cast(tensor, dtype);
  };
  if (first.shape() == second.shape()) return {in_dtype(first), in_dtype(second)};
  const Dims shape = broadcast_shapes("derivative", first.shape(), second.shape());
  return {expand(in_dtype(first), shape), expand(in_dtype(second), shape)};
}

// In one pass where the device has a kernel for the chain. Times 0, as PyTorch's masks are: NaN and infinities stay NaN.
Tensor masked_and_scaled(const Tensor& x, const Tensor& mask, double scale) {
  using From = ChainInput;
  static Operator &mul = *find_operator("mul"), &where = *find_operator("where");
  static const ChainStep steps[] = {{&mul, {From::argument(0), From::number_argument(2)}},
                                    {&mul, {From::argument(0), From::number(0.0)}},
                                    {&where, {From::argument(1), From::step(0), From::step(1)}}};
  static const Chain& chain = *new Chain(join(steps));  // held as long as the process
  const Scalar factor(scale);
  bp_value args[] = {value_of(x), value_of(mask), value_of(factor)};
  return call_chain(chain, args, 3);
}

std::int64_t wrapped(std::int64_t dim, std::int64_t ndim) {
  return dim < 0 ? dim + ndim : dim;
}

Tensor contiguous_copy(const Tensor& tensor) {
  return make_contiguous(tensor);
}

// Counted from both ends, so that the last element is `end` itself.
Tensor evenly_spaced(const Scalar& start, const Scalar& end, std::int64_t steps) {
  if (start.is_complex() || end.is_complex()) refuse("linspace", "complex numbers");
  const double first = start.to_double(), last = end.to_double();
  const Tensor count = arange(0, steps, 1, f64);
  if (steps < 2) return count + first;
  const double step = (last - first) / static_cast<double>(steps - 1);
  return where(count < steps / 2, count * step + first, last - (count * -1 + (steps - 1)) * step);
}

Tensor eye_matrix(std::int64_t rows, std::int64_t columns) {
  return unsqueeze(arange(0, rows), 1) == unsqueeze(arange(0, columns), 0);
}

Tensor per_channel(const Tensor& vector, std::int64_t ndim) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(ndim), 1);
  shape[1] = vector.numel();
  return reshape(vector, shape);
}

IntList last_sizes(const Tensor& tensor, std::size_t count) {
  const IntList shape = tensor.shape();
  return {shape.data() + shape.size() - count, count};
}

Triple masked(IntList mask, Triple results) {
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] == 0) results[i] = Tensor();
  return results;
}

std::string_view reduction_name(std::int64_t reduction) {
  return reduction == 0 ? "none" : reduction == 1 ? "mean" : "sum";
}
std::string_view sample_mode(std::int64_t mode) {
  return mode == 0 ? "bilinear" : mode == 1 ? "nearest" : "bicubic";
}
std::string_view sample_padding(std::int64_t padding) {
  return padding == 0 ? "zeros" : padding == 1 ? "border" : "reflection";
}

Pair extreme(const Tensor& input, std::int64_t dim, bool keepdim, bool largest) {
  if (input.ndim() == 0) return {copy(input), zeros({}, i64, input.device())};
  const Tensor ordered = input.dtype() == boolean ? cast(input, u8) : input;
  const Tensor places = largest ? argmax(ordered, dim, true) : argmin(ordered, dim, true);
  const Tensor values = gather(input, dim, places);
  if (keepdim) return {values, places};
  return {squeeze(values, dim), squeeze(places, dim)};
}

Tensor total_weight(const Tensor& input, const Tensor& target, const Tensor& weight,
                    std::int64_t reduction, std::int64_t ignore_index) {
  if (reduction == 0) return zeros({}, input.dtype(), input.device());
  const Tensor counts = ne(target, ignore_index);
  if (!weight.defined()) return cast(sum(cast(counts, input.dtype())), input.dtype());
  const Tensor known = where(counts, target, 0);
  const Tensor weights = reshape(index_select(weight, 0, flatten(known)), target.shape());
  return sum(where(counts, weights, 0));
}

}  // namespace bp::bridge
