#include "memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <backplane/plugin/fills.hpp>

#include "device.hpp"

namespace level_zero {

Memory::Kind Memory::kind() {
  const char* asked = std::getenv("BACKPLANE_LEVEL_ZERO_MEMORY");
  const std::string_view name = asked == nullptr ? "" : asked;
  if (name == "shared") return Kind::shared;
  if (name == "host") return Kind::host;
  if (!name.empty() && name != "device") {
    bp::log(bp::LogLevel::warning,
            "BACKPLANE_LEVEL_ZERO_MEMORY is '%s', which is not a kind of memory; the "
            "device's own is used (possible: device, shared, host)",
            asked);
  }
  return Kind::device;
}

Memory::Memory(Device& device)
    : device_(device), kind_(kind()), stages_(Staging::is_wanted(device.found())) {}

uint32_t Memory::flags() {
  uint32_t flags = BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_REAL_ADDRESSES;
  if (kind() != Kind::device) flags |= BP_DEVICE_HOST_READABLE;
  return flags;
}

// The name of the call that was made.
const char* Memory::allocate(uint64_t bytes, uint64_t alignment, void*& start,
                             ze_result_t& result) {
  const auto on_device =
      describe<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  const auto on_host = describe<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  const ze_context_handle_t context = device_.context();
  const ze_device_handle_t id = device_.found().id;
  switch (kind_) {
    case Kind::shared:
      result = loader.zeMemAllocShared(context, &on_device, &on_host, bytes, alignment, id, &start);
      return "zeMemAllocShared";
    case Kind::host:
      result = loader.zeMemAllocHost(context, &on_host, bytes, alignment, &start);
      return "zeMemAllocHost";
    case Kind::device: break;
  }
  result = loader.zeMemAllocDevice(context, &on_device, bytes, alignment, id, &start);
  return "zeMemAllocDevice";
}

bp::Result<bp::Handle> Memory::allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t largest = device_.found().properties.maxMemAllocSize;
  if (largest != 0 && bytes > largest) {
    return bp::out_of_memory("%llu bytes asked for; one allocation of this device has at most %llu",
                             number(bytes), number(largest));
  }
  void* start = nullptr;
  ze_result_t result = ZE_RESULT_SUCCESS;
  const char* call = allocate(bytes, alignment, start, result);
  // Which of the two a driver answers for a size that it will never have depends on the driver.
  if (result == ZE_RESULT_ERROR_UNSUPPORTED_SIZE) result = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  if (result != ZE_RESULT_SUCCESS) {
    const std::string what = std::to_string(bytes) + " bytes asked for";
    return device_.check(what.c_str(), call, result);
  }
  const auto handle = reinterpret_cast<bp::Handle>(start);
  if (alignment == 0 || handle % alignment == 0) return handle;
  loader.zeMemFree(device_.context(), start);
  return bp::internal("%s: the driver gives memory at %p, and was asked for a multiple of %llu",
                      call, start, number(alignment));
}

void Memory::release(bp::Handle handle) {
  // First, since another thread may be given the same address again as soon as this allocation has ended.
  generation_.fetch_add(1, std::memory_order_release);
  loader.zeMemFree(device_.context(), reinterpret_cast<void*>(handle));
}

bp::Status Memory::copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                        Queue& queue) {
  if (direction == bp::Direction::within)
    return copy_bytes(queue, to.address(), from.address(), to.bytes);
  if (bp::Status status = queue.refuse_in_recording("a copy from or to the host"); !status.is_ok())
    return status;
  if (!stages_ || !Staging::is_worth(to.bytes))
    return copy_bytes(queue, to.address(), from.address(), to.bytes);
  return direction == bp::Direction::from_host
             ? queue.staging().write(queue, to.address(), to.bytes, from.address())
             : queue.staging().read(queue, from.address(), to.bytes, to.address());
}

bp::Status Memory::fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                        Queue& queue) {
  // Drivers want whole patterns at multiples of them.
  const bool fits = reinterpret_cast<uintptr_t>(to.address()) % pattern_bytes == 0 &&
                    to.bytes % pattern_bytes == 0 &&
                    pattern_bytes <= device_.found().largest_pattern;
  if (!fits) return fill_through_host(to, pattern, pattern_bytes, queue);
  return queue.submit("fill", "zeCommandListAppendMemoryFill", [&](OrderedList& list) {
    return list.append([&](ze_command_list_handle_t into) {
      return loader.zeCommandListAppendMemoryFill(into, to.address(), pattern, pattern_bytes,
                                                  to.bytes, nullptr, 0, nullptr);
    });
  });
}

// Waited for: rare.
bp::Status Memory::fill_through_host(const bp::Region& to, const void* pattern,
                                     uint32_t pattern_bytes, Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("a fill of broken patterns"); !status.is_ok())
    return status;
  return bp::fill_by_copies(
      to.bytes, pattern, pattern_bytes,
      [&](uint64_t done, const void* from, uint64_t bytes) {
        return copy_bytes(queue, to.address<char>() + done, from, bytes);
      },
      [&] { return queue.synchronize(); });
}

bp::Status copy_bytes(Queue& queue, void* to, const void* from, uint64_t bytes) {
  return queue.submit("copy", "zeCommandListAppendMemoryCopy", [&](OrderedList& list) {
    return list.append([&](ze_command_list_handle_t into) {
      return loader.zeCommandListAppendMemoryCopy(into, to, from, bytes, nullptr, 0, nullptr);
    });
  });
}

}  // namespace level_zero
