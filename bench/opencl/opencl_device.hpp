// OpenCL without anything of ours: what the peers run on. Every failure throws std::runtime_error.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

class OpenclDevice {
 public:
  // The first device that has `name`, else the first there is.
  explicit OpenclDevice(const std::string& name);
  OpenclDevice(const OpenclDevice&) = delete;
  ~OpenclDevice();

  cl_command_queue queue() const { return queue_; }
  std::size_t compute_units() const;
  cl_mem buffer(std::size_t bytes);  // zeroed; released with the device
  cl_kernel kernel(const std::string& source, const char* name);
  template <class T> void set(cl_kernel kernel, cl_uint index, const T& value) {
    check(clSetKernelArg(kernel, index, sizeof(T), &value), "clSetKernelArg");
  }
  void run(cl_kernel kernel, std::size_t columns, std::size_t rows = 1, std::size_t group = 1);
  void finish() { check(clFinish(queue_), "clFinish"); }

  static void check(cl_int code, const char* what);

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::vector<cl_mem> buffers_;
  std::vector<cl_program> programs_;
  std::vector<cl_kernel> kernels_;
};

}  // namespace bench
