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

}  // namespace

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
