// cuSOLVER, opened when the first call comes that it can serve: hundreds of megabytes that other programs never map, and without
// which the plugin still loads.
#pragma once

#include <cusolverDn.h>

namespace cuda_backend::cusolver {

// The library's functions, under their names there.
struct Library {
  decltype(&::cusolverDnCreate) create;
  decltype(&::cusolverDnDestroy) destroy;
  decltype(&::cusolverDnSetStream) set_stream;
  decltype(&::cusolverDnCreateParams) create_params;
  decltype(&::cusolverDnXpotrf_bufferSize) potrf_size;
  decltype(&::cusolverDnXpotrf) potrf;
  decltype(&::cusolverDnXgetrf_bufferSize) getrf_size;
  decltype(&::cusolverDnXgetrf) getrf;
  decltype(&::cusolverDnXgeqrf_bufferSize) geqrf_size;
  decltype(&::cusolverDnXgeqrf) geqrf;
  decltype(&::cusolverDnSorgqr_bufferSize) sorgqr_size;
  decltype(&::cusolverDnSorgqr) sorgqr;
  decltype(&::cusolverDnDorgqr_bufferSize) dorgqr_size;
  decltype(&::cusolverDnDorgqr) dorgqr;
  decltype(&::cusolverDnXsyevd_bufferSize) syevd_size;
  decltype(&::cusolverDnXsyevd) syevd;
  decltype(&::cusolverDnXgesvd_bufferSize) gesvd_size;
  decltype(&::cusolverDnXgesvd) gesvd;
};

// Opened at the first call, never closed; null where it is not installed, which is said once in the log. Threads: any.
const Library* library();

}  // namespace cuda_backend::cusolver
