// OpenCL's C interface as this driver uses it: objects that release themselves, and its errors as Level Zero's.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <level_zero/ze_api.h>
#include <memory>
#include <string>
#include <type_traits>

namespace over_opencl {

// What ends an entry point; only guarded() catches it.
struct Failure {
  ze_result_t result;
};

template <auto Release> struct Releaser {
  template <class T> void operator()(T* object) const { Release(object); }
};
template <class T, auto Release>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Releaser<Release>>;

using OwnedQueue = Owned<cl_command_queue, clReleaseCommandQueue>;
using OwnedEvent = Owned<cl_event, clReleaseEvent>;
using OwnedProgram = Owned<cl_program, clReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, clReleaseKernel>;

// A reference of one's own.
inline OwnedEvent share(cl_event event) {
  if (event != nullptr) clRetainEvent(event);
  return OwnedEvent(event);
}

ze_result_t result_of(cl_int error);

inline void require(cl_int error) {
  if (error != CL_SUCCESS) throw Failure{result_of(error)};
}

std::string platform_text(cl_platform_id platform, cl_platform_info what);
std::string device_text(cl_device_id device, cl_device_info what);

// Zero where the device does not know the question.
template <class T> T device_value(cl_device_id device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) value = T{};
  return value;
}

}  // namespace over_opencl
