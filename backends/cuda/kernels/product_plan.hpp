// A product of matrices as cuBLASLt takes it, and the algorithms that the library has for it.
#pragma once

#include <array>
#include <atomic>
#include <span>

#include <backplane/plugin.hpp>

#include "constants.hpp"
#include "kernels/cublaslt.hpp"

namespace cuda_backend {

// A factor whose rows, or, if `transposed`, whose columns lie without gaps; `leading` elements from one to the next.
struct Factor {
  const char* data;
  int64_t leading;
  int64_t batch_stride;  // 0: the same matrix for the whole batch
  bool transposed;
};

// out[m, n] = a[m, k] b[k, n], `batch` times; out in rows without gaps. Sizes are at least 1.
struct Product {
  bp::Dtype dtype;
  int64_t batch, m, n, k;
  Factor a, b;
  char* out;
  int64_t out_batch_stride;
};

// What all products that can share an algorithm have in common. Every field has eight bytes, so that keys are compared
// and hashed as words.
struct ProductKey {
  int64_t dtype, allow_tf32;
  int64_t measured;  // 1: the fastest of several algorithms is wanted, not always the same one
  int64_t batch, m, n, k;
  int64_t a_leading, a_batch, a_transposed, b_leading, b_batch, b_transposed, out_batch;
  int64_t a_alignment, b_alignment, out_alignment;
  bool operator==(const ProductKey&) const = default;
};

// Of the product, under the application's settings of now.
ProductKey key_of(const Product& product);

// Never 0.
uint64_t hash_of(const ProductKey& key);

// Throws bp::Failure for anything but success.
void require(const cublaslt::Library& library, cublasStatus_t status, const char* what);

// Of an address, as far as algorithms care: in bytes.
int64_t alignment_of(const void* address);

// A product as the library sees it, which counts columns first: our second factor is its first. Alignments in bytes.
struct DescribedProduct {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t first, second, out;
  int64_t first_alignment, second_alignment, out_alignment;
};

// Writes algorithms to the front of `found`, the one first that the library takes for the fastest, and returns how many;
// 0: it knows no way. Sums in parts are joined in the type that they are computed in. Throws bp::Failure.
size_t find_algorithms(const cublaslt::Library& library, cublasLtHandle_t handle,
                       const DescribedProduct& product,
                       std::span<cublasLtMatmulHeuristicResult_t> found);

// The algorithms that fit, the one first that the library takes for the fastest, and its descriptions of the matrices.
// Threads: any.
class ProductPlan {
 public:
  // One algorithm, or if the key is measured up to `most_algorithms`. Throws bp::Failure.
  ProductPlan(const cublaslt::Library& library, cublasLtHandle_t handle, const ProductKey& key);
  ~ProductPlan() { release(); }
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  // 0: the library knows no way.
  size_t num_algorithms() const { return num_algorithms_; }
  uint64_t workspace_bytes(size_t algorithm) const { return algorithms_[algorithm].workspaceSize; }
  // Asynchronous on `stream`.
  cublasStatus_t run(cublasLtHandle_t handle, const Product& product, size_t algorithm,
                     void* workspace, cudaStream_t stream) const;

  // Whether more measuring will not change the choice; until then it is the first algorithm.
  bool is_settled() const { return choice_.load(std::memory_order_relaxed) != open; }
  size_t choice() const {
    const size_t choice = choice_.load(std::memory_order_relaxed);
    return choice == open ? 0 : choice;
  }
  void settle(size_t algorithm) { choice_.store(algorithm, std::memory_order_relaxed); }

 private:
  static constexpr size_t most_algorithms = constants::most_algorithms, open = SIZE_MAX;

  void describe(const ProductKey& key);
  void choose_algorithms(cublasLtHandle_t handle, const ProductKey& key);
  void release();

  const cublaslt::Library& library_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  // In columns, as the library counts: our b is its first factor, and ours are transposed.
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, out_ = nullptr;
  std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> algorithms_{};
  size_t num_algorithms_ = 0;
  std::atomic<size_t> choice_{open};
  bool in_double_ = false;
};

}  // namespace cuda_backend
