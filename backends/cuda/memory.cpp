#include "memory.hpp"

#include <cstring>

#include <backplane/plugin/fills.hpp>

#include "device.hpp"
#include "discovery.hpp"
#include "staging.hpp"

namespace cuda_backend {
namespace {

CUdeviceptr address(const bp::Region& region) {
  return CUdeviceptr{region.handle} + region.offset;
}

// Is every element of `width` bytes equal to the first?
bool repeats(const unsigned char* pattern, uint32_t pattern_bytes, uint32_t width) {
  for (uint32_t i = width; i < pattern_bytes; ++i)
    if (pattern[i] != pattern[i - width]) return false;
  return true;
}

template <class T> T first(const unsigned char* pattern) {
  T value;
  std::memcpy(&value, pattern, sizeof value);
  return value;
}

// Sets the places that are `at` + k * pattern_bytes, for each element of T in the pattern, one after the other: as
// a column of a matrix whose rows are the pattern.
CUresult fill_columns(CUdeviceptr at, uint64_t bytes, const unsigned char* pattern,
                      uint32_t pattern_bytes, uint32_t width, CUstream stream) {
  for (uint32_t column = 0; column < pattern_bytes && column < bytes; column += width) {
    const size_t rows = (bytes - column + pattern_bytes - 1) / pattern_bytes;
    const CUresult error =
        width == 4 ? driver.cuMemsetD2D32Async(at + column, pattern_bytes,
                                               first<uint32_t>(pattern + column), 1, rows, stream)
                   : driver.cuMemsetD2D8Async(at + column, pattern_bytes, pattern[column], 1, rows,
                                              stream);
    if (error != CUDA_SUCCESS) return error;
  }
  return CUDA_SUCCESS;
}

CUresult fill_with(CUdeviceptr at, uint64_t bytes, const unsigned char* pattern,
                   uint32_t pattern_bytes, CUstream stream) {
  const auto fits = [&](uint32_t width) {
    return pattern_bytes >= width && at % width == 0 && bytes % width == 0 &&
           repeats(pattern, pattern_bytes, width);
  };
  if (fits(4)) return driver.cuMemsetD32Async(at, first<uint32_t>(pattern), bytes / 4, stream);
  if (repeats(pattern, pattern_bytes, 1))
    return driver.cuMemsetD8Async(at, pattern[0], bytes, stream);
  if (fits(2)) return driver.cuMemsetD16Async(at, first<uint16_t>(pattern), bytes / 2, stream);
  const bool by_words = pattern_bytes % 4 == 0 && at % 4 == 0 && bytes % 4 == 0;
  return fill_columns(at, bytes, pattern, pattern_bytes, by_words ? 4 : 1, stream);
}

}  // namespace

bool maps_memory(CUdevice id) {
  return attribute_of(id, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
}

Memory::Memory(Device& device) : device_(device) {
  const CUdevice id = device.found().id;
  if (!maps_memory(id)) return;
  kind_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind_.location = {CU_MEM_LOCATION_TYPE_DEVICE, id};
  kind_.allocFlags.gpuDirectRDMACapable =
      attribute_of(id, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
  size_t granularity = 0;
  if (driver.cuMemGetAllocationGranularity(&granularity, &kind_,
                                           CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS)
    granularity_ = granularity;
  readers_.push_back({kind_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
}

bp::Result<bp::Handle> Memory::allocate(uint64_t bytes, uint64_t alignment) {
  const Current current(device_.context());
  const OutsideCapture outside;
  constexpr uint64_t drivers_alignment = 256;
  const uint64_t granularity = std::max(granularity_, uint64_t{1});
  const uint64_t slack =
      granularity_ == 0 && alignment > drivers_alignment ? alignment - drivers_alignment : 0;
  const std::lock_guard lock(mutex_);
  if (bytes > UINT64_MAX - slack - granularity) return explain_exhaustion(bytes);
  Block block{0, (bytes + slack + granularity - 1) / granularity * granularity, 0};
  const CUresult error = make(block.bytes, alignment, block);
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return explain_exhaustion(bytes);
  if (error != CUDA_SUCCESS) return failed("allocating", error);
  const uint64_t below = std::max<uint64_t>(alignment, 1) - 1;
  const auto handle = static_cast<bp::Handle>((block.base + slack) & ~below);
  blocks_[handle] = block;
  held_ += block.bytes;
  return handle;
}

CUresult Memory::make(uint64_t bytes, uint64_t alignment, Block& block) const {
  if (granularity_ == 0) return driver.cuMemAlloc(&block.base, bytes);
  // Mapping works on a card that is lost to this process, and would hide it.
  size_t free = 0, total = 0;
  CUresult error = driver.cuMemGetInfo(&free, &total);
  if (error != CUDA_SUCCESS) return error;
  error = driver.cuMemCreate(&block.memory, bytes, &kind_, 0);
  if (error != CUDA_SUCCESS) return error;
  error = driver.cuMemAddressReserve(&block.base, bytes, std::max(alignment, granularity_), 0, 0);
  if (error != CUDA_SUCCESS) {
    driver.cuMemRelease(block.memory);
    return error;
  }
  error = map(block);
  if (error == CUDA_SUCCESS) return error;
  driver.cuMemAddressFree(block.base, block.bytes);
  driver.cuMemRelease(block.memory);
  return error;
}

CUresult Memory::map(const Block& block) const {
  CUresult error = driver.cuMemMap(block.base, block.bytes, 0, block.memory, 0);
  if (error != CUDA_SUCCESS) return error;
  error = driver.cuMemSetAccess(block.base, block.bytes, readers_.data(), readers_.size());
  if (error != CUDA_SUCCESS) driver.cuMemUnmap(block.base, block.bytes);
  return error;
}

CUresult Memory::give_back(const Block& block) const {
  if (granularity_ == 0) return driver.cuMemFree(block.base);
  const CUresult unmapped = driver.cuMemUnmap(block.base, block.bytes);
  const CUresult freed = driver.cuMemAddressFree(block.base, block.bytes);
  const CUresult released = driver.cuMemRelease(block.memory);
  return unmapped != CUDA_SUCCESS ? unmapped : freed != CUDA_SUCCESS ? freed : released;
}

CUresult Memory::open_to(CUdevice other) {
  if (const CUresult error = device_.stream_memory().open_to(other); error != CUDA_SUCCESS)
    return error;
  const std::lock_guard lock(mutex_);
  if (granularity_ == 0) return CUDA_SUCCESS;
  const CUmemAccessDesc reader{{CU_MEM_LOCATION_TYPE_DEVICE, other},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (const CUmemAccessDesc& known : readers_)
    if (known.location.id == other) return CUDA_SUCCESS;
  for (const auto& [handle, block] : blocks_) {
    const CUresult error = driver.cuMemSetAccess(block.base, block.bytes, &reader, 1);
    if (error != CUDA_SUCCESS) return error;
  }
  readers_.push_back(reader);
  return CUDA_SUCCESS;
}

// The core says what it holds itself; that other processes hold the rest is known here alone.
bp::Status Memory::explain_exhaustion(uint64_t bytes) {
  size_t free = 0, total = 0;
  driver.cuMemGetInfo(&free, &total);
  const uint64_t held = held_ + device_.stream_memory().held();
  const uint64_t others = total - std::min<uint64_t>(total, free + held);
  return bp::out_of_memory(
      "%llu bytes asked for; of the card's %llu bytes %llu are free, %llu are allocated here, and "
      "%llu are held by other processes, libraries and the driver",
      number(bytes), number(total), number(free), number(held), number(others));
}

void Memory::release(bp::Handle handle) {
  const Current current(device_.context());
  const OutsideCapture outside;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(handle);
  if (found == blocks_.end()) return;
  if (give_back(found->second) == CUDA_SUCCESS) held_ -= found->second.bytes;
  blocks_.erase(found);
}

bp::Status Memory::copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                        Queue& queue) {
  const Current current(device_.context());
  if (direction == bp::Direction::within) {
    return queue.check("copy",
                       driver.cuMemcpyDtoDAsync(address(to), address(from), to.bytes, queue.get()));
  }
  if (bp::Status status = queue.refuse_in_recording("a copy from or to the host"); !status.is_ok())
    return status;
  const bool from_host = direction == bp::Direction::from_host;
  if (Staging::is_wanted(from_host ? from.address() : to.address(), to.bytes)) {
    Staging& staging = queue.staging();
    return from_host ? staging.write(address(to), to.bytes, from.address())
                     : staging.read(address(from), to.bytes, to.address());
  }
  return queue.check(
      "copy", from_host
                  ? driver.cuMemcpyHtoDAsync(address(to), from.address(), to.bytes, queue.get())
                  : driver.cuMemcpyDtoHAsync(to.address(), address(from), to.bytes, queue.get()));
}

bp::Status Memory::fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes,
                        Queue& queue) {
  if (bp::Status status = bp::check_pattern(pattern_bytes); !status.is_ok()) return status;
  const Current current(device_.context());
  return queue.check("fill",
                     fill_with(address(to), to.bytes, static_cast<const unsigned char*>(pattern),
                               pattern_bytes, queue.get()));
}

}  // namespace cuda_backend
