// Text of a tensor, laid out as PyTorch does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// PyTorch's names and defaults.
struct PrintOptions {
  int precision = 4;              // digits after the point, 0 to 100
  std::int64_t threshold = 1000;  // more elements than this are summarized
  std::int64_t edgeitems = 3;     // shown at each end of a summarized dimension
  std::int64_t linewidth = 80;    // characters; lines of numbers break before it
  std::optional<bool> sci_mode;   // scientific notation; absent: where the numbers call for it
};

// The options of the process, used where none are given. Threads: any.
BP_API PrintOptions print_options();
// Throws bad_argument for a negative number, or a precision above 100.
BP_API void set_print_options(const PrintOptions& options);

// "tensor([1., 2.])", with dtype unless it is `default_dtype`, its complex type, int64 or bool, and
// with "device='...'" if `device` is not empty. The tensor is meta, or host-readable, synchronized
// and of any strides; only what is shown is read.
BP_API std::string format(const Tensor& tensor, const PrintOptions& options,
                          std::string_view device = {}, Dtype default_dtype = f32);

}  // namespace bp
