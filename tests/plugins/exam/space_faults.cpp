// Faults of the second memory.
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>

#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

constexpr uint8_t mask = 0x5A;

bp_memory correct_memory;
std::mutex mutex;
std::set<bp_handle> scratch;

bool is_in_scratch(const bp_region& region, bool is_host) {
  const std::lock_guard lock(mutex);
  return !is_host && scratch.count(region.handle) != 0;
}

bp_code allocate_known(bp_device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                       bp_handle* out) {
  const bp_code code = correct_memory.allocate_in(device, space, bytes, alignment, out);
  const std::lock_guard lock(mutex);
  if (code == BP_OK) scratch.insert(*out);
  return code;
}
void release_known(bp_device* device, bp_handle handle) {
  {
    const std::lock_guard lock(mutex);
    scratch.erase(handle);
  }
  correct_memory.release(device, handle);
}

bp_code never_full(bp_device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                   bp_handle* out) {
  const bp_code code = correct_memory.allocate_in(device, space, bytes, alignment, out);
  return code == BP_OUT_OF_MEMORY ? correct_memory.allocate(device, bytes, alignment, out) : code;
}

bp_code full_is_internal(bp_device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                         bp_handle* out) {
  const bp_code code = correct_memory.allocate_in(device, space, bytes, alignment, out);
  return code == BP_OUT_OF_MEMORY ? host->set_error(host, BP_INTERNAL, "no room") : code;
}

bp_code stays_full(bp_device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                   bp_handle* out) {
  static std::atomic<bool> was_full{false};
  if (was_full) return host->set_error(host, BP_OUT_OF_MEMORY, "no room");
  const bp_code code = correct_memory.allocate_in(device, space, bytes, alignment, out);
  if (code == BP_OUT_OF_MEMORY) was_full = true;
  return code;
}

bp_code describes_any(bp_device* device, uint32_t space, bp_space_info* out) {
  return correct_memory.describe_space(device, space > 1 ? 1 : space, out);
}

bp_code free_never_falls(bp_device* device, uint32_t space, bp_space_info* out) {
  const bp_code code = correct_memory.describe_space(device, space, out);
  out->free_bytes = out->total_bytes;
  return code;
}

bool crosses(const bp_region& to, const bp_region& from, uint32_t direction) {
  return is_in_scratch(to, direction == BP_COPY_TO_HOST) !=
         is_in_scratch(from, direction == BP_COPY_FROM_HOST);
}

// The last byte of what comes from the host.
bp_code writes_short(bp_device* device, const bp_region* to, const bp_region* from,
                     uint32_t direction, bp_stream* stream) {
  bp_region less_to = *to, less_from = *from;
  if (direction == BP_COPY_FROM_HOST && to->bytes > 1 && is_in_scratch(*to, false))
    less_to.bytes = less_from.bytes = to->bytes - 1;
  return correct_memory.copy(device, &less_to, &less_from, direction, stream);
}

bp_code copies_short(bp_device* device, const bp_region* to, const bp_region* from,
                     uint32_t direction, bp_stream* stream) {
  bp_region less_to = *to, less_from = *from;
  if (direction == BP_COPY_WITHIN && to->bytes > 64 && crosses(*to, *from, direction))
    less_to.bytes = less_from.bytes = to->bytes - 1;
  return correct_memory.copy(device, &less_to, &less_from, direction, stream);
}

bp_code fills_main_alone(bp_device* device, const bp_region* to, const void* pattern,
                         uint32_t bytes, bp_stream* stream) {
  return is_in_scratch(*to, false) ? BP_OK
                                   : correct_memory.fill(device, to, pattern, bytes, stream);
}

void turn(const bp_region& region) {
  auto* const bytes = reinterpret_cast<uint8_t*>(region.handle) + region.offset;
  for (uint64_t i = 0; i < region.bytes; ++i) bytes[i] ^= mask;
}

// What lies there is not what was written, though the memory is said to be visible.
bp_code copies_masked(bp_device* device, const bp_region* to, const bp_region* from,
                      uint32_t direction, bp_stream* stream) {
  const bp_code code = correct_memory.copy(device, to, from, direction, stream);
  if (code == BP_OK && crosses(*to, *from, direction)) turn(*to);
  return code;
}
bp_code fills_masked(bp_device* device, const bp_region* to, const void* pattern, uint32_t bytes,
                     bp_stream* stream) {
  const bp_code code = correct_memory.fill(device, to, pattern, bytes, stream);
  if (code == BP_OK && is_in_scratch(*to, false)) turn(*to);
  return code;
}

}  // namespace

void spoil_spaces(bp_memory& memory) {
  correct_memory = memory;
  if (!fault().starts_with("space_")) return;
  memory.allocate_in = allocate_known;
  memory.release = release_known;
  if (fault_is("space_never_full")) memory.allocate_in = never_full;
  if (fault_is("space_full_is_internal")) memory.allocate_in = full_is_internal;
  if (fault_is("space_stays_full")) memory.allocate_in = stays_full;
  if (fault_is("space_describes_any")) memory.describe_space = describes_any;
  if (fault_is("space_free_never_falls")) memory.describe_space = free_never_falls;
  if (fault_is("space_writes_short")) memory.copy = writes_short;
  if (fault_is("space_copies_short")) memory.copy = copies_short;
  if (fault_is("space_fills_main_alone")) memory.fill = fills_main_alone;
  if (fault_is("space_masked")) memory.copy = copies_masked, memory.fill = fills_masked;
}

}  // namespace exam
