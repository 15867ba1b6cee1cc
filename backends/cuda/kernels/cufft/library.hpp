// cuFFT, opened when the first transform comes: a third of a gigabyte that other programs never map, and without which the
// plugin still loads.
#pragma once

#include <cufftXt.h>

namespace cuda_backend::cufft {

// The library's functions, under their names there.
struct Library {
  decltype(&::cufftCreate) create;
  decltype(&::cufftDestroy) destroy;
  decltype(&::cufftSetAutoAllocation) set_auto_allocation;
  decltype(&::cufftMakePlanMany64) make_plan_many;
  decltype(&::cufftSetStream) set_stream;
  decltype(&::cufftSetWorkArea) set_work_area;
  decltype(&::cufftXtExec) exec;
};

// Opened at the first call, never closed; null where it is not installed, which is said once in the log.
// Threads: any.
const Library* library();

}  // namespace cuda_backend::cufft
