// New tensors: memory without values.
#include <algorithm>
#include <utility>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/spaces.hpp>
#include <backplane/tensor/check.hpp>

#include "memory/new_tensor.hpp"

namespace bp {
namespace {

// Bytes of `shape`; throws for what checked_numel throws, and for more bytes than a size can say.
std::uint64_t checked_bytes(const char* op, IntList shape, Dtype dtype) {
  check_is_dtype(op, dtype);
  const std::int64_t numel = checked_numel(op, shape);
  std::int64_t bytes = 0;
  BP_CHECK(!__builtin_mul_overflow(numel, std::int64_t{itemsize(dtype)}, &bytes),
           "{}: shape {} of {} has more than 2^63 - 1 bytes; make it smaller", op, to_string(shape),
           name(dtype));
  return static_cast<std::uint64_t>(bytes);
}

// The same where nothing is odd about shape and dtype, in a nanosecond; negative: ask checked_bytes.
inline std::int64_t plain_bytes(IntList shape, Dtype dtype) {
  if (index(dtype) >= num_dtypes) [[unlikely]]
    return -1;
  std::int64_t bytes = itemsize(dtype);
  bool odd = false;
  for (const std::int64_t size : shape)
    odd |= size < 0 || __builtin_mul_overflow(bytes, size, &bytes);
  return odd ? -1 : bytes;
}

inline Storage* storage_for(DeviceRecord& record, std::uint64_t bytes) {
  return record.backend ? allocate_storage(record, bytes) : nullptr;
}

inline void set_contiguous(TensorImpl& impl, IntList shape) {
  std::uint64_t stride = 1;
  std::uint64_t numel = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<std::uint64_t>(shape[i]);
    impl.shape[i] = shape[i];
    impl.strides[i] = static_cast<std::int64_t>(stride);
    stride *= size | (size == 0);
    numel *= size;
  }
  impl.abi.numel = static_cast<std::int64_t>(numel);
  impl.abi.flags = BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED;
  if (shape.size() == 4) update_layout(impl);  // may be channels_last as well
}

void set_channels_last(TensorImpl& impl, IntList shape) {
  std::uint64_t stride = 1;
  for (const std::size_t dim : {1, 3, 2, 0}) {
    impl.shape[dim] = shape[dim];
    impl.strides[dim] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[dim], 1));
  }
  update_layout(impl);
}

}  // namespace

Tensor empty_tensor(IntList shape, Dtype dtype, Device device, MemoryFormat format) {
  if (shape.size() > max_rank) [[unlikely]]
    check_rank("empty", shape.size());
  BP_CHECK(format == MemoryFormat::contiguous || shape.size() == 4,
           "empty: channels_last needs rank 4, not shape {}", to_string(shape));
  DeviceRecord& record = device_record(device);
  std::int64_t bytes = plain_bytes(shape, dtype);
  if (bytes < 0) [[unlikely]]
    bytes = static_cast<std::int64_t>(checked_bytes("empty", shape, dtype));
  Storage* storage = storage_for(record, static_cast<std::uint64_t>(bytes));
  TensorImpl* impl = take_impl_for(storage);
  fill_in(*impl, record, dtype, shape.size(), storage);
  if (format == MemoryFormat::contiguous) [[likely]]
    set_contiguous(*impl, shape);
  else
    set_channels_last(*impl, shape);
  return Tensor::adopt(impl);
}

bool resize_empty_tensor(const Tensor& tensor, IntList shape) {
  TensorImpl& to = *tensor.impl();
  if (to.abi.numel != 0 || to.view_base || to.num_views() != 0) return false;
  const Tensor made = empty_tensor_in(to.abi.space, shape, tensor.dtype(), tensor.device());
  TensorImpl& from = *made.impl();
  std::swap(to.storage, from.storage);
  to.abi.dl.data = from.abi.dl.data;
  to.abi.dl.byte_offset = from.abi.dl.byte_offset;
  to.abi.dl.ndim = from.abi.dl.ndim;
  to.abi.numel = from.abi.numel;
  to.abi.flags = from.abi.flags;
  std::copy_n(from.shape, shape.size(), to.shape);
  std::copy_n(from.strides, shape.size(), to.strides);
  return true;
}

// The bytes from element 0 to the end of the furthest one.
std::uint64_t strided_bytes(const char* op, IntList shape, IntList strides, Dtype dtype) {
  check_is_dtype(op, dtype);
  check_rank(op, shape.size());
  BP_CHECK(shape.size() == strides.size(), "{}: shape {} and strides {} differ in length", op,
           to_string(shape), to_string(strides));
  const std::int64_t numel = checked_numel(op, shape);
  std::int64_t last = 0;
  bool overflow = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    BP_CHECK(strides[i] >= 0,
             "{}: stride {} of dimension {} is negative; flip the elements instead", op, strides[i],
             i);
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(std::max<std::int64_t>(shape[i] - 1, 0), strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  if (numel == 0) return 0;
  std::int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, std::int64_t{itemsize(dtype)}, &bytes);
  BP_CHECK(!overflow, "{}: shape {} with strides {} of {} reaches beyond 2^63 - 1 bytes", op,
           to_string(shape), to_string(strides), name(dtype));
  return static_cast<std::uint64_t>(bytes);
}

Tensor make_strided(TensorImpl* impl, const DeviceRecord& record, Storage* storage, IntList shape,
                    IntList strides, Dtype dtype) {
  fill_in(*impl, record, dtype, shape.size(), storage);
  std::copy(shape.begin(), shape.end(), impl->shape);
  std::copy(strides.begin(), strides.end(), impl->strides);
  update_layout(*impl);
  return Tensor::adopt(impl);
}

Tensor empty_strided_tensor(IntList shape, IntList strides, Dtype dtype, Device device) {
  const std::uint64_t bytes = strided_bytes("empty_strided", shape, strides, dtype);
  DeviceRecord& record = device_record(device);
  Storage* storage = storage_for(record, bytes);
  return make_strided(take_impl_for(storage), record, storage, shape, strides, dtype);
}

}  // namespace bp
