// The same memory as a tensor of PyTorch and as one of Backplane. A storage of PyTorch's on our device type has a bp::Storage
// as the context of its DataPtr, which it holds a reference to; nothing is ever copied between the two.
#pragma once

#include <ATen/core/Tensor.h>
#include <optional>

#include <backplane/tensor/tensor.hpp>

namespace bp::bridge {

// Dtypes that only one side knows have no counterpart.
std::optional<Dtype> dtype_of(c10::ScalarType type);
c10::ScalarType torch_dtype(Dtype dtype);

// The storage behind a tensor on our device type. Throws c10::Error for one that others made (from_blob).
Storage& storage_of(const c10::Storage& storage);
// A DataPtr that takes over one reference.
c10::DataPtr data_ptr_of(Storage* storage);

// Allocates; what Backplane says of memory that ran out is PyTorch's OutOfMemoryError.
template <class Allocate> auto with_memory(const Allocate& allocate) {
  try {
    return allocate();
  } catch (const Error& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, error.error_class() != ErrorClass::out_of_memory,
                     error.what());
    throw;
  }
}

inline bool is_ours(const at::Tensor& tensor) {
  return tensor.device().type() == c10::DeviceType::PrivateUse1;
}

// A tensor of Backplane over the memory of one on our device type. Throws c10::Error for a dtype that Backplane lacks.
Tensor borrow(const at::Tensor& tensor);
// The other way round; PyTorch's tensor takes over the memory, which no other one of PyTorch's has.
at::Tensor lend(const Tensor& tensor);

// Writes the allocator of our device type, which is PyTorch's from then on.
void register_allocator();

}  // namespace bp::bridge
