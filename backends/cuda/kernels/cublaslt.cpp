#include "kernels/cublaslt.hpp"

#include <dlfcn.h>
#include <string>

#include <backplane/plugin.hpp>

namespace cuda_backend::cublaslt {
namespace {

// Where the loader looks (also what another library of the process, say PyTorch's, has opened already), then where the
// maker's installer puts it.
void* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name})
    if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  return nullptr;
}

template <class F> bool find(void* opened, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(opened, name));
  return function != nullptr;
}

bool find_all(void* opened, Library& l) {
  return find(opened, "cublasLtCreate", l.create) && find(opened, "cublasLtDestroy", l.destroy) &&
         find(opened, "cublasLtGetStatusString", l.status_string) &&
         find(opened, "cublasLtMatmul", l.matmul) &&
         find(opened, "cublasLtMatmulAlgoGetHeuristic", l.heuristic) &&
         find(opened, "cublasLtMatmulDescCreate", l.desc_create) &&
         find(opened, "cublasLtMatmulDescDestroy", l.desc_destroy) &&
         find(opened, "cublasLtMatmulDescSetAttribute", l.desc_set) &&
         find(opened, "cublasLtMatrixLayoutCreate", l.layout_create) &&
         find(opened, "cublasLtMatrixLayoutDestroy", l.layout_destroy) &&
         find(opened, "cublasLtMatrixLayoutSetAttribute", l.layout_set) &&
         find(opened, "cublasLtMatmulPreferenceCreate", l.preference_create) &&
         find(opened, "cublasLtMatmulPreferenceDestroy", l.preference_destroy) &&
         find(opened, "cublasLtMatmulPreferenceSetAttribute", l.preference_set);
}

const Library* load() {
  void* const opened = open_library();
  static Library found;
  if (opened != nullptr && find_all(opened, found)) return &found;
  const char* const why = dlerror();
  bp::log(bp::LogLevel::warning,
          "matmul: cuBLASLt %d was not found (%s); products run on generated kernels, which are "
          "slower; install CUDA's libraries or name their folder in LD_LIBRARY_PATH",
          CUBLAS_VER_MAJOR, why != nullptr ? why : "a function is missing");
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load();
  return found;
}

}  // namespace cuda_backend::cublaslt
