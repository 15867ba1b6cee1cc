// What stands before the numbers of a .npy file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/dtype.hpp>

namespace bp::data {

struct NumpyHeader {
  Dtype dtype = Dtype::f32;
  bool is_swapped = false;  // of the other byte order than this machine
  bool is_fortran = false;  // the first dimension varies fastest
  std::vector<std::int64_t> shape;
  std::uint64_t data_begin = 0;  // bytes
  std::uint64_t data_bytes = 0;
};

// Throws bad_argument, which begins with `name`, unless `bytes` are a whole file.
NumpyHeader numpy_header(std::string_view bytes, const std::string& name);

// "<f4"; empty for what NumPy does not have.
std::string numpy_descr(Dtype dtype);

}  // namespace bp::data
