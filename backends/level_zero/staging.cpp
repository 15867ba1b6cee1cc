#include "staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device.hpp"

namespace level_zero {
namespace {

constexpr uint64_t slot_bytes = uint64_t{4} << 20;

}  // namespace

bool Staging::is_wanted(const FoundDevice& found) {
  if (const char* asked = std::getenv("BACKPLANE_LEVEL_ZERO_STAGING")) return std::atoi(asked) != 0;
  return found.properties.type != ZE_DEVICE_TYPE_CPU &&
         (found.properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) == 0;
}

Staging::Staging(Device& device) : device_(device) {
  const auto wanted = describe<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  for (Slot& slot : slots_) {
    void* memory = nullptr;
    bp::Status status =
        device.check("memory for copies", "zeMemAllocHost",
                     loader.zeMemAllocHost(device.context(), &wanted, slot_bytes, 64, &memory));
    slot.address = static_cast<char*>(memory);
    if (status.is_ok()) continue;
    drop();
    throw bp::Failure{status};
  }
}

Staging::~Staging() {
  if (device_.is_of_this_process()) drop();
}

void Staging::drop() {
  for (Slot& slot : slots_)
    if (slot.address != nullptr) loader.zeMemFree(device_.context(), slot.address);
}

bp::Status Staging::wait(Slot& slot) {
  const Mark busy = std::move(slot.busy);
  if (!busy) return bp::ok;
  return device_.check("copy", "zeEventHostSynchronize",
                       loader.zeEventHostSynchronize(busy.get(), UINT64_MAX));
}

bp::Status Staging::copy(Queue& queue, void* to, const void* from, uint64_t bytes, Slot& slot) {
  bp::Status status = copy_bytes(queue, to, from, bytes);
  if (!status.is_ok()) return status;
  bp::Result<Mark> given = queue.mark();
  slot.busy = std::move(given.value());
  return given.status();
}

bp::Status Staging::write(Queue& queue, void* to, uint64_t bytes, const void* from) {
  std::lock_guard lock(mutex_);
  size_t turn = 0;
  for (uint64_t done = 0; done < bytes; done += slot_bytes, turn ^= 1) {
    Slot& slot = slots_[turn];
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
    const uint64_t piece = std::min(slot_bytes, bytes - done);
    std::memcpy(slot.address, static_cast<const char*>(from) + done, piece);
    bp::Status status = copy(queue, static_cast<char*>(to) + done, slot.address, piece, slot);
    if (!status.is_ok()) return status;
  }
  return bp::ok;
}

bp::Status Staging::read(Queue& queue, const void* from, uint64_t bytes, void* to) {
  std::lock_guard lock(mutex_);
  for (Slot& slot : slots_)
    if (bp::Status status = wait(slot); !status.is_ok()) return status;
  // The device is one piece ahead of the processor.
  uint64_t asked = 0;
  for (uint64_t done = 0; done < bytes;) {
    for (; asked < bytes && asked < done + 2 * slot_bytes; asked += slot_bytes) {
      Slot& slot = slots_[asked / slot_bytes % 2];
      bp::Status status = copy(queue, slot.address, static_cast<const char*>(from) + asked,
                               std::min(slot_bytes, bytes - asked), slot);
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

}  // namespace level_zero
