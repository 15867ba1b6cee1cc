// Tensors of any device as text, as PyTorch writes them. Options: tensor/printing.hpp.
#pragma once

#include <iosfwd>
#include <string>

#include <backplane/tensor/printing.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// "tensor([1., 2.])", with device and dtype unless they are the usual ones (the host; the default
// dtype, int64 or bool). Waits for the device; needs no kernels of the device.
BP_API std::string to_string(const Tensor& a);
BP_API std::string to_string(const Tensor& a, const PrintOptions& options);
BP_API std::ostream& operator<<(std::ostream& stream, const Tensor& a);

}  // namespace bp
