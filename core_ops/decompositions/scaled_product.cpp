// Products of 8-bit floats, which stand for others by a scale.
#include <backplane/core_ops/creation.hpp>

#include "decompositions/quantized.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// One number with any number of dimensions, or one for each row or column.
Tensor broadcastable(const Tensor& scale) {
  return scale.numel() == 1 ? reshape(scale, {}) : scale;
}

}  // namespace

Tensor scaled_product(const Tensor& input, const Tensor& mat2, const Tensor& scale_a,
                      const Tensor& scale_b, const Tensor& bias, const Tensor& scale_result,
                      std::optional<Dtype> out_dtype) {
  const Dtype dtype = out_dtype.value_or(input.dtype());
  Tensor product = matmul(cast(input, f32), cast(mat2, f32));
  product = mul(mul(product, broadcastable(scale_a)), broadcastable(scale_b));
  if (bias.defined()) product = add(product, cast(bias, f32));
  const bool is_short = dtype == f8_e4m3fn || dtype == f8_e5m2;
  if (is_short && scale_result.defined()) product = mul(product, broadcastable(scale_result));
  // It has no infinity.
  if (dtype == f8_e4m3fn) product = clamp(product, -448.0, 448.0);
  return cast(product, dtype);
}

}  // namespace bp
