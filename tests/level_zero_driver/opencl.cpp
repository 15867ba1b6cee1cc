#include "opencl.hpp"

#include <cstring>

namespace over_opencl {

ze_result_t result_of(cl_int error) {
  switch (error) {
    case CL_SUCCESS: return ZE_RESULT_SUCCESS;
    case CL_OUT_OF_HOST_MEMORY: return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case CL_OUT_OF_RESOURCES:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE: return ZE_RESULT_ERROR_DEVICE_LOST;
    case CL_BUILD_PROGRAM_FAILURE: return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    case CL_INVALID_BINARY: return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    case CL_INVALID_KERNEL_NAME: return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    case CL_INVALID_ARG_INDEX: return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    case CL_INVALID_ARG_SIZE: return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE: return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    case CL_INVALID_GLOBAL_WORK_SIZE: return ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION;
    case CL_MEM_COPY_OVERLAP: return ZE_RESULT_ERROR_OVERLAPPING_REGIONS;
    case CL_INVALID_VALUE:
    case CL_INVALID_ARG_VALUE:
    case CL_INVALID_KERNEL_ARGS: return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    case CL_INVALID_OPERATION: return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    default: return ZE_RESULT_ERROR_UNKNOWN;
  }
}

namespace {

// The answer of an OpenCL function of the usual form, without the zeros at its end.
template <class Ask> std::string text_of(Ask ask) {
  size_t bytes = 0;
  if (ask(size_t{0}, nullptr, &bytes) != CL_SUCCESS) return {};
  std::string text(bytes, '\0');
  if (ask(bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

}  // namespace

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  return text_of([=](size_t bytes, char* to, size_t* needed) {
    return clGetPlatformInfo(platform, what, bytes, to, needed);
  });
}

std::string device_text(cl_device_id device, cl_device_info what) {
  return text_of([=](size_t bytes, char* to, size_t* needed) {
    return clGetDeviceInfo(device, what, bytes, to, needed);
  });
}

}  // namespace over_opencl
