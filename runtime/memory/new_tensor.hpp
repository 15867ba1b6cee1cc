// How a TensorImpl is filled in for a new storage.
#pragma once

#include <cstdint>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/shape.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// All of a TensorImpl but shape, strides and what follows from them.
inline void fill_in(TensorImpl& impl, const DeviceRecord& record, Dtype dtype, std::size_t rank,
                    Storage* storage) {
  impl.abi.dl.data = storage ? reinterpret_cast<void*>(storage->handle) : nullptr;
  impl.abi.dl.device = {record.info.dl_device_type, record.info.dl_device_id};
  impl.abi.dl.ndim = static_cast<std::int32_t>(rank);
  impl.abi.dl.dtype = dl_dtype(dtype);
  impl.abi.dl.byte_offset = storage ? storage->offset : 0;
  impl.abi.device = record.device.number;
  impl.abi.space = 0;
  impl.abi.dtype = index(dtype);
  impl.abi.itemsize = itemsize(dtype);
  impl.backend = record.backend_number;
  impl.keys = thread_state().new_tensor_keys;
  impl.storage = storage;
}

// Takes over the storage's reference, whatever happens; it may be null.
inline TensorImpl* take_impl_for(Storage* storage) {
  try {
    return take_impl();
  } catch (...) {
    if (storage) storage->drop();
    throw;
  }
}

// The bytes from element 0 to the end of the furthest one; throws bad_argument, naming `op`, if shape
// and strides do not describe a tensor.
std::uint64_t strided_bytes(const char* op, IntList shape, IntList strides, Dtype dtype);

// Takes over `impl` and one reference to the storage. Cannot fail.
Tensor make_strided(TensorImpl* impl, const DeviceRecord& record, Storage* storage, IntList shape,
                    IntList strides, Dtype dtype);

}  // namespace bp
