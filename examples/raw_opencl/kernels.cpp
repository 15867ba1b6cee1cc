#include "kernels.hpp"

#include <stdexcept>
#include <string>

namespace {

const char* const source = R"(
__kernel void spread(__global const float* from, ulong first_from, __global float* to, ulong first_to) {
  const size_t rows = get_global_size(0), columns = get_global_size(1);
  const size_t row = get_global_id(0), column = get_global_id(1);
  const size_t up = row > 0 ? row - 1 : row, down = row + 1 < rows ? row + 1 : row;
  const size_t left = column > 0 ? column - 1 : column;
  const size_t right = column + 1 < columns ? column + 1 : column;
  from += first_from;
  to[first_to + row * columns + column] =
      0.5f * from[row * columns + column] +
      0.125f * (from[up * columns + column] + from[down * columns + column] +
                from[row * columns + left] + from[row * columns + right]);
})";

template <class T> void set_argument(cl_kernel kernel, cl_uint index, const T& value) {
  check("clSetKernelArg", clSetKernelArg(kernel, index, sizeof value, &value));
}

}  // namespace

void check(const char* what, cl_int error) {
  if (error != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed with OpenCL's code " +
                             std::to_string(error));
}

Heat::Heat() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  check("clGetPlatformIDs", clGetPlatformIDs(1, &platform, nullptr));
  check("clGetDeviceIDs", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
  cl_int error = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  check("clCreateContext", error);
  queue_ = clCreateCommandQueue(context_, device, 0, &error);
  check("clCreateCommandQueue", error);
  program_ =
      clCreateProgramWithSource(context_, 1, const_cast<const char**>(&source), nullptr, &error);
  check("clCreateProgramWithSource", error);
  check("clBuildProgram", clBuildProgram(program_, 1, &device, "", nullptr, nullptr));
  kernel_ = clCreateKernel(program_, "spread", &error);
  check("clCreateKernel", error);
}

Heat::~Heat() {
  clReleaseKernel(kernel_);
  clReleaseProgram(program_);
  clReleaseCommandQueue(queue_);
  clReleaseContext(context_);
}

cl_mem Heat::make_grid(const std::vector<float>& values) const {
  cl_int error = CL_SUCCESS;
  const cl_mem grid =
      clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                     values.size() * sizeof(float), const_cast<float*>(values.data()), &error);
  check("clCreateBuffer", error);
  return grid;
}

void Heat::spread(cl_mem from, std::size_t first_from, cl_mem to, std::size_t first_to,
                  std::size_t rows, std::size_t columns) const {
  set_argument(kernel_, 0, from);
  set_argument(kernel_, 1, static_cast<cl_ulong>(first_from));
  set_argument(kernel_, 2, to);
  set_argument(kernel_, 3, static_cast<cl_ulong>(first_to));
  const std::size_t items[] = {rows, columns};
  check("clEnqueueNDRangeKernel",
        clEnqueueNDRangeKernel(queue_, kernel_, 2, nullptr, items, nullptr, 0, nullptr, nullptr));
}
