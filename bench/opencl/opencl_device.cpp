#include "opencl_device.hpp"

#include <stdexcept>

namespace bench {
namespace {

std::vector<cl_device_id> all_devices() {
  cl_uint num_platforms = 0;
  OpenclDevice::check(clGetPlatformIDs(0, nullptr, &num_platforms), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(num_platforms);
  OpenclDevice::check(clGetPlatformIDs(num_platforms, platforms.data(), nullptr),
                      "clGetPlatformIDs");
  std::vector<cl_device_id> devices;
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> some(count);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, some.data(), nullptr) == CL_SUCCESS)
      devices.insert(devices.end(), some.begin(), some.end());
  }
  if (devices.empty()) throw std::runtime_error("no OpenCL device");
  return devices;
}

std::string name_of(cl_device_id device) {
  char name[256] = "";
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, nullptr);
  return name;
}

}  // namespace

void OpenclDevice::check(cl_int code, const char* what) {
  if (code != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed with " + std::to_string(code));
}

OpenclDevice::OpenclDevice(const std::string& name) {
  const std::vector<cl_device_id> devices = all_devices();
  device_ = devices.front();
  for (cl_device_id each : devices)
    if (name_of(each) == name) {
      device_ = each;
      break;
    }
  cl_int code = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  queue_ = clCreateCommandQueue(context_, device_, 0, &code);
  check(code, "clCreateCommandQueue");
}

OpenclDevice::~OpenclDevice() {
  clFinish(queue_);
  for (cl_kernel kernel : kernels_) clReleaseKernel(kernel);
  for (cl_program program : programs_) clReleaseProgram(program);
  for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
  clReleaseCommandQueue(queue_);
  clReleaseContext(context_);
}

std::size_t OpenclDevice::compute_units() const {
  cl_uint count = 0;
  check(clGetDeviceInfo(device_, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof count, &count, nullptr),
        "clGetDeviceInfo");
  return count;
}

cl_mem OpenclDevice::buffer(std::size_t bytes) {
  cl_int code = CL_SUCCESS;
  cl_mem made = clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  check(code, "clCreateBuffer");
  buffers_.push_back(made);
  const cl_int zero = 0;
  check(clEnqueueFillBuffer(queue_, made, &zero, sizeof zero, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  finish();
  return made;
}

cl_kernel OpenclDevice::kernel(const std::string& source, const char* name) {
  const char* text = source.c_str();
  cl_int code = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(context_, 1, &text, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  programs_.push_back(program);
  check(clBuildProgram(program, 1, &device_, "", nullptr, nullptr), name);
  cl_kernel kernel = clCreateKernel(program, name, &code);
  check(code, name);
  kernels_.push_back(kernel);
  return kernel;
}

void OpenclDevice::run(cl_kernel kernel, std::size_t columns, std::size_t rows, std::size_t group) {
  const std::size_t items[2] = {columns, rows}, groups[2] = {group, 1};
  check(clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, items, groups, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace bench
