#include "kernels/cufft/library.hpp"

#include <dlfcn.h>
#include <string>

#include <backplane/plugin.hpp>

namespace cuda_backend::cufft {
namespace {

// Where the loader looks, then where the maker's installer puts it.
void* open_cufft() {
  const std::string name = "libcufft.so." + std::to_string(CUFFT_VER_MAJOR);
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name})
    if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  return nullptr;
}

template <class F> bool find_transform(void* opened, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(opened, name));
  return function != nullptr;
}

bool find_transforms(void* opened, Library& l) {
  return find_transform(opened, "cufftCreate", l.create) &&
         find_transform(opened, "cufftDestroy", l.destroy) &&
         find_transform(opened, "cufftSetAutoAllocation", l.set_auto_allocation) &&
         find_transform(opened, "cufftMakePlanMany64", l.make_plan_many) &&
         find_transform(opened, "cufftSetStream", l.set_stream) &&
         find_transform(opened, "cufftSetWorkArea", l.set_work_area) &&
         find_transform(opened, "cufftXtExec", l.exec);
}

const Library* load_cufft() {
  void* const opened = open_cufft();
  static Library found;
  if (opened != nullptr && find_transforms(opened, found)) return &found;
  const char* const why = dlerror();
  bp::log(
      bp::LogLevel::warning,
      "fft_c2c, fft_r2c, fft_c2r: cuFFT %d was not found (%s); they are computed by products of "
      "matrices, which is slower; install CUDA's libraries or name their folder in "
      "LD_LIBRARY_PATH",
      CUFFT_VER_MAJOR, why != nullptr ? why : "a function is missing");
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load_cufft();
  return found;
}

}  // namespace cuda_backend::cufft
