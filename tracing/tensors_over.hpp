// Tensors of any dtype and strides over the bytes of a storage.
#pragma once

#include <backplane/tensor/tensor.hpp>
#include <backplane/tracing/saved_call.hpp>

namespace bp::tracing {

// All bytes of `span`, counted from the start of the allocation, as one vector of u8.
Tensor bytes_of(const TensorImpl& tensor, ByteSpan span);

// A tensor as it was saved, over a copy of its storage: a vector of u8. Throws bad_argument, naming `op`, if it would
// reach past it.
Tensor tensor_over(const Tensor& bytes, const SavedTensor& saved, const char* op);

}  // namespace bp::tracing
