#include "kernels/cublaslt.hpp"

#include <backplane/plugin.hpp>

#include "kernels/opened_library.hpp"

namespace cuda_backend::cublaslt {
namespace {

bool find_all(void* opened, Library& l) {
  return find_function(opened, "cublasLtCreate", l.create) &&
         find_function(opened, "cublasLtDestroy", l.destroy) &&
         find_function(opened, "cublasLtGetVersion", l.version) &&
         find_function(opened, "cublasLtGetStatusString", l.status_string) &&
         find_function(opened, "cublasLtMatmul", l.matmul) &&
         find_function(opened, "cublasLtMatmulAlgoGetHeuristic", l.heuristic) &&
         find_function(opened, "cublasLtMatmulDescCreate", l.desc_create) &&
         find_function(opened, "cublasLtMatmulDescDestroy", l.desc_destroy) &&
         find_function(opened, "cublasLtMatmulDescSetAttribute", l.desc_set) &&
         find_function(opened, "cublasLtMatrixLayoutCreate", l.layout_create) &&
         find_function(opened, "cublasLtMatrixLayoutDestroy", l.layout_destroy) &&
         find_function(opened, "cublasLtMatrixLayoutSetAttribute", l.layout_set) &&
         find_function(opened, "cublasLtMatmulPreferenceCreate", l.preference_create) &&
         find_function(opened, "cublasLtMatmulPreferenceDestroy", l.preference_destroy) &&
         find_function(opened, "cublasLtMatmulPreferenceSetAttribute", l.preference_set);
}

const Library* load() {
  void* const opened = open_library("libcublasLt", CUBLAS_VER_MAJOR);
  static Library found;
  if (opened != nullptr && find_all(opened, found)) return &found;
  bp::log(bp::LogLevel::warning,
          "matmul: cuBLASLt %d was not found (%s); products run on generated kernels, which are "
          "slower; install CUDA's libraries or name their folder in LD_LIBRARY_PATH",
          CUBLAS_VER_MAJOR, why_not_opened());
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load();
  return found;
}

}  // namespace cuda_backend::cublaslt
