// The extension bp.capture: work as a command buffer, where the driver has cl_khr_command_buffer.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <backplane/extensions/capture.h>

#include "opencl.hpp"
#include "queue.hpp"

namespace opencl {

// The driver's functions. Copies and fills got a further parameter with version 0.9.5 of the extension.
struct CommandBufferFunctions {
  using CopyBefore095 = clCommandCopyBufferKHR_fn;
  using FillBefore095 = clCommandFillBufferKHR_fn;
  using Copy = cl_int(CL_API_CALL*)(cl_command_buffer_khr, cl_command_queue, const cl_properties*,
                                    cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                                    const cl_sync_point_khr*, cl_sync_point_khr*,
                                    cl_mutable_command_khr*);
  using Fill = cl_int(CL_API_CALL*)(cl_command_buffer_khr, cl_command_queue, const cl_properties*,
                                    cl_mem, const void*, size_t, size_t, size_t, cl_uint,
                                    const cl_sync_point_khr*, cl_sync_point_khr*,
                                    cl_mutable_command_khr*);

  clCreateCommandBufferKHR_fn create = nullptr;
  clFinalizeCommandBufferKHR_fn finalize = nullptr;
  clReleaseCommandBufferKHR_fn release = nullptr;
  clEnqueueCommandBufferKHR_fn enqueue = nullptr;
  clCommandNDRangeKernelKHR_fn launch = nullptr;
  void* copy = nullptr;  // Copy, or CopyBefore095
  void* fill = nullptr;
  bool before_095 = false;
  bool can_overlap = false;  // a command buffer may be enqueued again before it has run
};

// Whether and how a device records.
class Capture {
 public:
  Capture(cl_platform_id platform, cl_device_id device);
  // Null: the device has no command buffers.
  const CommandBufferFunctions* functions() const { return complete_ ? &functions_ : nullptr; }

 private:
  CommandBufferFunctions functions_;
  bool complete_ = false;
};

// A command buffer, how many commands it has, and the kernels that they run.
struct CommandBuffer {
  CommandBuffer(const CommandBufferFunctions& by, cl_command_buffer_khr made)
      : functions(by), handle(made) {}
  ~CommandBuffer() { functions.release(handle); }
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  const CommandBufferFunctions& functions;
  cl_command_buffer_khr handle;
  uint64_t num_commands = 0;
  std::vector<OwnedKernel> kernels;
};

// Between begin and end. Threads: any, for every function.
class Recording {
 public:
  explicit Recording(std::unique_ptr<CommandBuffer> into) : buffer_(std::move(into)) {}

  // `kernel` has its arguments, and nobody else gives it others.
  cl_int add_launch(OwnedKernel kernel, cl_uint dimensions, const size_t* global,
                    const size_t* local);
  bp::Status add_copy(cl_mem from, cl_mem to, uint64_t from_offset, uint64_t to_offset,
                      uint64_t bytes);
  bp::Status add_fill(cl_mem to, const void* pattern, uint32_t pattern_bytes, uint64_t offset,
                      uint64_t bytes);
  // Nothing is added afterwards.
  bp::Result<std::unique_ptr<CommandBuffer>> finish();

 private:
  cl_int count(cl_int error);

  std::mutex mutex_;
  std::unique_ptr<CommandBuffer> buffer_;
};

class Device;

// What was recorded. Threads: any.
class Graph {
 public:
  // See bp::capture_of.
  static bp::Status begin(Device& device, Queue& queue);
  static bp::Result<std::unique_ptr<Graph>> end(Device& device, Queue& queue, bool keep);

  explicit Graph(std::unique_ptr<CommandBuffer> from) : buffer_(std::move(from)) {}
  // Waits for its last run.
  ~Graph();

  bp::Status replay(Queue& queue);

 private:
  const uint32_t born_ = process_generation();
  std::unique_ptr<CommandBuffer> buffer_;
  std::mutex mutex_;
  OwnedEvent last_run_;
};

extern const bp_capture capture_functions;

}  // namespace opencl
