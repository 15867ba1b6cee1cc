// Bytes of a stranger's file that shall be bools.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include <backplane/files/file_errors.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::serialize {

// Throws bad_argument if a byte of a contiguous tensor of bools is neither 0 nor 1, which kernels do not expect.
inline void check_bools(const Tensor& tensor, std::string_view name, const std::string& file) {
  if (tensor.dtype() != boolean || tensor.numel() == 0) return;
  const auto* bytes = static_cast<const unsigned char*>(tensor.data_ptr());
  unsigned char all = 0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) all |= bytes[i];
  BP_CHECK(all <= 1,
           "{}: tensor {} is bool, and one of its bytes is neither 0 nor 1; read it as U8", file,
           files::shown(name));
}

}  // namespace bp::serialize
