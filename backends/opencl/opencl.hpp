// OpenCL's own C interface as this plugin uses it: the headers, objects that release themselves, and its errors as
// statuses of ours.
#pragma once

// Functions beyond 1.2 are called only where the device says that it has them.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <memory>
#include <string>
#include <type_traits>

#include <backplane/plugin.hpp>

namespace opencl {

template <auto Release> struct Releaser {
  template <class T> void operator()(T* object) const { Release(object); }
};
template <class T, auto Release>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Releaser<Release>>;

using OwnedContext = Owned<cl_context, clReleaseContext>;
using OwnedQueue = Owned<cl_command_queue, clReleaseCommandQueue>;
using OwnedEvent = Owned<cl_event, clReleaseEvent>;
using OwnedProgram = Owned<cl_program, clReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, clReleaseKernel>;
using OwnedBuffer = Owned<cl_mem, clReleaseMemObject>;

// "CL_OUT_OF_RESOURCES (-5)".
std::string name_of(cl_int error);

// The class of an error that has no better explanation at its place.
bp_code class_of(cl_int error);

// The status of a call that did not succeed: "WHAT: CL_OUT_OF_RESOURCES (-5)".
bp::Status failed(const char* what, cl_int error);

// ok for CL_SUCCESS, else as failed().
inline bp::Status check(const char* what, cl_int error) {
  return error == CL_SUCCESS ? bp::ok : failed(what, error);
}

// The same where a constructor cannot return.
inline void require(const char* what, cl_int error) {
  if (error != CL_SUCCESS) throw bp::Failure{failed(what, error)};
}

// A function of an extension; false if the driver lacks it.
template <class Function>
bool find_function(cl_platform_id platform, const char* name, Function& function) {
  function = reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform, name));
  return function != nullptr;
}

inline unsigned long long number(uint64_t value) {
  return value;  // what %llu takes
}

}  // namespace opencl
