// Tensors over a given storage.
#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/storage_tensor.hpp>
#include <backplane/tensor/check.hpp>

#include "memory/new_tensor.hpp"

namespace bp {

Tensor tensor_over_storage(Storage* storage, IntList shape, IntList strides, Dtype dtype,
                           std::int64_t storage_offset) {
  constexpr const char* op = "tensor_over_storage";
  BP_CHECK(storage, "{}: the storage is null", op);
  const std::uint64_t bytes = strided_bytes(op, shape, strides, dtype);
  std::int64_t start = 0;
  const bool fits =
      storage_offset >= 0 &&
      !__builtin_mul_overflow(storage_offset, std::int64_t{itemsize(dtype)}, &start) &&
      (bytes == 0 ||
       (bytes <= storage->bytes && static_cast<std::uint64_t>(start) <= storage->bytes - bytes));
  BP_CHECK(fits,
           "{}: shape {} with strides {} of {} from element {} on reaches past the storage's {} "
           "bytes; give a shape that fits",
           op, to_string(shape), to_string(strides), name(dtype), storage_offset, storage->bytes);
  DeviceRecord& record = device_record(storage->device);
  TensorImpl* impl = take_impl();
  storage->retain();
  Tensor tensor = make_strided(impl, record, storage, shape, strides, dtype);
  impl->abi.dl.byte_offset = storage->offset + static_cast<std::uint64_t>(start);
  impl->abi.space = storage->space;
  impl->keys = 0;
  return tensor;
}

}  // namespace bp
