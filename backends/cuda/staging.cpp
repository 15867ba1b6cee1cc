#include "staging.hpp"

#include <algorithm>
#include <cstring>

#include "queue.hpp"

namespace cuda_backend {
namespace {

constexpr uint64_t slot_bytes = uint64_t{4} << 20;

}  // namespace

bool Staging::is_wanted(const void* host_memory, uint64_t bytes) {
  if (bytes < least_bytes) return false;
  unsigned int type = 0;
  // The driver knows pinned memory by its address; what it does not know is pageable.
  const CUresult error = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                      reinterpret_cast<CUdeviceptr>(host_memory));
  return error != CUDA_SUCCESS || type != CU_MEMORYTYPE_HOST;
}

Staging::Staging(Queue& queue) : queue_(queue) {
  const OutsideCapture outside;
  for (Slot& slot : slots_) {
    void* pinned = nullptr;
    CUresult error = driver.cuMemHostAlloc(&pinned, slot_bytes, CU_MEMHOSTALLOC_PORTABLE);
    slot.address = static_cast<char*>(pinned);
    if (error == CUDA_SUCCESS) error = driver.cuEventCreate(&slot.busy, CU_EVENT_DISABLE_TIMING);
    if (error == CUDA_SUCCESS) continue;
    drop();
    require("pinning host memory", error);
  }
}

Staging::~Staging() {
  for (Slot& slot : slots_) driver.cuEventSynchronize(slot.busy);
  drop();
}

void Staging::drop() {
  for (Slot& slot : slots_) {
    if (slot.busy != nullptr) driver.cuEventDestroy(slot.busy);
    if (slot.address != nullptr) driver.cuMemFreeHost(slot.address);
    slot = {};
  }
}

bp::Status Staging::wait(Slot& slot) {
  return queue_.check("a copy through pinned memory", driver.cuEventSynchronize(slot.busy));
}

// The copy that was given last is the slot's.
bp::Status Staging::leave(Slot& slot) {
  return queue_.check("copy", driver.cuEventRecord(slot.busy, queue_.get()));
}

bp::Status Staging::write(CUdeviceptr to, uint64_t bytes, const void* from) {
  std::lock_guard lock(mutex_);
  size_t turn = 0;
  for (uint64_t done = 0; done < bytes; done += slot_bytes, turn ^= 1) {
    Slot& slot = slots_[turn];
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
    const uint64_t piece = std::min(slot_bytes, bytes - done);
    std::memcpy(slot.address, static_cast<const char*>(from) + done, piece);
    const CUresult error = driver.cuMemcpyHtoDAsync(to + done, slot.address, piece, queue_.get());
    if (error != CUDA_SUCCESS) return queue_.explain("copy", error);
    if (bp::Status status = leave(slot); !status.is_ok()) return status;
  }
  return bp::ok;
}

bp::Status Staging::read(CUdeviceptr from, uint64_t bytes, void* to) {
  std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
  }
  // The card is one piece ahead of the processor.
  uint64_t asked = 0;
  for (uint64_t done = 0; done < bytes;) {
    for (; asked < bytes && asked < done + 2 * slot_bytes; asked += slot_bytes) {
      Slot& slot = slots_[asked / slot_bytes % 2];
      const CUresult error = driver.cuMemcpyDtoHAsync(
          slot.address, from + asked, std::min(slot_bytes, bytes - asked), queue_.get());
      if (error != CUDA_SUCCESS) return queue_.explain("copy", error);
      if (bp::Status status = leave(slot); !status.is_ok()) return status;
    }
    Slot& slot = slots_[done / slot_bytes % 2];
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
    const uint64_t piece = std::min(slot_bytes, bytes - done);
    std::memcpy(static_cast<char*>(to) + done, slot.address, piece);
    done += piece;
  }
  return bp::ok;
}

}  // namespace cuda_backend
