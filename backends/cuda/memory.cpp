#include "memory.hpp"

#include <cstring>

#include <backplane/plugin/fills.hpp>

#include "device.hpp"
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

bp::Result<bp::Handle> Memory::allocate(uint64_t bytes, uint64_t alignment) {
  const Current current(device_.context());
  const OutsideCapture outside;
  constexpr uint64_t drivers_alignment = 256;
  const uint64_t slack = alignment > drivers_alignment ? alignment - drivers_alignment : 0;
  if (bytes > UINT64_MAX - slack) return explain_exhaustion(bytes);
  bytes += slack;
  CUdeviceptr made = 0;
  const CUresult error = driver.cuMemAlloc(&made, bytes);
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return explain_exhaustion(bytes);
  if (error != CUDA_SUCCESS) return failed("allocating", error);
  held_.fetch_add(bytes, std::memory_order_relaxed);
  // `release` finds the begin again.
  const uint64_t below = std::max<uint64_t>(alignment, 1) - 1;
  return static_cast<bp::Handle>((made + slack) & ~below);
}

// The core says what it holds itself; that other processes hold the rest is known here alone.
bp::Status Memory::explain_exhaustion(uint64_t bytes) const {
  size_t free = 0, total = 0;
  driver.cuMemGetInfo(&free, &total);
  const uint64_t held = held_.load(std::memory_order_relaxed);
  const uint64_t others = total - std::min<uint64_t>(total, free + held);
  return bp::out_of_memory(
      "%llu bytes asked for; of the card's %llu bytes %llu are free, %llu are allocated here, and "
      "%llu are held by other processes, libraries and the driver",
      number(bytes), number(total), number(free), number(held), number(others));
}

void Memory::release(bp::Handle handle) {
  const Current current(device_.context());
  const OutsideCapture outside;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  if (driver.cuMemGetAddressRange(&base, &bytes, handle) != CUDA_SUCCESS) base = handle, bytes = 0;
  if (driver.cuMemFree(base) == CUDA_SUCCESS)
    held_.fetch_sub(std::min<uint64_t>(bytes, held_.load()), std::memory_order_relaxed);
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
