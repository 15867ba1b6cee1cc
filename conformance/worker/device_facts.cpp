#include "worker/device_facts.hpp"

#include <algorithm>

#include <backplane/extensions/peer.h>

namespace bp::conform {
namespace {

constexpr std::uint32_t most_devices = 8;  // whose links are asked for

template <std::size_t size, class Byte> Json all_bytes(const Byte (&text)[size]) {
  return Json::binary(std::vector<std::uint8_t>(text, text + size));
}

Json facts_json(const bp_device_info& info) {
  return {{"name", all_bytes(info.name)},
          {"uuid", all_bytes(info.uuid)},
          {"bus", all_bytes(info.bus)},
          {"driver", all_bytes(info.driver)},
          {"numa_node", info.numa_node},
          {"num_cores", info.num_cores},
          {"clock_mhz", info.clock_mhz},
          {"least_priority", info.least_priority},
          {"greatest_priority", info.greatest_priority},
          {"flags", info.flags},
          {"total_memory", info.total_memory},
          {"offset_alignment", info.offset_alignment},
          {"max_allocation", info.max_allocation}};
}

// Those of all devices that open; closed at the end, but for the plugin's own.
class OpenDevices {
 public:
  explicit OpenDevices(const DirectPlugin& plugin) : plugin_(plugin) {
    for (std::uint32_t i = 0; i < std::min(plugin.num_devices, most_devices); ++i) {
      bp_device* device = i == plugin.index ? plugin.device : nullptr;
      if (!device && plugin.plugin->open(plugin.plugin->self, i, &device) != BP_OK)
        device = nullptr;
      all.push_back(device);
    }
  }
  ~OpenDevices() {
    for (bp_device* device : all)
      if (device && device != plugin_.device) plugin_.plugin->close(device);
  }
  OpenDevices(const OpenDevices&) = delete;
  OpenDevices& operator=(const OpenDevices&) = delete;

  std::vector<bp_device*> all;  // null: does not open

 private:
  const DirectPlugin& plugin_;
};

}  // namespace

Json ask_facts(const DirectPlugin& plugin) {
  Json result = {{"code", BP_OK}, {"counts", {plugin.num_devices}}};
  for (const char* time : {"first", "second"}) {
    std::vector<bp_device_info> infos(plugin.num_devices);
    for (bp_device_info& each : infos) {
      each.h = {sizeof(bp_device_info), BP_TYPE_DEVICE_INFO, nullptr};
      each.numa_node = -1;
    }
    std::uint32_t count = plugin.num_devices;
    told_error() = {};
    if (const bp_code code = plugin.plugin->devices(plugin.plugin->self, &count, infos.data());
        code != BP_OK)
      return answer(code);
    result["counts"].push_back(count);
    result[time] = Json::array();
    for (const bp_device_info& info : infos) result[time].push_back(facts_json(info));
  }
  return result;
}

Json ask_links(const DirectPlugin& plugin) {
  const auto* peer = reinterpret_cast<const bp_peer*>(find_links(plugin));
  Json links = Json::array();
  if (!peer) return {{"code", BP_OK}, {"links", links}};
  const OpenDevices devices(plugin);
  for (std::size_t to = 0; to < devices.all.size(); ++to)
    for (std::size_t from = 0; from < devices.all.size(); ++from) {
      if (!devices.all[to] || !devices.all[from]) continue;
      bp_link link{};
      link.h = {sizeof link, 0, nullptr};
      told_error() = {};
      Json each = answer(peer->link(devices.all[to], devices.all[from], &link));
      each["to"] = to;
      each["from"] = from;
      each["kind"] = link.kind;
      links.push_back(std::move(each));
    }
  return {{"code", BP_OK}, {"links", links}};
}

const bp_header* find_links(const DirectPlugin& plugin) {
  const bp_header* found = plugin.extension(BP_PEER, BP_PEER_VERSION);
  if (!found) return nullptr;
  const auto* peer = reinterpret_cast<const bp_peer*>(found);
  return BP_HAS(peer, bp_peer, link) && peer->link ? found : nullptr;
}

}  // namespace bp::conform
