#include "cuda.hpp"

#include <dlfcn.h>

namespace cuda_backend {
namespace {

template <class Function> bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The first function that the driver lacks; null if it has all.
const char* find_all(void* library) {
#define BP_CUDA_TEXT(name) #name
#define BP_CUDA_FIND(name) \
  if (!find(library, BP_CUDA_TEXT(name), driver.name)) return BP_CUDA_TEXT(name);
  BP_CUDA_FUNCTIONS(BP_CUDA_FIND)
#undef BP_CUDA_FIND
#undef BP_CUDA_TEXT
  return nullptr;
}

std::string too_old(int version) {
  return "the NVIDIA driver is too old: it speaks CUDA " + version_text(version) +
         ", and this plugin was built with CUDA " + version_text(CUDA_VERSION) +
         " and needs a driver for " + std::to_string(CUDA_VERSION / 1000) +
         ".0 or later; update the driver, or build the plugin with an older toolkit";
}

std::string load() {
  // Never closed: the driver keeps threads of its own.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return std::string("no NVIDIA driver is installed here, or it does not load (") +
           (why != nullptr ? why : "libcuda.so.1") + "); install the driver of the card";
  }
  // Before all others, since an old driver lacks some of them.
  int version = 0;
  if (!find(library, "cuDriverGetVersion", driver.cuDriverGetVersion) ||
      driver.cuDriverGetVersion(&version) != CUDA_SUCCESS)
    return "the NVIDIA driver (libcuda.so.1) does not tell its version; install it again";
  // Binaries of a toolkit run on every driver of the same major version.
  if (version / 1000 < CUDA_VERSION / 1000) return too_old(version);
  if (const char* missing = find_all(library))
    return std::string("the NVIDIA driver (libcuda.so.1) lacks ") + missing + "; update the driver";
  const CUresult error = driver.cuInit(0);
  if (error == CUDA_ERROR_NO_DEVICE)
    return "an NVIDIA driver is installed, but it sees no card (CUDA_VISIBLE_DEVICES hides some or "
           "all of them where it is set)";
  if (error != CUDA_SUCCESS) return "the NVIDIA driver does not start: cuInit: " + name_of(error);
  return {};
}

}  // namespace

constinit Driver driver;

const std::string& load_driver() {
  // Never destroyed: threads outlive static objects.
  static const std::string* const why = new std::string(load());
  return *why;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string name_of(int error) {
  const char *name = nullptr, *text = nullptr;
  if (driver.cuGetErrorName != nullptr && driver.cuGetErrorString != nullptr) {
    driver.cuGetErrorName(static_cast<CUresult>(error), &name);
    driver.cuGetErrorString(static_cast<CUresult>(error), &text);
  }
  return std::string(name != nullptr ? name : "a CUDA error without a known name") + " (" +
         std::to_string(error) + (text != nullptr ? std::string(": ") + text : std::string()) + ")";
}

bp_code class_of(int error) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY: return BP_OUT_OF_MEMORY;
    case CUDA_ERROR_NOT_READY: return BP_RETRY;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:  // of CUDA's default stream
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: return BP_UNSUPPORTED;
    // After these every call in the context fails with the same code.
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return BP_DEVICE_LOST;
    default: return BP_INTERNAL;
  }
}

int first_lost_card(int ordinal) {
  static std::atomic<int> first{-1};
  int none = -1;
  return first.compare_exchange_strong(none, ordinal) ? ordinal : none;
}

bp::Status failed(const char* what, int error) {
  return bp::error(class_of(error), "%s: %s", what, name_of(error).c_str());
}

}  // namespace cuda_backend
