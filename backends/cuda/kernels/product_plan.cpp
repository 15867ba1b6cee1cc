#include "kernels/product_plan.hpp"

#include <algorithm>
#include <cstring>

#include "constants.hpp"
#include "kernels/fastest_way.hpp"

namespace cuda_backend {
namespace {

// 16-bit floats and f32 are multiplied into f32, so that sums in parts are joined in f32 too: a scheme that joins them
// in the output's type would round every part.
struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};

Types types_of(bp::Dtype dtype, bool allow_tf32) {
  const cublasComputeType_t single = allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  if (dtype == bp::f16) return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  if (dtype == bp::bf16) return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  if (dtype == bp::f32) return {CUDA_R_32F, CUDA_R_32F, single};
  if (dtype == bp::f64) return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  if (dtype == bp::complex64) return {CUDA_C_32F, CUDA_C_32F, single};
  return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
}

bool is_worth_measuring(const Product& p) {
  const auto batch = static_cast<double>(p.batch), m = static_cast<double>(p.m),
             n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double operations = 2 * batch * m * n * k, elements = batch * (m * k + k * n + m * n);
  return operations >= constants::measured_product_operations ||
         elements >= constants::measured_product_elements;
}

}  // namespace

ProductKey key_of(const Product& p) {
  // Where nothing can be rounded the setting must not split the plans.
  const bool tf32 = (p.dtype == bp::f32 || p.dtype == bp::complex64) && bp::allow_tf32();
  const bool measured = is_worth_measuring(p) && measuring_is_on();
  return {static_cast<int64_t>(p.dtype),
          tf32,
          measured,
          p.batch,
          p.m,
          p.n,
          p.k,
          p.a.leading,
          p.a.batch_stride,
          p.a.transposed,
          p.b.leading,
          p.b.batch_stride,
          p.b.transposed,
          p.out_batch_stride,
          alignment_of(p.a.data),
          alignment_of(p.b.data),
          alignment_of(p.out)};
}

uint64_t hash_of(const ProductKey& key) {
  uint64_t words[sizeof(ProductKey) / 8];
  std::memcpy(words, &key, sizeof key);
  uint64_t hash = 0;
  for (uint64_t word : words) hash = (hash ^ word) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return hash | 1;
}

void require(const cublaslt::Library& library, cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const char* const text = library.status_string(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    throw bp::Failure{bp::out_of_memory("matmul: cuBLASLt: %s: %s", what, text)};
  throw bp::Failure{bp::internal("matmul: cuBLASLt: %s: %s", what, text)};
}

int64_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address);
  return static_cast<int64_t>(bits == 0 ? 256 : std::min<uintptr_t>(bits & -bits, 256));
}

size_t find_algorithms(const cublaslt::Library& library, cublasLtHandle_t handle,
                       const DescribedProduct& product,
                       std::span<cublasLtMatmulHeuristicResult_t> found) {
  cublasLtMatmulPreference_t preference = nullptr;
  require(library, library.preference_create(&preference), "a preference");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    return library.preference_set(preference, which, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
  };
  const auto alignment = [](int64_t bytes) { return static_cast<uint32_t>(bytes); };
  const bool is_set =
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, constants::product_workspace) &&
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
          uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}) &&
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(product.first_alignment)) &&
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(product.second_alignment)) &&
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(product.out_alignment)) &&
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(product.out_alignment));
  int count = 0;
  if (is_set && library.heuristic(handle, product.desc, product.first, product.second, product.out,
                                  product.out, preference, static_cast<int>(found.size()),
                                  found.data(), &count) != CUBLAS_STATUS_SUCCESS)
    count = 0;
  library.preference_destroy(preference);
  const auto last = std::remove_if(found.begin(), found.begin() + count, [](const auto& algorithm) {
    return algorithm.state != CUBLAS_STATUS_SUCCESS;
  });
  return static_cast<size_t>(last - found.begin());
}

ProductPlan::ProductPlan(const cublaslt::Library& library, cublasLtHandle_t handle,
                         const ProductKey& key)
    : library_(library) {
  try {
    describe(key);
    choose_algorithms(handle, key);
  } catch (...) {
    release();
    throw;
  }
}

void ProductPlan::release() {
  if (desc_ != nullptr) library_.desc_destroy(desc_);
  for (cublasLtMatrixLayout_t layout : {first_, second_, out_})
    if (layout != nullptr) library_.layout_destroy(layout);
}

void ProductPlan::describe(const ProductKey& key) {
  const Types types = types_of(static_cast<bp::Dtype>(key.dtype), key.allow_tf32 != 0);
  in_double_ = types.compute == CUBLAS_COMPUTE_64F;
  require(library_, library_.desc_create(&desc_, types.compute, types.scale), "a description");
  const auto set_operation = [&](cublasLtMatmulDescAttributes_t which, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    require(library_, library_.desc_set(desc_, which, &operation, sizeof operation), "transpose");
  };
  set_operation(CUBLASLT_MATMUL_DESC_TRANSA, key.b_transposed != 0);
  set_operation(CUBLASLT_MATMUL_DESC_TRANSB, key.a_transposed != 0);

  // `rows` by `columns` as our rows-first matrix is stored; the library counts columns first.
  const auto layout = [&](cublasLtMatrixLayout_t& made, int64_t rows, int64_t columns,
                          int64_t leading, int64_t batch_stride) {
    require(library_,
            library_.layout_create(&made, types.element, static_cast<uint64_t>(columns),
                                   static_cast<uint64_t>(rows), leading),
            "a layout");
    if (key.batch == 1) return;
    const auto count = static_cast<int32_t>(key.batch);
    require(library_,
            library_.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
            "a batch");
    require(library_,
            library_.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                sizeof batch_stride),
            "a batch's stride");
  };
  layout(first_, key.b_transposed ? key.n : key.k, key.b_transposed ? key.k : key.n, key.b_leading,
         key.b_batch);
  layout(second_, key.a_transposed ? key.k : key.m, key.a_transposed ? key.m : key.k, key.a_leading,
         key.a_batch);
  layout(out_, key.m, key.n, key.n, key.out_batch);
}

void ProductPlan::choose_algorithms(cublasLtHandle_t handle, const ProductKey& key) {
  const std::span wanted = std::span(algorithms_).first(key.measured ? most_algorithms : 1);
  num_algorithms_ = find_algorithms(
      library_, handle,
      {desc_, first_, second_, out_, key.b_alignment, key.a_alignment, key.out_alignment}, wanted);
  if (num_algorithms_ < 2) settle(0);
}

cublasStatus_t ProductPlan::run(cublasLtHandle_t handle, const Product& product, size_t algorithm,
                                void* workspace, cudaStream_t stream) const {
  // Real or complex: the library reads the imaginary part only where there is one.
  constexpr float one[2] = {1, 0}, zero[2] = {0, 0};
  constexpr double one_in_double[2] = {1, 0}, zero_in_double[2] = {0, 0};
  const void* const alpha = in_double_ ? static_cast<const void*>(one_in_double) : one;
  const void* const beta = in_double_ ? static_cast<const void*>(zero_in_double) : zero;
  return library_.matmul(handle, desc_, alpha, product.b.data, first_, product.a.data, second_,
                         beta, product.out, out_, product.out, out_, &algorithms_[algorithm].algo,
                         workspace, algorithms_[algorithm].workspaceSize, stream);
}

}  // namespace cuda_backend
