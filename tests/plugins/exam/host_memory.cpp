// The exam's extension bp.host_memory, with its faults.
#include "host_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <backplane/extensions/host_memory.h>

#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

std::mutex mutex;
std::set<void*> adopted;

// The address that aligned_alloc gave is one element before the misaligned one.
constexpr uint64_t off = 8;

bp_code allocate(bp_device*, uint64_t bytes, uint64_t alignment, void** out) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < 64 ? 64 : alignment, bytes + off) != 0)
    return host->set_error(host, BP_OUT_OF_MEMORY, "no memory");
  *out = fault_is("host_memory_unaligned") ? static_cast<char*>(memory) + off : memory;
  return BP_OK;
}

void release(bp_device*, void* memory) {
  std::free(fault_is("host_memory_unaligned") ? static_cast<char*>(memory) - off : memory);
}

bp_code adopt(bp_device*, void* memory, uint64_t bytes) {
  const std::lock_guard lock(mutex);
  if (!adopted.insert(memory).second)
    return host->set_error(host, BP_BAD_ARGUMENT, "the memory is registered already");
  if (fault_is("host_memory_cleared")) std::memset(memory, 0, bytes);
  return BP_OK;
}

void forget(bp_device*, void* memory) {
  const std::lock_guard lock(mutex);
  if (!fault_is("host_memory_kept")) adopted.erase(memory);
}

}  // namespace

const bp_header* host_memory(const char* name, uint32_t min_version) {
  static const bp_host_memory table = {
      {sizeof table, BP_TYPE_EXTENSION, nullptr}, allocate, release, adopt, forget};
  return std::strcmp(name, BP_HOST_MEMORY) == 0 && min_version <= 1 ? &table.h : nullptr;
}

}  // namespace exam
