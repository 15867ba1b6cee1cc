// Views that show complex numbers as pairs of real ones, and such pairs as complex numbers.
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::views {
namespace {

// From the same byte on; strides are in elements of `dtype`.
Tensor with_dtype(const Tensor& base, IntList shape, IntList strides, Dtype dtype) {
  Tensor result = make_view(base, shape, strides, base.storage_offset());
  TensorImpl& impl = *result.impl();
  impl.abi.dtype = index(dtype);
  impl.abi.dl.dtype = dl_dtype(dtype);
  impl.abi.itemsize = itemsize(dtype);
  update_layout(impl);
  return result;
}

}  // namespace

Tensor view_as_real(const Tensor& base) {
  BP_CHECK(is_complex(base.dtype()), "view_as_real: the input is {}; pass complex numbers",
           name(base.dtype()));
  check_rank("view_as_real", static_cast<std::size_t>(base.ndim()) + 1);
  Dims shape(base.shape()), strides(base.strides());
  // Those of a tensor without elements may be as large as numbers get; they lead nowhere.
  for (std::int64_t& stride : strides)
    stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * 2);
  shape.push_back(2);
  strides.push_back(1);
  return with_dtype(base, shape, strides, base.dtype() == complex64 ? f32 : f64);
}

bool shows_pairs(const Tensor& input) {
  if (input.ndim() == 0 || input.size(-1) != 2 || input.storage_offset() % 2 != 0) return false;
  if (input.numel() == 0) return true;
  const IntList strides = input.strides();
  if (strides.back() != 1) return false;
  for (std::size_t d = 0; d + 1 < strides.size(); ++d)
    if (input.shape()[d] > 1 && strides[d] % 2 != 0) return false;
  return true;
}

Tensor view_as_complex(const Tensor& base) {
  BP_CHECK(base.dtype() == f32 || base.dtype() == f64,
           "view_as_complex: the input is {}; cast it to float32 or float64", name(base.dtype()));
  BP_CHECK(base.ndim() > 0 && base.size(-1) == 2,
           "view_as_complex: the shape is {}; the last dimension holds the two parts, so make it 2",
           to_string(base.shape()));
  BP_CHECK(
      shows_pairs(base),
      "view_as_complex: the parts of shape {}, strides {} and offset {} are not pairs in memory; "
      "pass a contiguous copy",
      to_string(base.shape()), to_string(base.strides()), base.storage_offset());
  Dims shape, strides;
  for (std::size_t d = 0; d + 1 < base.shape().size(); ++d) {
    shape.push_back(base.shape()[d]);
    strides.push_back(base.shape()[d] > 1 ? base.strides()[d] / 2 : 1);
  }
  return with_dtype(base, shape, strides, to_complex(base.dtype()));
}

}  // namespace bp::views
