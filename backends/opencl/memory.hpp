// The device's memory. What a handle is depends on the kind of memory, which BACKPLANE_OPENCL_MEMORY chooses:
//
//   buffer   the default, on every device: a handle is the address of an object of ours that holds a cl_mem
//   svm      shared virtual memory: a handle is an address, which the host may read where the sharing is fine-grained
//   usm      Intel's unified shared memory, allocated on the device: a handle is an address
//
// A device without the kind that was asked for has buffers, and a line in the log says so.
#pragma once

#include <atomic>
#include <memory>

#include "opencl.hpp"
#include "queue.hpp"

namespace opencl {

// Threads: any, for every function.
class Memory {
 public:
  static std::unique_ptr<Memory> make(cl_context context, cl_platform_id platform,
                                      cl_device_id device);
  // The BP_DEVICE_* flags that memory of that device will have.
  static uint32_t flags_of(cl_device_id device);

  virtual ~Memory() = default;

  // Handles that are addresses are multiples of `alignment`.
  virtual bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment) = 0;
  void release(bp::Handle handle);
  // A handle over a buffer of the application's. It ends with release, the buffer does not.
  virtual bp::Result<bp::Handle> adopt(cl_mem buffer, uint64_t bytes);

  virtual bp::Status copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                          Queue& queue) = 0;
  virtual bp::Status fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                          Queue& queue) = 0;

  // Gives an allocation, or null for handle 0, to a kernel.
  virtual cl_int set_argument(cl_kernel kernel, cl_uint index, bp::Handle handle) = 0;
  // What lies behind a handle, for libraries that take buffers; null where handles are addresses.
  virtual cl_mem buffer(bp::Handle) const { return nullptr; }
  // Rises whenever an allocation ends. While it stays, an equal handle means the same allocation.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Whether copies and fills go into a recording.
  virtual bool can_record() const = 0;

 protected:
  // OpenCL fills at multiples of the pattern only. What is elsewhere is copied from the host, and waited for: rare.
  bp::Status fill_through_host(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                               Queue& queue);

 private:
  virtual void end(bp::Handle handle) = 0;

  std::atomic<uint64_t> generation_{1};
};

// One for each kind; null if the device does not have it.
std::unique_ptr<Memory> make_buffer_memory(cl_context context, cl_device_id device);
std::unique_ptr<Memory> make_svm_memory(cl_context context, cl_device_id device);
std::unique_ptr<Memory> make_usm_memory(cl_context context, cl_platform_id platform,
                                        cl_device_id device);

}  // namespace opencl
