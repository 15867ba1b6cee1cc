#include "staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "discovery.hpp"
#include "queue.hpp"

namespace opencl {
namespace {

constexpr uint64_t slot_bytes = uint64_t{4} << 20;

}  // namespace

bool Staging::is_wanted(cl_device_id device) {
  if (const char* asked = std::getenv("BACKPLANE_OPENCL_STAGING")) return std::atoi(asked) != 0;
  return (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) == 0 &&
         device_value<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_FALSE;
}

Staging::Staging(cl_context context, cl_command_queue commands) : commands_(commands) {
  for (Slot& slot : slots_) pin(context, slot);
}

Staging::~Staging() {
  for (Slot& slot : slots_) {
    if (slot.address != nullptr) {
      clEnqueueUnmapMemObject(commands_, slot.memory.get(), slot.address, 0, nullptr, nullptr);
    }
  }
  clFinish(commands_);
}

void Staging::pin(cl_context context, Slot& slot) {
  cl_int error = CL_SUCCESS;
  slot.memory.reset(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, slot_bytes,
                                   nullptr, &error));
  require("pinning host memory", error);
  slot.address = static_cast<char*>(clEnqueueMapBuffer(commands_, slot.memory.get(), CL_TRUE,
                                                       CL_MAP_READ | CL_MAP_WRITE, 0, slot_bytes, 0,
                                                       nullptr, nullptr, &error));
  require("mapping pinned host memory", error);
}

bp::Status Staging::wait(Slot& slot) {
  const OwnedEvent busy = std::move(slot.busy);
  if (!busy) return bp::ok;
  const cl_event event = busy.get();
  return check("a copy through pinned memory", clWaitForEvents(1, &event));
}

bp::Status Staging::write(Queue& queue, cl_mem to, uint64_t offset, uint64_t bytes,
                          const void* from) {
  std::lock_guard lock(mutex_);
  size_t turn = 0;
  for (uint64_t done = 0; done < bytes; done += slot_bytes, turn ^= 1) {
    Slot& slot = slots_[turn];
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
    const uint64_t piece = std::min(slot_bytes, bytes - done);
    std::memcpy(slot.address, static_cast<const char*>(from) + done, piece);
    cl_event event = nullptr;
    bp::Status status = queue.submit("copy", [&](cl_command_queue commands) {
      const cl_int error = clEnqueueWriteBuffer(commands, to, CL_FALSE, offset + done, piece,
                                                slot.address, 0, nullptr, &event);
      return error == CL_SUCCESS ? clFlush(commands) : error;
    });
    slot.busy.reset(event);
    if (!status.is_ok()) return status;
  }
  return bp::ok;
}

bp::Status Staging::read(Queue& queue, cl_mem from, uint64_t offset, uint64_t bytes, void* to) {
  std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
  }
  // The device is one piece ahead of the processor.
  uint64_t asked = 0;
  for (uint64_t done = 0; done < bytes;) {
    for (; asked < bytes && asked < done + 2 * slot_bytes; asked += slot_bytes) {
      Slot& slot = slots_[asked / slot_bytes % 2];
      cl_event event = nullptr;
      bp::Status status = queue.submit("copy", [&](cl_command_queue commands) {
        const cl_int error = clEnqueueReadBuffer(commands, from, CL_FALSE, offset + asked,
                                                 std::min(slot_bytes, bytes - asked), slot.address,
                                                 0, nullptr, &event);
        return error == CL_SUCCESS ? clFlush(commands) : error;
      });
      slot.busy.reset(event);
      if (!status.is_ok()) return status;
    }
    Slot& slot = slots_[done / slot_bytes % 2];
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
    const uint64_t piece = std::min(slot_bytes, bytes - done);
    std::memcpy(static_cast<char*>(to) + done, slot.address, piece);
    done += piece;
  }
  return bp::ok;
}

}  // namespace opencl
