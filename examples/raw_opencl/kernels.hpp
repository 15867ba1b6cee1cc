// The application's own OpenCL: a context, a queue, buffers, and a kernel that spreads heat over a grid. It knows nothing of
// Backplane, and was perhaps there first.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <vector>

// Throws std::runtime_error, naming `what`, if `error` is one.
void check(const char* what, cl_int error);

class Heat {
 public:
  // The first device of the first platform.
  Heat();
  ~Heat();
  Heat(const Heat&) = delete;
  Heat& operator=(const Heat&) = delete;

  cl_context context() const { return context_; }
  cl_command_queue queue() const { return queue_; }

  // The caller's to release.
  cl_mem make_grid(const std::vector<float>& values) const;
  // One step from `from` to `to`, both of rows * columns numbers, each from its `first` on. Gives the queue work, and
  // does not wait.
  void spread(cl_mem from, std::size_t first_from, cl_mem to, std::size_t first_to,
              std::size_t rows, std::size_t columns) const;

 private:
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
};
