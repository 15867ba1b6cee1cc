// The one allocation of the call path.
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/error.hpp>

namespace bp {

// Throws `error` again; one of memory that ran out with the name of the operator whose result had no room.
[[noreturn]] void throw_for_result_of(const Operator& op, const Error& error);

// What `make()` gives.
template <class Make> inline Tensor make_result_of(const Operator& op, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw_for_result_of(op, error);
  }
}

// A contiguous tensor of `like`'s shape on its device: what a common pointwise call returns.
// Everything that depends on the shape alone is copied.
inline Tensor empty_like_contiguous(const TensorImpl& like, Dtype dtype, DeviceRecord& record,
                                    std::uint64_t keys) {
  TensorImpl* impl = take_impl();
  impl->storage = nullptr;  // so that the tensor can be dropped if there is no memory
  Tensor result = Tensor::adopt(impl);
  const std::uint32_t bytes = itemsize(dtype);
  Storage* storage = allocate_storage(record, static_cast<std::uint64_t>(like.abi.numel) * bytes);
  impl->storage = storage;
  impl->backend = like.backend;
  impl->keys = keys;
  bp_tensor& abi = impl->abi;
  abi.flags = like.abi.flags;
  abi.dl.data = reinterpret_cast<void*>(storage->handle);
  abi.dl.device = like.abi.dl.device;
  abi.dl.ndim = like.abi.dl.ndim;
  abi.dl.dtype = dl_dtype(dtype);
  abi.dl.byte_offset = storage->offset;
  abi.device = like.abi.device;
  abi.space = 0;
  abi.numel = like.abi.numel;
  abi.dtype = index(dtype);
  abi.itemsize = bytes;
  for (std::int32_t i = 0; i < like.abi.dl.ndim; ++i) {
    impl->shape[i] = like.shape[i];
    impl->strides[i] = like.strides[i];
  }
  return result;
}

}  // namespace bp
