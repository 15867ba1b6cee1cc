// What the ways to multiply matrices share: oneDNN (matmul.cpp), loops (matmul_loops.cpp), and AMX (matmul_amx.cpp,
// matmul_split.cpp).
#pragma once

#include <cstdint>

#include <backplane/abi.h>

#include "../tensor_view.hpp"

namespace bp::cpu {

// A stack of matrices; strides in elements.
struct Matrix {
  const char* data;
  int64_t row_stride, column_stride;
  int64_t batch_stride;  // 0: one matrix for all
};

// out[i] = a[i] b[i] for `batch` products of [m, k] and [k, n], all sizes at least 1. `out` is
// row-major without gaps.
struct Product {
  uint32_t dtype;
  int64_t batch, m, n, k;
  Matrix a, b;
  char* out;
};

// True where a plain loop beats the cost of calling oneDNN.
bool is_tiny(const Product& product);

// oneDNN has no f16 on these processors: the core casts it to f32 and back, so that nobody needs it.
constexpr bp_dtype_set matmul_dtypes = numeric_dtypes & ~dtype_set({BP_F16});

// By the fastest way for its shape, or by what the tuner found. What is copied lies in memory of the call.
bp_code multiply(const bp_call* call, Product product, uint32_t itemsize);

// For any of these dtypes and any strides.
void multiply_by_loops(const Product& product);

}  // namespace bp::cpu
