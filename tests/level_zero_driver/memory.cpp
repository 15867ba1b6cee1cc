#include "memory.hpp"

#include <mutex>
#include <unistd.h>

#include "driver.hpp"
#include "faults.hpp"
#include "tables.hpp"

namespace over_opencl {
namespace {

// OpenCL aligns SVM to its largest vector and no further. More than that is cut out of a larger piece.
constexpr size_t opencl_alignment = 128;
constexpr size_t largest_alignment = size_t{1} << 21;

ze_result_t out_of_memory(ze_memory_type_t type) {
  return type == ZE_MEMORY_TYPE_HOST ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                     : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

}  // namespace

void* Allocations::allocate(size_t bytes, size_t alignment, ze_memory_type_t type, Device* device) {
  check(bytes != 0, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  check((alignment & (alignment - 1)) == 0 && alignment <= largest_alignment,
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  check(!is_failing_allocation(), out_of_memory(type));
  {
    std::unique_lock lock(mutex_);
    const uint64_t limit = faults().memory_bytes;
    check(limit == 0 || (bytes <= limit && used_bytes_ <= limit - bytes), out_of_memory(type));
    used_bytes_ += bytes;
  }
  const size_t spare = alignment > opencl_alignment ? alignment : 0;
  void* base = clSVMAlloc(context_, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, bytes + spare,
                          opencl_alignment);
  std::unique_lock lock(mutex_);
  if (base == nullptr) {
    used_bytes_ -= bytes;
    throw Failure{out_of_memory(type)};
  }
  auto address = reinterpret_cast<uintptr_t>(base);
  if (spare != 0) address = (address + spare - 1) & ~(spare - 1);
  by_start_[address] = {address, bytes, type, device, next_id_++, base};
  return reinterpret_cast<void*>(address);
}

bool Allocations::release(void* start) {
  void* base = nullptr;
  {
    std::unique_lock lock(mutex_);
    const auto found = by_start_.find(reinterpret_cast<uintptr_t>(start));
    if (found == by_start_.end()) return false;
    used_bytes_ -= found->second.bytes;
    base = found->second.base;
    ++generation_;
    by_start_.erase(found);
  }
  clSVMFree(context_, base);
  return true;
}

std::optional<Allocation> Allocations::find(const void* address) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::shared_lock lock(mutex_);
  auto after = by_start_.upper_bound(wanted);
  if (after == by_start_.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(after)->second;
  if (wanted - candidate.start >= candidate.bytes) return std::nullopt;
  return candidate;
}

namespace {

void allocate_into(void** to, Context& context, size_t bytes, size_t alignment,
                   ze_memory_type_t type, Device* device) {
  required(to);
  const Device& limits = device != nullptr ? *device : *context.driver().devices().front();
  limits.check_not_lost();
  check(bytes <= limits.max_allocation(), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  *to = context.driver().allocations().allocate(bytes, alignment, type, device);
}

ze_result_t ZE_APICALL memory_allocate_host(ze_context_handle_t context,
                                            const ze_host_mem_alloc_desc_t* description,
                                            size_t bytes, size_t alignment, void** to) {
  return guarded([&] {
    Context& in = *from<Context>(context);
    required(description);
    allocate_into(to, in, bytes, alignment, ZE_MEMORY_TYPE_HOST, nullptr);
  });
}

ze_result_t ZE_APICALL memory_allocate_device(ze_context_handle_t context,
                                              const ze_device_mem_alloc_desc_t* description,
                                              size_t bytes, size_t alignment,
                                              ze_device_handle_t device, void** to) {
  return guarded([&] {
    Context& in = *from<Context>(context);
    check(required(description).ordinal == 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    allocate_into(to, in, bytes, alignment, ZE_MEMORY_TYPE_DEVICE, &device_of(in, device));
  });
}

ze_result_t ZE_APICALL memory_allocate_shared(ze_context_handle_t context,
                                              const ze_device_mem_alloc_desc_t* of_device,
                                              const ze_host_mem_alloc_desc_t* of_host, size_t bytes,
                                              size_t alignment, ze_device_handle_t device,
                                              void** to) {
  return guarded([&] {
    Context& in = *from<Context>(context);
    required(of_host);
    check(required(of_device).ordinal == 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    Device* near = device == nullptr ? nullptr : &device_of(in, device);
    allocate_into(to, in, bytes, alignment, ZE_MEMORY_TYPE_SHARED, near);
  });
}

ze_result_t ZE_APICALL memory_free(ze_context_handle_t context, void* start) {
  return guarded([&] {
    Context& in = *from<Context>(context);
    required(start);
    check(in.driver().allocations().release(start), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  });
}

ze_result_t ZE_APICALL memory_properties(ze_context_handle_t context, const void* address,
                                         ze_memory_allocation_properties_t* properties,
                                         ze_device_handle_t* device) {
  return guarded([&] {
    Context& in = *from<Context>(context);
    required(address);
    const Allocation found =
        in.driver().allocations().find(address).value_or(Allocation());  // memory of nobody's
    required(properties).type = found.type;
    properties->id = found.id;
    properties->pageSize = found.bytes == 0 ? 0 : static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    if (device != nullptr)
      *device = found.device == nullptr ? nullptr : to_handle<ze_device_handle_t>(found.device);
  });
}

ze_result_t ZE_APICALL memory_range(ze_context_handle_t context, const void* address, void** start,
                                    size_t* bytes) {
  return guarded([&] {
    Context& in = *from<Context>(context);
    required(address);
    const auto found = in.driver().allocations().find(address);
    check(found.has_value(), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    if (start != nullptr) *start = reinterpret_cast<void*>(found->start);
    if (bytes != nullptr) *bytes = found->bytes;
  });
}

}  // namespace

void fill(ze_mem_dditable_t& table) {
  table.pfnAllocHost = memory_allocate_host;
  table.pfnAllocDevice = memory_allocate_device;
  table.pfnAllocShared = memory_allocate_shared;
  table.pfnFree = memory_free;
  table.pfnGetAllocProperties = memory_properties;
  table.pfnGetAddressRange = memory_range;
}

}  // namespace over_opencl
