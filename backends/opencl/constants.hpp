// From which sizes on a way pays on an OpenCL device: what was chosen and not measured against other values. What follows from a
// device or from the language stays where it is used.
#pragma once

#include <cstdint>

namespace opencl::constants {

// Multiplications of a product from which it is offered to CLBlast; smaller ones are over before the library has chosen its kernel.
// The host measures it against the generated kernel, which it takes while it knows nothing of either.
inline constexpr uint64_t offered_product = uint64_t{1} << 18;

}  // namespace opencl::constants
