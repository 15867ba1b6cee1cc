// Raw device memory: called for large blocks and seldom, since Backplane pools on top of it.
#include <cstdlib>
#include <cstring>

#include "device.hpp"

namespace acme {
namespace {

char* address(const bp::Region& region) {
  return static_cast<char*>(bp::address_of(bp::Handle{region.handle})) + region.offset;
}

}  // namespace

bp::Result<bp::Handle> Device::allocate(uint64_t bytes, uint64_t alignment) {
  void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr)
    return bp::out_of_memory("no %llu bytes", static_cast<unsigned long long>(bytes));
  return bp::handle_of(block);
}

void Device::release(bp::Handle handle) {
  std::free(bp::address_of(handle));
}

// `direction` says which side is host memory; here both are.
bp::Status Device::copy(bp::Region to, bp::Region from, bp::Direction, Queue*) {
  std::memcpy(address(to), address(from), to.bytes);
  return bp::ok;
}

// Optional: without it Backplane writes through the host.
bp::Status Device::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue*) {
  if (pattern_bytes == 0 || pattern_bytes > 16 || (pattern_bytes & (pattern_bytes - 1)) != 0)
    return bp::bad_argument("fill: a pattern of %u bytes; 1, 2, 4, 8 or 16 are possible",
                            pattern_bytes);
  for (uint64_t i = 0; i < to.bytes; ++i)
    address(to)[i] = static_cast<const char*>(pattern)[i % pattern_bytes];
  return bp::ok;
}

}  // namespace acme
