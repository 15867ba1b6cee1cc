// Tensors over malloc'ed memory, for tests of what needs no device.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::test {

// A storage that counts itself, so that tests see what is given back and when.
struct TestStorage : Storage {
  static inline std::atomic<int> alive{0};

  explicit TestStorage(std::uint64_t size) {
    void* memory = std::calloc(size ? size : 1, 1);
    if (!memory) throw std::bad_alloc();
    handle = reinterpret_cast<bp_handle>(memory);
    bytes = size;
    device = Device{1};
    host_readable = true;
    release = [](Storage* storage) { delete static_cast<TestStorage*>(storage); };
    ++alive;
  }
  ~TestStorage() {
    std::free(reinterpret_cast<void*>(handle));
    --alive;
  }
};

// A tensor over all of `storage`, or over none for meta tensors.
inline Tensor make_tensor(Storage* storage, IntList shape, Dtype dtype) {
  TensorImpl* impl = take_impl();
  impl->abi.dl.data = storage ? reinterpret_cast<void*>(storage->handle) : nullptr;
  impl->abi.dl.device = {BP_DL_CPU, 0};
  impl->abi.dl.ndim = static_cast<int>(shape.size());
  impl->abi.dl.dtype = dl_dtype(dtype);
  impl->abi.dl.byte_offset = storage ? storage->offset : 0;
  impl->abi.device = storage ? storage->device.number : 0;
  impl->abi.space = 0;
  impl->abi.dtype = index(dtype);
  impl->abi.itemsize = itemsize(dtype);
  impl->backend = 0;
  impl->keys = 0;
  impl->storage = storage;
  if (storage) storage->retain();
  const Dims strides = contiguous_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    impl->shape[i] = shape[i];
    impl->strides[i] = strides[i];
  }
  update_layout(*impl);
  return Tensor::adopt(impl);
}

// Zeros, row-major.
inline Tensor make_tensor(IntList shape, Dtype dtype = f32) {
  const std::int64_t numel = checked_numel("make_tensor", shape);
  return make_tensor(new TestStorage(static_cast<std::uint64_t>(numel) * itemsize(dtype)), shape,
                     dtype);
}

inline Tensor make_meta_tensor(IntList shape, Dtype dtype = f32) {
  return make_tensor(static_cast<Storage*>(nullptr), shape, dtype);
}

// 0, 1, 2, ... as i64: each element is its own index in memory.
inline Tensor make_range(IntList shape) {
  Tensor tensor = make_tensor(shape, i64);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) tensor.data<std::int64_t>()[i] = i;
  return tensor;
}

template <class T> Tensor make_tensor_of(const std::vector<T>& values, IntList shape) {
  Tensor tensor = make_tensor(shape, DtypeOf<T>::value);
  if (!values.empty()) std::memcpy(tensor.data_ptr(), values.data(), values.size() * sizeof(T));
  return tensor;
}

}  // namespace bp::test
