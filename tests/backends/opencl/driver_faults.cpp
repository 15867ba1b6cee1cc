// alone: the first to include OpenCL's headers decides whether their functions are exported
#include "backends/opencl/driver_faults.hpp"

#include <atomic>
#include <dlfcn.h>

// The folder's tests are compiled, though not run, where OpenCL is not installed.
#if __has_include(<CL/cl.h>)
#  define CL_TARGET_OPENCL_VERSION 300
#  pragma GCC visibility push(default)
#  include <CL/cl.h>
#  pragma GCC visibility pop
#  define BP_HAS_OPENCL 1
#else
#  define BP_HAS_OPENCL 0
#endif

namespace driver {
namespace {

std::atomic<bool> called{false};

// The loader's own function, or that of a tool which was loaded before it.
template <class Function> [[maybe_unused]] Function* real(const char* name) {
  static void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  called = true;
  void* const next = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(next != nullptr ? next : dlsym(loader, name));
}

}  // namespace

Faults faults;
std::atomic<int> num_copies{0};

bool is_in_between() {
  return called;
}

}  // namespace driver

#if BP_HAS_OPENCL
using driver::faults;
using driver::num_copies;
using driver::real;

extern "C" {

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* error) {
  if (faults.create_buffer == 0)
    return real<decltype(clCreateBuffer)>("clCreateBuffer")(context, flags, size, host, error);
  *error = faults.create_buffer;
  return nullptr;
}

cl_int clFinish(cl_command_queue queue) {
  const cl_int done = real<decltype(clFinish)>("clFinish")(queue);
  return faults.finish != 0 ? faults.finish : done;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint num_events, const cl_event* events, cl_event* event) {
  if (faults.enqueue_kernel != 0) return faults.enqueue_kernel;
  return real<decltype(clEnqueueNDRangeKernel)>("clEnqueueNDRangeKernel")(
      queue, kernel, dimensions, offset, global, local, num_events, events, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                            size_t size, const void* from, cl_uint num_events,
                            const cl_event* events, cl_event* event) {
  if (faults.enqueue_write != 0) return faults.enqueue_write;
  ++num_copies;
  return real<decltype(clEnqueueWriteBuffer)>("clEnqueueWriteBuffer")(
      queue, buffer, blocking, offset, size, from, num_events, events, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint num_events, const cl_event* events,
                           cl_event* event) {
  ++num_copies;
  return real<decltype(clEnqueueReadBuffer)>("clEnqueueReadBuffer")(
      queue, buffer, blocking, offset, size, to, num_events, events, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint num_events,
                           const cl_event* events, cl_event* event) {
  ++num_copies;
  return real<decltype(clEnqueueCopyBuffer)>("clEnqueueCopyBuffer")(
      queue, from, to, from_offset, to_offset, size, num_events, events, event);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint size, cl_device_id* to,
                      cl_uint* count) {
  if (faults.list_devices != 0) return faults.list_devices;
  return real<decltype(clGetDeviceIDs)>("clGetDeviceIDs")(platform, type, size, to, count);
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void* to, size_t* needed) {
  const cl_int error =
      real<decltype(clGetEventInfo)>("clGetEventInfo")(event, what, size, to, needed);
  if (faults.event_status != 0 && what == CL_EVENT_COMMAND_EXECUTION_STATUS)
    *static_cast<cl_int*>(to) = faults.event_status;
  return error;
}

}  // extern "C"
#endif
