// Memory whose handles are addresses: shared virtual memory (OpenCL 2.0) and Intel's unified shared memory.
#include <algorithm>
#include <map>
#include <mutex>

#include "discovery.hpp"
#include "memory.hpp"

namespace opencl {
namespace {

// What both kinds have in common. There is no object behind an address, so that regions are not checked.
class AddressMemory : public Memory {
 public:
  // Drivers align as far as their own types need it, which is less than the host asks for where it reads itself. The
  // handle then lies within the driver's allocation.
  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment) override {
    void* const start = bytes > largest_ ? nullptr : obtain(bytes);
    if (start == nullptr) return too_much(bytes);
    if (reinterpret_cast<bp::Handle>(start) % std::max<uint64_t>(alignment, 1) == 0)
      return reinterpret_cast<bp::Handle>(start);
    give_back(start);
    uint64_t padded;
    if (__builtin_add_overflow(bytes, alignment, &padded)) return too_much(bytes);
    void* const wider = obtain(padded);
    if (wider == nullptr) return too_much(bytes);
    const auto first = reinterpret_cast<bp::Handle>(wider);
    const bp::Handle handle = (first + alignment - 1) / alignment * alignment;
    std::lock_guard lock(mutex_);
    starts_[handle] = wider;
    return handle;
  }

  bp::Status copy(const bp::Region& to, const bp::Region& from, bp::Direction,
                  Queue& queue) override {
    return queue.submit("copy", [&](cl_command_queue commands) {
      return enqueue_copy(commands, to.address(), from.address(), to.bytes);
    });
  }

  bp::Status fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                  Queue& queue) override {
    if (to.offset % pattern_bytes != 0 || to.bytes % pattern_bytes != 0)
      return fill_through_host(to, pattern, pattern_bytes, queue);
    return queue.submit("fill", [&](cl_command_queue commands) {
      return enqueue_fill(commands, to.address(), pattern, pattern_bytes, to.bytes);
    });
  }

  // Only recent versions of the extension record such copies; without it the host keeps a list of calls.
  bool can_record() const override { return false; }

 protected:
  AddressMemory(cl_context context, cl_device_id device)
      : context_(context), device_(device),
        largest_(device_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)) {}

  cl_context context_;
  cl_device_id device_;
  uint64_t largest_;

 private:
  bp::Status too_much(uint64_t bytes) const {
    return bp::out_of_memory("%llu bytes asked for; the device has at most %llu for one allocation",
                             number(bytes), number(largest_));
  }
  void end(bp::Handle handle) override {
    void* start = reinterpret_cast<void*>(handle);
    {
      std::lock_guard lock(mutex_);
      if (const auto it = starts_.find(handle); it != starts_.end()) {
        start = it->second;
        starts_.erase(it);
      }
    }
    give_back(start);
  }

  // Null if there is none.
  virtual void* obtain(uint64_t bytes) = 0;
  virtual void give_back(void* start) = 0;
  virtual cl_int enqueue_copy(cl_command_queue commands, void* to, const void* from,
                              size_t bytes) = 0;
  virtual cl_int enqueue_fill(cl_command_queue commands, void* to, const void* pattern,
                              size_t pattern_bytes, size_t bytes) = 0;

  std::mutex mutex_;
  std::map<bp::Handle, void*> starts_;  // of allocations whose handle lies behind their start
};

class SvmMemory : public AddressMemory {
 public:
  SvmMemory(cl_context context, cl_device_id device) : AddressMemory(context, device) {
    const auto offered =
        device_value<cl_device_svm_capabilities>(device, CL_DEVICE_SVM_CAPABILITIES);
    if (offered & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) flags_ |= CL_MEM_SVM_FINE_GRAIN_BUFFER;
  }

  cl_int set_argument(cl_kernel kernel, cl_uint index, bp::Handle handle) override {
    return clSetKernelArgSVMPointer(kernel, index, reinterpret_cast<void*>(handle));
  }

 private:
  void* obtain(uint64_t bytes) override { return clSVMAlloc(context_, flags_, bytes, 0); }
  void give_back(void* start) override { clSVMFree(context_, start); }
  cl_int enqueue_copy(cl_command_queue commands, void* to, const void* from,
                      size_t bytes) override {
    return clEnqueueSVMMemcpy(commands, CL_FALSE, to, from, bytes, 0, nullptr, nullptr);
  }
  cl_int enqueue_fill(cl_command_queue commands, void* to, const void* pattern,
                      size_t pattern_bytes, size_t bytes) override {
    return clEnqueueSVMMemFill(commands, to, pattern, pattern_bytes, bytes, 0, nullptr, nullptr);
  }

  cl_svm_mem_flags flags_ = CL_MEM_READ_WRITE;
};

// The extension's functions; Debian's headers do not declare them.
struct UsmFunctions {
  void*(CL_API_CALL* allocate)(cl_context, cl_device_id, const cl_bitfield*, size_t, cl_uint,
                               cl_int*);
  cl_int(CL_API_CALL* release)(cl_context, void*);
  cl_int(CL_API_CALL* set_argument)(cl_kernel, cl_uint, const void*);
  cl_int(CL_API_CALL* copy)(cl_command_queue, cl_bool, void*, const void*, size_t, cl_uint,
                            const cl_event*, cl_event*);
  cl_int(CL_API_CALL* fill)(cl_command_queue, void*, const void*, size_t, size_t, cl_uint,
                            const cl_event*, cl_event*);
};

template <class Function>
void need_function(cl_platform_id platform, const char* name, Function& function) {
  if (find_function(platform, name, function)) return;
  throw bp::Failure{bp::unsupported("the driver names unified shared memory, but lacks %s", name)};
}

class UsmMemory : public AddressMemory {
 public:
  UsmMemory(cl_context context, cl_platform_id platform, cl_device_id device)
      : AddressMemory(context, device) {
    need_function(platform, "clDeviceMemAllocINTEL", usm_.allocate);
    need_function(platform, "clMemFreeINTEL", usm_.release);
    need_function(platform, "clSetKernelArgMemPointerINTEL", usm_.set_argument);
    need_function(platform, "clEnqueueMemcpyINTEL", usm_.copy);
    need_function(platform, "clEnqueueMemFillINTEL", usm_.fill);
  }

  cl_int set_argument(cl_kernel kernel, cl_uint index, bp::Handle handle) override {
    return usm_.set_argument(kernel, index, reinterpret_cast<const void*>(handle));
  }

 private:
  void* obtain(uint64_t bytes) override {
    cl_int error = CL_SUCCESS;
    return usm_.allocate(context_, device_, nullptr, bytes, 0, &error);
  }
  void give_back(void* start) override { usm_.release(context_, start); }
  cl_int enqueue_copy(cl_command_queue commands, void* to, const void* from,
                      size_t bytes) override {
    return usm_.copy(commands, CL_FALSE, to, from, bytes, 0, nullptr, nullptr);
  }
  cl_int enqueue_fill(cl_command_queue commands, void* to, const void* pattern,
                      size_t pattern_bytes, size_t bytes) override {
    return usm_.fill(commands, to, pattern, pattern_bytes, bytes, 0, nullptr, nullptr);
  }

  UsmFunctions usm_{};
};

}  // namespace

std::unique_ptr<Memory> make_svm_memory(cl_context context, cl_device_id device) {
  return std::make_unique<SvmMemory>(context, device);
}

std::unique_ptr<Memory> make_usm_memory(cl_context context, cl_platform_id platform,
                                        cl_device_id device) {
  return std::make_unique<UsmMemory>(context, platform, device);
}

}  // namespace opencl
