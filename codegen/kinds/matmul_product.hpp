// A call of matmul or bmm as matrices and strides, in the form that costs the kernels least.
#pragma once

#include <array>
#include <cstdint>

#include "device/invocation.hpp"

namespace bp::codegen {

// Batch dimensions that a kernel walks; neighbours that can be joined are.
inline constexpr int max_batch_rank = 6;
using BatchArray = std::array<std::int64_t, max_batch_rank>;

// One operand. Strides in elements; 0 where it is broadcast.
struct Matrix {
  bp_handle memory = 0;
  std::int64_t start = 0;  // of its first element, in bytes
  std::int64_t row = 0, column = 0;
  BatchArray batch{};

  bool is_same_in_all_batches() const { return batch == BatchArray{}; }
};

// out[m, n] = a[m, k] * b[k, n], for every batch.
struct Product {
  Dtype dtype{};
  std::int64_t m = 0, n = 0, k = 0;
  int batch_rank = 0;
  BatchArray batch_size{};
  Matrix a, b, out;

  std::int64_t num_batches() const;
  // Multiplications, saturating.
  std::int64_t work_per_batch() const;
};

// Throws unsupported for batches of more dimensions than a kernel walks.
Product product_of(const bp_call& call);

}  // namespace bp::codegen
