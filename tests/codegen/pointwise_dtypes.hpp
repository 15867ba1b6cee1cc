// Which dtypes the elementwise rows are tested in: some at once, the others in the slow run. OpenCL's compiler takes
// tenths of a second for each kernel, so that fewer come at once there.
#pragma once

#include <span>
#include <string_view>

#include <backplane/tensor/dtype.hpp>

namespace bp::test {

inline constexpr Dtype row_dtypes[] = {f32, i32, f16, boolean, complex64, f64, bf16,      i64,
                                       u8,  i8,  i16, u16,     u32,       u64, complex128};

inline std::size_t num_quick_dtypes(std::string_view device) {
  return device.starts_with("opencl") ? 2 : 5;
}
inline std::span<const Dtype> quick_dtypes(std::string_view device) {
  return std::span(row_dtypes).first(num_quick_dtypes(device));
}
inline std::span<const Dtype> slow_dtypes(std::string_view device) {
  return std::span(row_dtypes).subspan(num_quick_dtypes(device));
}

}  // namespace bp::test
