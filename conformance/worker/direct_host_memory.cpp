// {"do":"host_memory", "object":1, "bytes":100, "adopts":false}: a pattern goes from the extension's memory to the object and
// back. "adopts": the memory is the worker's own. {"none":true} where the plugin adopts none.
#include <cstdlib>
#include <cstring>
#include <vector>

#include <backplane/extensions/host_memory.h>

#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

constexpr std::uint64_t alignment = 64;

std::vector<std::uint8_t> pattern_of(std::uint64_t bytes) {
  std::vector<std::uint8_t> pattern(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::uint8_t>(i * 13 + 5);
  return pattern;
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

Json DirectScope::host_memory(const Json& step) {
  const auto* table = reinterpret_cast<const bp_host_memory*>(
      plugin_.extension(BP_HOST_MEMORY, BP_HOST_MEMORY_VERSION));
  const auto bytes = step.at("bytes").get<std::uint64_t>();
  const bool adopts = step.value("adopts", false);
  if (!table || (adopts && (!table->adopt || !table->forget)))
    return {{"code", BP_OK}, {"none", true}};
  const std::vector<std::uint8_t> pattern = pattern_of(bytes);
  std::unique_ptr<void, Freed> own;
  void* memory = nullptr;
  bp_code code = BP_OK;
  if (adopts) {
    own.reset(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
    memory = own.get();
    std::memcpy(memory, pattern.data(), bytes);
    code = table->adopt(plugin_.device, memory, bytes);
    if (code == BP_UNSUPPORTED) return {{"code", BP_OK}, {"none", true}};
  } else {
    code = table->allocate(plugin_.device, bytes, alignment, &memory);
  }
  Json result = answer(code);
  if (code != BP_OK || !memory) return result["null"] = true, result;
  result["aligned"] = reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
  result["kept"] = !adopts || std::memcmp(memory, pattern.data(), bytes) == 0;
  std::memcpy(memory, pattern.data(), bytes);
  result["same"] = there_and_back(block(step, "object"), memory, pattern);
  if (!adopts) return table->release(plugin_.device, memory), result;
  table->forget(plugin_.device, memory);
  result["still_kept"] = std::memcmp(memory, pattern.data(), bytes) == 0;
  told_error() = {};
  result["again"] = table->adopt(plugin_.device, memory, bytes);
  if (result["again"] == BP_OK) table->forget(plugin_.device, memory);
  return result;
}

bool DirectScope::there_and_back(GuardedBlock& there, void* memory,
                                 const std::vector<std::uint8_t>& pattern) {
  const bp_region host{reinterpret_cast<std::uintptr_t>(memory), 0, pattern.size()};
  const bp_region device{there.handle(), there.front(), pattern.size()};
  require(plugin_.memory.copy(plugin_.device, &device, &host, BP_COPY_FROM_HOST, nullptr), "copy");
  require(plugin_.queue.synchronize(plugin_.device, nullptr), "synchronize");
  there.expect(0, pattern.data(), pattern.size());
  std::memset(memory, 0, pattern.size());
  require(plugin_.memory.copy(plugin_.device, &host, &device, BP_COPY_TO_HOST, nullptr), "copy");
  require(plugin_.queue.synchronize(plugin_.device, nullptr), "synchronize");
  return std::memcmp(memory, pattern.data(), pattern.size()) == 0;
}

}  // namespace bp::conform
