// Single elements in host memory, as numbers.
#pragma once

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {

BP_API Scalar load_number(const void* element, Dtype dtype);

// Writes itemsize(dtype) bytes. Converts as cast does: toward zero, nonzero is true.
BP_API void store_number(const Scalar& number, Dtype dtype, void* element);

}  // namespace bp
