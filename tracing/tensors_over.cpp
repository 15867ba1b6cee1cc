#include "tensors_over.hpp"

#include <backplane/tensor/check.hpp>

namespace bp::tracing {
namespace {

Tensor view_as(const Tensor& base, Dtype dtype, std::uint64_t byte_offset, IntList shape,
               IntList strides) {
  Tensor view = make_view(base, shape, strides, 0);
  TensorImpl& impl = *view.impl();
  impl.abi.dtype = index(dtype);
  impl.abi.itemsize = itemsize(dtype);
  impl.abi.dl.dtype = dl_dtype(dtype);
  impl.abi.dl.byte_offset = byte_offset;
  impl.keys = 0;
  return view;
}

// In 64 bits, whatever the numbers are.
bool reaches_past(const SavedTensor& saved, std::uint64_t bytes) {
  std::int64_t last = 0, product = 1;
  for (std::size_t i = 0; i < saved.shape.size(); ++i) {
    std::int64_t step = 0;
    if (saved.shape[i] < 0 || saved.strides[i] < 0 ||
        __builtin_mul_overflow(product, saved.shape[i], &product))
      return true;
    if (saved.shape[i] == 0) continue;
    if (__builtin_mul_overflow(saved.shape[i] - 1, saved.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return true;
  }
  if (product == 0) return false;
  std::uint64_t end = 0;
  return __builtin_mul_overflow(static_cast<std::uint64_t>(last) + 1, itemsize(saved.dtype),
                                &end) ||
         __builtin_add_overflow(end, saved.byte_offset, &end) || end > bytes;
}

}  // namespace

Tensor bytes_of(const TensorImpl& tensor, ByteSpan span) {
  const Tensor base = Tensor::share(const_cast<TensorImpl*>(&tensor));
  return view_as(base, Dtype::u8, span.begin, {static_cast<std::int64_t>(span.end - span.begin)},
                 {1});
}

Tensor tensor_over(const Tensor& bytes, const SavedTensor& saved, const char* op) {
  BP_CHECK(saved.shape.size() == saved.strides.size() &&
               saved.byte_offset % itemsize(saved.dtype) == 0 &&
               !reaches_past(saved, bytes.nbytes()),
           "{}: a tensor of shape {} with strides {} from byte {} on does not fit into its {} "
           "saved bytes; save the call again",
           op, to_string(saved.shape), to_string(saved.strides), saved.byte_offset, bytes.nbytes());
  check_rank(op, saved.shape.size());
  return view_as(bytes, saved.dtype, bytes.impl()->abi.dl.byte_offset + saved.byte_offset,
                 saved.shape, saved.strides);
}

}  // namespace bp::tracing
