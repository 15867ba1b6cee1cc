// Faults of what a device says of itself, and of the links between devices.
#include <atomic>
#include <cstring>

#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

bp_code (*correct_devices)(void*, uint32_t*, bp_device_info*);
bp_code (*correct_space)(bp_device*, uint32_t, bp_space_info*);
bp_code (*correct_stream)(bp_device*, int32_t, bp_stream**);

// Reported by a device which claims that some priorities are more urgent.
constexpr int32_t greatest_priority = -3;

void spoil(bp_device_info& info) {
  static std::atomic<uint8_t> num_asked{0};
  if (fault_is("uuid_changes")) info.uuid[15] = ++num_asked;
  if (fault_is("driver_without_end")) std::memset(info.driver, '1', sizeof info.driver);
  if (fault_is("numa_node_invented")) info.numa_node = 4095;
  if (fault_is("priority_refused")) info.greatest_priority = greatest_priority;
  if (fault_is("range_upside_down")) info.least_priority = greatest_priority;
}

// An older host's infos lie closer, and end before these facts.
bp_code devices(void* self, uint32_t* count, bp_device_info* infos) {
  const bp_code code = correct_devices(self, count, infos);
  if (code != BP_OK || infos == nullptr || infos->h.size < sizeof(bp_device_info)) return code;
  for (uint32_t i = 0; i < *count; ++i)
    spoil(*reinterpret_cast<bp_device_info*>(reinterpret_cast<char*>(infos) +
                                             size_t{i} * infos->h.size));
  return code;
}

bp_code describe_space(bp_device* device, uint32_t space, bp_space_info* out) {
  const bp_code code = correct_space(device, space, out);
  if (code != BP_OK) return code;
  if (fault_is("free_above_total")) out->free_bytes = out->total_bytes + 1;
  if (fault_is("free_is_used")) out->free_bytes = out->total_bytes - out->free_bytes;
  return code;
}

bp_code create_stream(bp_device* device, int32_t priority, bp_stream** out) {
  if (priority <= greatest_priority)
    return host->set_error(host, BP_UNSUPPORTED, "there is no such priority");
  return correct_stream(device, priority, out);
}

bp_code copy(bp_device*, const bp_region*, bp_stream*, bp_device*, const bp_region*, bp_stream*) {
  return BP_UNSUPPORTED;
}

bp_code link(bp_device* target, bp_device* source, bp_link* out) {
  out->kind = target == source ? BP_LINK_SAME : BP_LINK_HOST;
  if (target < source && fault_is("link_one_way")) out->kind = BP_LINK_FABRIC;
  return BP_OK;
}

}  // namespace

const bp_peer peer{{sizeof(bp_peer), BP_TYPE_EXTENSION, nullptr}, copy, link, nullptr};

void spoil_facts(bp_plugin& plugin, bp_memory& memory, bp_queue& queue) {
  correct_devices = plugin.devices;
  plugin.devices = devices;
  correct_space = memory.describe_space;
  memory.describe_space = describe_space;
  correct_stream = queue.create_stream;
  if (fault_is("priority_refused")) queue.create_stream = create_stream;
}

}  // namespace exam
