#include <algorithm>
#include <cstring>

#include <backplane/runtime/device_facts.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

using Uuid = decltype(bp_device_info::uuid);

bool is_known(const Uuid& uuid) {
  return std::any_of(std::begin(uuid), std::end(uuid), [](std::uint8_t byte) { return byte != 0; });
}

bool is_same_unit(const DeviceRecord& a, const DeviceRecord& b) {
  return &a == &b ||
         (is_known(a.info.uuid) && std::memcmp(a.info.uuid, b.info.uuid, sizeof a.info.uuid) == 0);
}

// A kind that a later header has is none that this one can name.
LinkKind kind_of(std::uint32_t kind) {
  return kind <= BP_LINK_HOST ? static_cast<LinkKind>(kind) : LinkKind::unknown;
}

Link ask_for_link(DeviceRecord& target, DeviceRecord& source) {
  const bp_peer& peer = extensions_of(target).peer;
  if (!peer.copy) return {LinkKind::host, 0};
  if (!peer.link) return {};
  bp_link link{};
  link.h = {sizeof link, 0, nullptr};
  clear_plugin_error();
  const bp_code code = peer.link(target.handle, source.handle, &link);
  if (code == BP_UNSUPPORTED) return {LinkKind::host, 0};
  if (code != BP_OK) throw_plugin_error(target, code, "link_between");
  return {kind_of(link.kind), link.bytes_per_second};
}

}  // namespace

std::string uuid_of(const bp_device_info& info) {
  if (!is_known(info.uuid)) return {};
  std::string text;
  for (std::size_t i = 0; i < sizeof info.uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", info.uuid[i]);
  }
  return text;
}

std::vector<const DeviceRecord*> other_devices_of_unit(const DeviceRecord& record) {
  std::vector<const DeviceRecord*> others = registered_devices();
  std::erase_if(others, [&](const DeviceRecord* each) {
    return each == &record || !is_same_unit(*each, record);
  });
  return others;
}

std::optional<std::uint64_t> free_memory(Device device) {
  DeviceRecord& record = device_record(device);
  if (!record.backend || !record.memory->describe_space) return std::nullopt;
  bp_space_info info{};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  clear_plugin_error();
  const bp_code code = record.memory->describe_space(record.handle, 0, &info);
  if (code == BP_UNSUPPORTED) return std::nullopt;
  if (code != BP_OK) throw_plugin_error(record, code, "free_memory");
  if (info.total_bytes == 0 && info.free_bytes == 0) return std::nullopt;
  return info.free_bytes;
}

Link link_between(Device target, Device source) {
  const DeviceRecord &to = registered_state(target), &from = registered_state(source);
  if (is_same_unit(to, from)) return {LinkKind::same_unit, 0};
  if (!to.backend || to.backend != from.backend) return {LinkKind::host, 0};
  return ask_for_link(device_record(target), device_record(source));
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::same_unit: return "same unit";
    case LinkKind::fabric: return "fabric";
    case LinkKind::pci: return "PCI";
    case LinkKind::host: return "host";
    case LinkKind::unknown: break;
  }
  return "unknown";
}

}  // namespace bp
