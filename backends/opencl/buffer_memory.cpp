// Memory as buffers, which every device has.
#include "capture.hpp"
#include "discovery.hpp"
#include "memory.hpp"
#include "staging.hpp"

namespace opencl {
namespace {

// What a handle points to.
struct Buffer {
  OwnedBuffer memory;
  uint64_t bytes;
};

Buffer& buffer_of(bp::Handle handle) {
  return *reinterpret_cast<Buffer*>(handle);
}

cl_mem memory_of(const bp::Region& region) {
  return buffer_of(region.handle).memory.get();
}

bp::Status check_region(const bp::Region& region, const char* what) {
  if (region.handle == 0) return bp::bad_argument("%s: handle 0 names no allocation", what);
  const uint64_t bytes = buffer_of(region.handle).bytes;
  if (region.offset <= bytes && region.bytes <= bytes - region.offset) return bp::ok;
  return bp::bad_argument(
      "%s: %llu bytes at offset %llu do not lie within an allocation of %llu bytes", what,
      number(region.bytes), number(region.offset), number(bytes));
}

template <class T> T property_of(cl_mem buffer, cl_mem_info property) {
  T value{};
  require("asking for an adopted buffer",
          clGetMemObjectInfo(buffer, property, sizeof value, &value, nullptr));
  return value;
}

class BufferMemory : public Memory {
 public:
  BufferMemory(cl_context context, cl_device_id device)
      : context_(context), largest_(device_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
        stages_(Staging::is_wanted(device)) {}

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment) override;
  bp::Result<bp::Handle> adopt(cl_mem buffer, uint64_t bytes) override;
  bp::Status copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                  Queue& queue) override;
  bp::Status fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                  Queue& queue) override;

  cl_int set_argument(cl_kernel kernel, cl_uint index, bp::Handle handle) override {
    const cl_mem memory = handle == 0 ? nullptr : buffer_of(handle).memory.get();
    return clSetKernelArg(kernel, index, sizeof(cl_mem), &memory);
  }

  cl_mem buffer(bp::Handle handle) const override { return buffer_of(handle).memory.get(); }
  bool can_record() const override { return true; }

 private:
  static bp::Status copy_within(const bp::Region& to, const bp::Region& from, Queue& queue);
  bp::Status copy_from_host(const bp::Region& to, const bp::Region& from, Queue& queue);
  bp::Status copy_to_host(const bp::Region& to, const bp::Region& from, Queue& queue);
  void end(bp::Handle handle) override { delete &buffer_of(handle); }

  cl_context context_;
  uint64_t largest_;
  bool stages_;
};

bp::Result<bp::Handle> BufferMemory::allocate(uint64_t bytes, uint64_t) {
  if (largest_ != 0 && bytes > largest_) {
    return bp::out_of_memory("%llu bytes asked for; one allocation of this device has at most %llu",
                             number(bytes), number(largest_));
  }
  cl_int error = CL_SUCCESS;
  OwnedBuffer memory(clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &error));
  // Resources that run out while memory is asked for are memory.
  if (error == CL_OUT_OF_RESOURCES) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (error != CL_SUCCESS) {
    return bp::error(class_of(error), "%llu bytes asked for: %s", number(bytes),
                     name_of(error).c_str());
  }
  return reinterpret_cast<bp::Handle>(new Buffer{std::move(memory), bytes});
}

bp::Result<bp::Handle> BufferMemory::adopt(cl_mem buffer, uint64_t bytes) {
  if (property_of<cl_mem_object_type>(buffer, CL_MEM_TYPE) != CL_MEM_OBJECT_BUFFER)
    return bp::bad_argument("interop: the memory is an image or a pipe; tensors need a buffer");
  if (property_of<cl_context>(buffer, CL_MEM_CONTEXT) != context_) {
    return bp::bad_argument(
        "interop: the buffer belongs to another context than the device uses; make it in the "
        "device's, or adopt yours before the device's first use");
  }
  const auto size = property_of<size_t>(buffer, CL_MEM_SIZE);
  if (size < bytes) {
    return bp::bad_argument("interop: the buffer has %llu bytes, and %llu are to be used",
                            number(size), number(bytes));
  }
  const auto one_way =
      property_of<cl_mem_flags>(buffer, CL_MEM_FLAGS) & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
  if (one_way != 0) {
    return bp::bad_argument(
        "interop: the buffer is %s for kernels; tensors are read and written: make it with "
        "CL_MEM_READ_WRITE",
        one_way == CL_MEM_READ_ONLY ? "read-only" : "write-only");
  }
  require("adopting a buffer", clRetainMemObject(buffer));
  OwnedBuffer memory(buffer);
  return reinterpret_cast<bp::Handle>(new Buffer{std::move(memory), size});
}

bp::Status BufferMemory::copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                              Queue& queue) {
  if (direction != bp::Direction::to_host) {
    if (bp::Status status = check_region(to, "copy: the target"); !status.is_ok()) return status;
  }
  if (direction != bp::Direction::from_host) {
    if (bp::Status status = check_region(from, "copy: the source"); !status.is_ok()) return status;
  }
  if (direction == bp::Direction::within) return copy_within(to, from, queue);
  bp::Status status = queue.refuse_in_recording("a copy from or to the host");
  if (!status.is_ok()) return status;
  return direction == bp::Direction::from_host ? copy_from_host(to, from, queue)
                                               : copy_to_host(to, from, queue);
}

bp::Status BufferMemory::copy_within(const bp::Region& to, const bp::Region& from, Queue& queue) {
  if (Recording* recording = queue.recording()) {
    return recording->add_copy(memory_of(from), memory_of(to), from.offset, to.offset, to.bytes);
  }
  return queue.submit("copy", [&](cl_command_queue commands) {
    return clEnqueueCopyBuffer(commands, memory_of(from), memory_of(to), from.offset, to.offset,
                               to.bytes, 0, nullptr, nullptr);
  });
}

bp::Status BufferMemory::copy_from_host(const bp::Region& to, const bp::Region& from,
                                        Queue& queue) {
  if (stages_ && Staging::is_worth(to.bytes))
    return queue.staging(context_).write(queue, memory_of(to), to.offset, to.bytes, from.address());
  return queue.submit("copy", [&](cl_command_queue commands) {
    return clEnqueueWriteBuffer(commands, memory_of(to), CL_FALSE, to.offset, to.bytes,
                                from.address(), 0, nullptr, nullptr);
  });
}

bp::Status BufferMemory::copy_to_host(const bp::Region& to, const bp::Region& from, Queue& queue) {
  if (stages_ && Staging::is_worth(to.bytes)) {
    return queue.staging(context_).read(queue, memory_of(from), from.offset, from.bytes,
                                        to.address());
  }
  return queue.submit("copy", [&](cl_command_queue commands) {
    return clEnqueueReadBuffer(commands, memory_of(from), CL_FALSE, from.offset, from.bytes,
                               to.address(), 0, nullptr, nullptr);
  });
}

bp::Status BufferMemory::fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                              Queue& queue) {
  if (bp::Status status = check_region(to, "fill"); !status.is_ok()) return status;
  if (to.offset % pattern_bytes != 0 || to.bytes % pattern_bytes != 0)
    return fill_through_host(to, pattern, pattern_bytes, queue);
  if (Recording* recording = queue.recording())
    return recording->add_fill(memory_of(to), pattern, pattern_bytes, to.offset, to.bytes);
  return queue.submit("fill", [&](cl_command_queue commands) {
    return clEnqueueFillBuffer(commands, memory_of(to), pattern, pattern_bytes, to.offset, to.bytes,
                               0, nullptr, nullptr);
  });
}

}  // namespace

std::unique_ptr<Memory> make_buffer_memory(cl_context context, cl_device_id device) {
  return std::make_unique<BufferMemory>(context, device);
}

}  // namespace opencl
