// Writes a number as the bytes of one element.
#pragma once

#include <backplane/tensor/scalar.hpp>

namespace bp {

// Writes itemsize(dtype) bytes. Integers wrap, floats round to nearest, complex numbers keep both parts.
void number_to_bytes(const Scalar& value, Dtype dtype, void* out);

}  // namespace bp
