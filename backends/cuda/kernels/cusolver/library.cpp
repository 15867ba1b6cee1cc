#include "kernels/cusolver/library.hpp"

#include <dlfcn.h>
#include <string>

#include <backplane/plugin.hpp>

namespace cuda_backend::cusolver {
namespace {

// Where the loader looks, then where the maker's installer puts it.
void* open_cusolver() {
  const std::string name = "libcusolver.so." + std::to_string(CUSOLVER_VER_MAJOR);
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name})
    if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  return nullptr;
}

template <class F> bool find_in_cusolver(void* opened, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(opened, name));
  return function != nullptr;
}

bool find_all_in_cusolver(void* opened, Library& l) {
  return find_in_cusolver(opened, "cusolverDnCreate", l.create) &&
         find_in_cusolver(opened, "cusolverDnDestroy", l.destroy) &&
         find_in_cusolver(opened, "cusolverDnSetStream", l.set_stream) &&
         find_in_cusolver(opened, "cusolverDnCreateParams", l.create_params) &&
         find_in_cusolver(opened, "cusolverDnXpotrf_bufferSize", l.potrf_size) &&
         find_in_cusolver(opened, "cusolverDnXpotrf", l.potrf) &&
         find_in_cusolver(opened, "cusolverDnXgetrf_bufferSize", l.getrf_size) &&
         find_in_cusolver(opened, "cusolverDnXgetrf", l.getrf) &&
         find_in_cusolver(opened, "cusolverDnXgeqrf_bufferSize", l.geqrf_size) &&
         find_in_cusolver(opened, "cusolverDnXgeqrf", l.geqrf) &&
         find_in_cusolver(opened, "cusolverDnSorgqr_bufferSize", l.sorgqr_size) &&
         find_in_cusolver(opened, "cusolverDnSorgqr", l.sorgqr) &&
         find_in_cusolver(opened, "cusolverDnDorgqr_bufferSize", l.dorgqr_size) &&
         find_in_cusolver(opened, "cusolverDnDorgqr", l.dorgqr) &&
         find_in_cusolver(opened, "cusolverDnXsyevd_bufferSize", l.syevd_size) &&
         find_in_cusolver(opened, "cusolverDnXsyevd", l.syevd) &&
         find_in_cusolver(opened, "cusolverDnXgesvd_bufferSize", l.gesvd_size) &&
         find_in_cusolver(opened, "cusolverDnXgesvd", l.gesvd);
}

const Library* load_cusolver() {
  void* const opened = open_cusolver();
  static Library found;
  if (opened != nullptr && find_all_in_cusolver(opened, found)) return &found;
  const char* const why = dlerror();
  bp::log(
      bp::LogLevel::warning,
      "linear algebra: cuSOLVER %d was not found (%s); factorizations are computed from smaller "
      "operators, which is much slower; install CUDA's libraries or name their folder in "
      "LD_LIBRARY_PATH",
      CUSOLVER_VER_MAJOR, why != nullptr ? why : "a function is missing");
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load_cusolver();
  return found;
}

}  // namespace cuda_backend::cusolver
