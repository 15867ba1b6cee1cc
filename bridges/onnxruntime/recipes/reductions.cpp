// Elementwise helpers, and reductions whose dtypes or empty sets ONNX has otherwise.
#include <cmath>
#include <limits>

#include <backplane/runtime/storage_tensor.hpp>

#include "helpers.hpp"

namespace bp::onnx {
namespace {

bool is_empty_over(const Tensor& x, DimList dims) {
  const auto list = dims.list();
  if (!list) return x.numel() == 0;
  for (const std::int64_t dim : *list)
    if (x.size(dim) == 0) return true;
  return false;
}

// The sum has the shape, and there is nothing to add up.
Tensor filled(const Tensor& x, DimList dims, bool keepdim, bool with_most) {
  const Tensor shape = sum(x, dims, keepdim);
  const TensorOptions options{.dtype = x.dtype(), .device = x.device()};
  if (x.dtype() == boolean) return full(shape.shape(), with_most, options);
  if (is_floating(x.dtype())) {
    const double inf = std::numeric_limits<double>::infinity();
    return full(shape.shape(), with_most ? inf : -inf, options);
  }
  const unsigned bits = 8 * x.itemsize();
  const bool is_signed =
      x.dtype() == i8 || x.dtype() == i16 || x.dtype() == i32 || x.dtype() == i64;
  if (!is_signed) {
    if (!with_most) return full(shape.shape(), 0, options);
    return full(shape.shape(), Scalar(~std::uint64_t{0} >> (64 - bits)), options);
  }
  const auto most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  return full(shape.shape(), with_most ? most : -most - 1, options);
}

// Of a scale or a zero point, in the shape of `input` or one that is broadcast to it.
Tensor steps_for(const Tensor& input, const Tensor& steps, std::int64_t axis,
                 std::int64_t block_size) {
  if (steps.numel() == 1) return reshape(steps, IntList());
  const std::int64_t dim = wrapped(axis, input.ndim());
  if (block_size > 0)
    return narrow(repeat_interleave(steps, block_size, dim), dim, 0, input.size(dim));
  Dims shape(static_cast<std::uint32_t>(input.ndim()), 1);
  shape[static_cast<std::size_t>(dim)] = input.size(dim);
  return reshape(steps, shape);
}

}  // namespace

Tensor quantized_to_float8(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                           std::int64_t axis, std::int64_t block_size, Dtype dtype, bool saturate) {
  Tensor result = to(input, f32) / steps_for(input, to(scale, f32), axis, block_size);
  if (zero_point.defined())
    result = result + steps_for(input, to(zero_point, f32), axis, block_size);
  return converted(result, dtype, saturate);
}

Tensor dequantized_float8(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                          std::int64_t axis, std::int64_t block_size, Dtype dtype) {
  Tensor result = to(input, f32);
  if (zero_point.defined())
    result = result - steps_for(input, to(zero_point, f32), axis, block_size);
  return to(result * steps_for(input, to(scale, f32), axis, block_size), dtype);
}

Tensor converted(const Tensor& input, Dtype dtype, bool saturate) {
  const bool is_small = dtype == f8_e4m3fn || dtype == f8_e5m2;
  if (!is_small || !saturate || !is_floating(input.dtype())) return cast(input, dtype);
  const double largest = dtype == f8_e4m3fn ? 448 : 57344;
  return cast(clamp(input, -largest, largest), dtype);
}

Tensor same_bits(const Tensor& input, Dtype dtype) {
  const Tensor dense = contiguous(input);
  return tensor_over_storage(dense.impl()->storage, dense.shape(), dense.strides(), dtype,
                             dense.storage_offset());
}

Tensor divided_whole(const Tensor& a, const Tensor& b) {
  const Tensor down = floor_divide(a, b);
  return where(logical_and(down < 0, ne(down * b, a)), down + 1, down);
}

Tensor raised(const Tensor& base, const Tensor& exponent, const NodeFacts& node) {
  // A square, as it mostly is, costs no power.
  if (node.inputs[1].is_constant && exponent.numel() == 1 && exponent.ndim() <= base.ndim() &&
      is_floating(base.dtype())) {
    const Tensors& number = node.kept->get([&] { return Tensors{cpu(reshape(exponent, {}))}; });
    return pow(base, item<Scalar>(number[0]));
  }
  if (is_whole(base) && is_floating(exponent.dtype()))
    return to(pow(to(base, exponent.dtype()), exponent), base.dtype());
  return pow(base, to(exponent, base.dtype()));
}

Tensor mean_of(const Tensor& x, DimList dims, bool keepdim) {
  return is_whole(x) ? to(mean(to(x, f64), dims, keepdim), x.dtype()) : mean(x, dims, keepdim);
}
Tensor max_of(const Tensor& x, DimList dims, bool keepdim) {
  return is_empty_over(x, dims) ? filled(x, dims, keepdim, false) : max(x, dims, keepdim);
}
Tensor min_of(const Tensor& x, DimList dims, bool keepdim) {
  return is_empty_over(x, dims) ? filled(x, dims, keepdim, true) : min(x, dims, keepdim);
}
Tensor l2_of(const Tensor& x, DimList dims, bool keepdim) {
  return sqrt(sum(square(x), dims, keepdim));
}

}  // namespace bp::onnx
