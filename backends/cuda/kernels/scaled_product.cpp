// _scaled_mm by cuBLASLt: products of 8-bit floats with one scale for each factor, which the library reads on the card.
// What it has no way for (rows of mat2 that follow each other, scales of rows and columns, results of 8 bits, cards
// without such products) is computed from other operators by the host.
#include <backplane/plugin.hpp>

#include "kernels/products.hpp"

namespace cuda_backend {
namespace {

cudaDataType_t element_type_of(bp::Dtype dtype) {
  if (dtype == bp::f8_e4m3fn) return CUDA_R_8F_E4M3;
  if (dtype == bp::f8_e5m2) return CUDA_R_8F_E5M2;
  if (dtype == bp::f16) return CUDA_R_16F;
  return dtype == bp::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

struct ScaledCall {
  bp::In a, b, scale_a, scale_b;
  std::optional<bp::In> bias;
  bool adds_fast;
  bp::Out out;

  int64_t m() const { return a.size(0); }
  int64_t n() const { return b.size(1); }
  int64_t k() const { return a.size(1); }
};

// The library's description of the operation, for one call.
class ScaledDescription {
 public:
  ScaledDescription(const cublaslt::Library& library, const ScaledCall& c) : library_(library) {
    require(library_, library_.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            "a description");
    try {
      describe(c);
    } catch (...) {
      library_.desc_destroy(desc_);
      throw;
    }
  }
  ~ScaledDescription() { library_.desc_destroy(desc_); }
  ScaledDescription(const ScaledDescription&) = delete;
  ScaledDescription& operator=(const ScaledDescription&) = delete;

  cublasLtMatmulDesc_t get() const { return desc_; }

 private:
  template <class T> void set(cublasLtMatmulDescAttributes_t which, T value) {
    require(library_, library_.desc_set(desc_, which, &value, sizeof value), "an attribute");
  }

  // The library counts columns first: our mat2 is its first factor.
  void describe(const ScaledCall& c) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, c.scale_b.data<void>());
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, c.scale_a.data<void>());
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(c.adds_fast));
    if (!c.bias) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, c.bias->data<void>());
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
        static_cast<int32_t>(element_type_of(c.bias->dtype())));
  }

  const cublaslt::Library& library_;
  cublasLtMatmulDesc_t desc_ = nullptr;
};

// What calls of the same shapes, strides and dtypes share: the layouts and the algorithm.
class ScaledPlan {
 public:
  ScaledPlan(const Products& products, const ScaledCall& c) : library_(products.library()) {
    try {
      describe(c);
      find_algorithm(products.handle(), c);
    } catch (...) {
      release();
      throw;
    }
  }
  ~ScaledPlan() { release(); }
  ScaledPlan(const ScaledPlan&) = delete;
  ScaledPlan& operator=(const ScaledPlan&) = delete;

  bool has_way() const { return has_way_; }
  uint64_t workspace_bytes() const { return found_.workspaceSize; }

  cublasStatus_t run(const Products& products, const ScaledCall& c, void* workspace,
                     cudaStream_t stream) const {
    constexpr float one = 1, zero = 0;
    const ScaledDescription description(library_, c);
    return library_.matmul(products.handle(), description.get(), &one, c.b.data<void>(), first_,
                           c.a.data<void>(), second_, &zero, c.out.data<void>(), out_,
                           c.out.data<void>(), out_, &found_.algo, workspace, found_.workspaceSize,
                           stream);
  }

 private:
  void describe(const ScaledCall& c) {
    const auto layout = [&](cublasLtMatrixLayout_t& made, bp::Dtype dtype, int64_t rows,
                            int64_t columns, int64_t leading) {
      require(library_,
              library_.layout_create(&made, element_type_of(dtype), static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), leading),
              "a layout");
    };
    layout(first_, c.b.dtype(), c.k(), c.n(), c.b.stride(1));
    layout(second_, c.a.dtype(), c.k(), c.m(), c.a.stride(0));
    layout(out_, c.out.dtype(), c.n(), c.m(), c.n());
  }

  void find_algorithm(cublasLtHandle_t handle, const ScaledCall& c) {
    const ScaledDescription description(library_, c);
    const DescribedProduct product{description.get(),
                                   first_,
                                   second_,
                                   out_,
                                   alignment_of(c.b.data<void>()),
                                   alignment_of(c.a.data<void>()),
                                   alignment_of(c.out.data<void>())};
    has_way_ = find_algorithms(library_, handle, product, {&found_, 1}) == 1;
  }

  void release() {
    for (cublasLtMatrixLayout_t layout : {first_, second_, out_})
      if (layout != nullptr) library_.layout_destroy(layout);
  }

  const cublaslt::Library& library_;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, out_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_{};
  bool has_way_ = false;
};

constexpr uint64_t workspace_alignment = 256;

bp::Result<bp::Planned<ScaledPlan>> plan_scaled(bp::Call call, bp::In a, bp::In b, bp::In scale_a,
                                                bp::In scale_b, std::optional<bp::In> bias,
                                                std::optional<bp::In>, std::optional<bp::Dtype>,
                                                bool fast, bp::Out out) {
  const OnCard card(call, "_scaled_mm");
  const OutsideCapture outside;  // the library allocates and loads
  const Products* const products = products_of(card);
  if (products == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);
  bp::Planned<ScaledPlan> planned{
      std::make_unique<ScaledPlan>(*products, ScaledCall{a, b, scale_a, scale_b, bias, fast, out})};
  if (!planned.own->has_way()) return bp::Status::from_host(BP_UNSUPPORTED);
  planned.workspace = planned.own->workspace_bytes();
  planned.alignment = workspace_alignment;
  return bp::Result<bp::Planned<ScaledPlan>>(std::move(planned));
}

bp::Status scaled_mm(bp::Call call, bp::In a, bp::In b, bp::In scale_a, bp::In scale_b,
                     std::optional<bp::In> bias, std::optional<bp::In>, std::optional<bp::Dtype>,
                     bool fast, bp::Out out) {
  const OnCard card(call, "_scaled_mm");
  const OutsideCapture outside;
  const Products* const products = products_of(card);
  const auto& plan = call.plan<ScaledPlan>();
  void* const workspace = plan.workspace_bytes() == 0 ? nullptr : call.workspace().address<void>();
  const cublasStatus_t status =
      plan.run(*products, {a, b, scale_a, scale_b, bias, fast, out}, workspace, card.stream());
  if (status == CUBLAS_STATUS_SUCCESS) return bp::ok;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return bp::Status::from_host(BP_UNSUPPORTED);
  // What the card says is the better reason. What the library alone refuses, the parts can compute.
  if (bp::Status failed = card.check_launches(); !failed.is_ok()) return failed;
  bp::log(bp::LogLevel::debug, "_scaled_mm: cuBLASLt refuses [%lld, %lld] by [%lld, %lld]: %s",
          static_cast<long long>(a.size(0)), static_cast<long long>(a.size(1)),
          static_cast<long long>(b.size(0)), static_cast<long long>(b.size(1)),
          products->library().status_string(status));
  return bp::Status::from_host(BP_UNSUPPORTED);
}

// Rows of input and columns of mat2 without gaps, in whole pieces of 16 bytes.
bool takes_scaled(bp::Call, bp::In a, bp::In b, bp::In scale_a, bp::In scale_b,
                  std::optional<bp::In> bias, std::optional<bp::In>, std::optional<bp::Dtype>, bool,
                  bp::Out out) {
  constexpr int64_t piece = 16;
  const auto is_whole = [](int64_t count) { return count > 0 && count % piece == 0; };
  const bool has_order = a.stride(1) == 1 && b.stride(0) == 1 && is_whole(a.stride(0)) &&
                         is_whole(b.stride(1)) && a.stride(0) >= a.size(1) &&
                         b.stride(1) >= b.size(0);
  const bool fits = a.size(0) > 0 && is_whole(a.size(1)) && is_whole(b.size(1));
  // The library takes a bias in the result's type, or in bf16 beside f32.
  const bool has_its_bias =
      !bias || bias->dtype() == (out.dtype() == bp::f32 ? bp::bf16 : out.dtype());
  return has_order && fits && has_its_bias && scale_a.numel() == 1 && scale_b.numel() == 1;
}

}  // namespace
}  // namespace cuda_backend

BP_KERNELS(cuda_scaled_mm) {
  using Op = bp::op::_scaled_mm;
  using place = Op::place;
  k.add<Op>(cuda_backend::scaled_mm)
      .plan(cuda_backend::plan_scaled)
      .dtypes(bp::f8_e4m3fn, bp::f8_e5m2)
      .dtypes(place::scale_a, bp::f32)
      .dtypes(place::scale_b, bp::f32)
      .dtypes(place::bias, bp::f16, bp::bf16)
      .dtypes(place::scale_result, bp::f32)
      .dtypes(place::out, bp::f32, bp::f16, bp::bf16)
      .layouts(place::input, bp::strided)
      .layouts(place::mat2, bp::strided)
      .alignment(place::input, 16)
      .alignment(place::mat2, 16)
      .alignment(place::bias, 16)
      .alignment(place::out, 16)
      .supports(cuda_backend::takes_scaled)
      .deterministic()
      .capturable();
}
