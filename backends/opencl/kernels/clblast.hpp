// CLBlast, where it is installed: found at run time, so that the plugin loads without it.
#pragma once

#include "opencl.hpp"

#if __has_include(<clblast_c.h>)
#  include <clblast_c.h>
#  define BP_HAS_CLBLAST 1
#else
#  define BP_HAS_CLBLAST 0
#endif

namespace opencl::clblast {

// A product of row-major matrices, [m, k] by [k, n]; offsets and strides between rows (of what is stored) in elements.
struct Product {
  struct Matrix {
    cl_mem memory;
    uint64_t offset, stride;
    bool transposed;
  };
  bp::Dtype dtype;
  uint64_t m, n, k;
  Matrix a, b, c;
};

bool is_there();

// f32 and f64. Asynchronous on `commands`; the first product of a dtype compiles for seconds.
bp::Status multiply(const Product& product, cl_command_queue commands);

}  // namespace opencl::clblast
