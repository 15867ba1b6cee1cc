#include "kernels/cusolver/library.hpp"

#include <backplane/plugin.hpp>

#include "kernels/opened_library.hpp"

namespace cuda_backend::cusolver {
namespace {

bool find_all_in_cusolver(void* opened, Library& l) {
  return find_function(opened, "cusolverDnCreate", l.create) &&
         find_function(opened, "cusolverDnDestroy", l.destroy) &&
         find_function(opened, "cusolverDnSetStream", l.set_stream) &&
         find_function(opened, "cusolverDnCreateParams", l.create_params) &&
         find_function(opened, "cusolverDnXpotrf_bufferSize", l.potrf_size) &&
         find_function(opened, "cusolverDnXpotrf", l.potrf) &&
         find_function(opened, "cusolverDnXgetrf_bufferSize", l.getrf_size) &&
         find_function(opened, "cusolverDnXgetrf", l.getrf) &&
         find_function(opened, "cusolverDnXgeqrf_bufferSize", l.geqrf_size) &&
         find_function(opened, "cusolverDnXgeqrf", l.geqrf) &&
         find_function(opened, "cusolverDnSorgqr_bufferSize", l.sorgqr_size) &&
         find_function(opened, "cusolverDnSorgqr", l.sorgqr) &&
         find_function(opened, "cusolverDnDorgqr_bufferSize", l.dorgqr_size) &&
         find_function(opened, "cusolverDnDorgqr", l.dorgqr) &&
         find_function(opened, "cusolverDnXsyevd_bufferSize", l.syevd_size) &&
         find_function(opened, "cusolverDnXsyevd", l.syevd) &&
         find_function(opened, "cusolverDnXgesvd_bufferSize", l.gesvd_size) &&
         find_function(opened, "cusolverDnXgesvd", l.gesvd);
}

const Library* load_cusolver() {
  void* const opened = open_library("libcusolver", CUSOLVER_VER_MAJOR);
  static Library found;
  if (opened != nullptr && find_all_in_cusolver(opened, found)) return &found;
  bp::log(
      bp::LogLevel::warning,
      "linear algebra: cuSOLVER %d was not found (%s); factorizations are computed from smaller "
      "operators, which is much slower; install CUDA's libraries or name their folder in "
      "LD_LIBRARY_PATH",
      CUSOLVER_VER_MAJOR, why_not_opened());
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load_cusolver();
  return found;
}

}  // namespace cuda_backend::cusolver
