#include "kernels/cufft/library.hpp"

#include <backplane/plugin.hpp>

#include "kernels/opened_library.hpp"

namespace cuda_backend::cufft {
namespace {

bool find_transforms(void* opened, Library& l) {
  return find_function(opened, "cufftCreate", l.create) &&
         find_function(opened, "cufftDestroy", l.destroy) &&
         find_function(opened, "cufftSetAutoAllocation", l.set_auto_allocation) &&
         find_function(opened, "cufftMakePlanMany64", l.make_plan_many) &&
         find_function(opened, "cufftSetStream", l.set_stream) &&
         find_function(opened, "cufftSetWorkArea", l.set_work_area) &&
         find_function(opened, "cufftXtExec", l.exec);
}

const Library* load_cufft() {
  void* const opened = open_library("libcufft", CUFFT_VER_MAJOR);
  static Library found;
  if (opened != nullptr && find_transforms(opened, found)) return &found;
  bp::log(
      bp::LogLevel::warning,
      "fft_c2c, fft_r2c, fft_c2r: cuFFT %d was not found (%s); they are computed by products of "
      "matrices, which is slower; install CUDA's libraries or name their folder in "
      "LD_LIBRARY_PATH",
      CUFFT_VER_MAJOR, why_not_opened());
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load_cufft();
  return found;
}

}  // namespace cuda_backend::cufft
