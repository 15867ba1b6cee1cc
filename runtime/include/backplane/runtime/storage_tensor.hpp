// Tensors over storages that somebody else counts: for bridges to frameworks that have tensors of their own and keep
// Backplane's storages behind them, so that a tensor goes from one to the other without a copy.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// A tensor in main memory of the storage's device, which adds a reference of its own; `storage_offset` is in elements of
// `dtype`, from the start of the storage. It belongs to no layer and is not a view: two tensors over one storage know each other
// only by that. Throws bad_argument for a null storage, for shapes and strides that describe no tensor, and where the
// elements reach past the storage's bytes. Threads: any.
BP_API Tensor tensor_over_storage(Storage* storage, IntList shape, IntList strides, Dtype dtype,
                                  std::int64_t storage_offset = 0);

}  // namespace bp
