#include "level_zero.hpp"

#include <cstdio>
#include <dlfcn.h>

namespace level_zero {
namespace {

template <class Function> bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The first function that the loader lacks; null if it has all.
const char* find_all(void* library) {
#define BP_LEVEL_ZERO_FIND(name) \
  if (!find(library, #name, loader.name)) return #name;
  BP_LEVEL_ZERO_FUNCTIONS(BP_LEVEL_ZERO_FIND)
#undef BP_LEVEL_ZERO_FIND
#define BP_LEVEL_ZERO_FIND(name) find(library, #name, loader.name);
  BP_LEVEL_ZERO_NEWER_FUNCTIONS(BP_LEVEL_ZERO_FIND)
#undef BP_LEVEL_ZERO_FIND
  return nullptr;
}

std::string load() {
  // Never closed: drivers keep threads of their own.
  void* library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return std::string("Level Zero's loader is not installed here, or it does not load (") +
           (why != nullptr ? why : "libze_loader.so.1") + "); install libze1";
  }
  if (const char* missing = find_all(library))
    return std::string("Level Zero's loader (libze_loader.so.1) lacks ") + missing + "; update it";
  const ze_result_t result = loader.zeInit(0);
  if (result == ZE_RESULT_SUCCESS) return {};
  if (result == ZE_RESULT_ERROR_UNINITIALIZED)
    return "no Level Zero driver is installed here, or none of them starts; install the device's "
           "own, such as intel-level-zero-gpu (the loader also takes those that "
           "ZE_ENABLE_ALT_DRIVERS names)";
  return "Level Zero does not start: zeInit: " + name_of(result);
}

const char* text_of(ze_result_t result) {
#define BP_NAME(code) \
  case code: return #code;
  switch (result) {
    BP_NAME(ZE_RESULT_NOT_READY)
    BP_NAME(ZE_RESULT_ERROR_DEVICE_LOST)
    BP_NAME(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
    BP_NAME(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)
    BP_NAME(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)
    BP_NAME(ZE_RESULT_ERROR_MODULE_LINK_FAILURE)
    BP_NAME(ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET)
    BP_NAME(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE)
    BP_NAME(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS)
    BP_NAME(ZE_RESULT_ERROR_NOT_AVAILABLE)
    BP_NAME(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE)
    BP_NAME(ZE_RESULT_ERROR_UNINITIALIZED)
    BP_NAME(ZE_RESULT_ERROR_UNSUPPORTED_VERSION)
    BP_NAME(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
    BP_NAME(ZE_RESULT_ERROR_INVALID_ARGUMENT)
    BP_NAME(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)
    BP_NAME(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE)
    BP_NAME(ZE_RESULT_ERROR_INVALID_NULL_POINTER)
    BP_NAME(ZE_RESULT_ERROR_INVALID_SIZE)
    BP_NAME(ZE_RESULT_ERROR_UNSUPPORTED_SIZE)
    BP_NAME(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT)
    BP_NAME(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT)
    BP_NAME(ZE_RESULT_ERROR_INVALID_ENUMERATION)
    BP_NAME(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION)
    BP_NAME(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT)
    BP_NAME(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY)
    BP_NAME(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME)
    BP_NAME(ZE_RESULT_ERROR_INVALID_KERNEL_NAME)
    BP_NAME(ZE_RESULT_ERROR_INVALID_FUNCTION_NAME)
    BP_NAME(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION)
    BP_NAME(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION)
    BP_NAME(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX)
    BP_NAME(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE)
    BP_NAME(ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE)
    BP_NAME(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED)
    BP_NAME(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE)
    BP_NAME(ZE_RESULT_ERROR_OVERLAPPING_REGIONS)
    BP_NAME(ZE_RESULT_ERROR_UNKNOWN)
    default: return "a Level Zero result without a known name";
  }
#undef BP_NAME
}

}  // namespace

constinit Loader loader;

const std::string& load_loader() {
  // Never destroyed: threads outlive static objects.
  static const std::string* const why = new std::string(load());
  return *why;
}

std::string name_of(ze_result_t result) {
  char code[16];
  std::snprintf(code, sizeof code, " (0x%x)", static_cast<unsigned>(result));
  return std::string(text_of(result)) + code;
}

bp_code class_of(ze_result_t result) {
  switch (result) {
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY: return BP_OUT_OF_MEMORY;
    case ZE_RESULT_ERROR_DEVICE_LOST:
    case ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET: return BP_DEVICE_LOST;
    case ZE_RESULT_NOT_READY: return BP_RETRY;
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE:
    case ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT:
    case ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION: return BP_UNSUPPORTED;
    case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
    case ZE_RESULT_ERROR_MODULE_LINK_FAILURE:
    case ZE_RESULT_ERROR_INVALID_NATIVE_BINARY:
    case ZE_RESULT_ERROR_OVERLAPPING_REGIONS: return BP_BAD_ARGUMENT;
    default: return BP_INTERNAL;
  }
}

bp::Status failed(const char* what, ze_result_t result) {
  return bp::error(class_of(result), "%s: %s", what, name_of(result).c_str());
}

}  // namespace level_zero
