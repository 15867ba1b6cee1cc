#include "device_facts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/certified.hpp>
#include <backplane/tensor/error.hpp>

#include "output.hpp"

namespace bp::tools {
namespace {

using Json = nlohmann::ordered_json;

bool has_priorities(const bp_device_info& info) {
  return info.least_priority != info.greatest_priority;
}

std::string link_text(const OpenFacts::ToOther& to) {
  std::string text = fmt::format("to {}: {}", to.device, to_string(to.link.kind));
  if (to.link.bytes_per_second != 0)
    text += fmt::format(", {:.0f} GB/s", static_cast<double>(to.link.bytes_per_second) / 1e9);
  return text;
}

std::string kind_of_queue(std::uint32_t flags) {
  std::string text = (flags & BP_DEVICE_SYNCHRONOUS) != 0 ? "synchronous" : "asynchronous";
  if ((flags & BP_DEVICE_HOST_READABLE) != 0) text += ", memory that the host reads";
  return text;
}

template <class T> Json or_null(bool is_known, T value) {
  return is_known ? Json(std::move(value)) : Json();
}

Json certificate_json(const DeviceRecord& record) {
  const CertifiedLevel level = certified_level(record.device);
  if (level.profile.empty()) return {};
  return {{"profile", level.profile},
          {"extent", level.extent},
          {"on", level.device_name},
          {"issued", level.issued},
          {"certificate", level.certificate}};
}

Json links_json(const OpenFacts& open) {
  Json links = Json::array();
  for (const OpenFacts::ToOther& each : open.links)
    links.push_back({{"to", each.device},
                     {"kind", to_string(each.link.kind)},
                     {"bytes_per_second",
                      or_null(each.link.bytes_per_second != 0, each.link.bytes_per_second)}});
  return links;
}

}  // namespace

OpenFacts ask_open_device(const DeviceRecord& record) {
  OpenFacts facts;
  try {
    facts.free_memory = free_memory(record.device);
    for (const DeviceRecord* other : record.backend->devices)
      if (other != &record)
        facts.links.push_back({other->name, link_between(other->device, record.device)});
  } catch (const Error& error) {
    facts.error = error.what();
  }
  return facts;
}

std::string level_of(const DeviceRecord& record) {
  return certified_level(record.device).profile;
}

std::string memory_text(std::uint64_t bytes) {
  if (bytes == 0) return "unknown";
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1u << 30));
}

std::string same_unit_text(const DeviceRecord& record) {
  std::string text;
  for (const DeviceRecord* other : other_devices_of_unit(record))
    text += (text.empty() ? "" : ", ") + other->name;
  return text;
}

void print_facts(const DeviceRecord& record, const OpenFacts& open) {
  const bp_device_info& info = record.info;
  const Backend& backend = *record.backend;
  fmt::print("{}  {}\n", paint(record.name, Color::strong), info.name);
  const auto line = [](std::string_view name, const std::string& value,
                       std::string_view otherwise = "unknown") {
    fmt::print("  {:<11} {}\n", name, value.empty() ? otherwise : value);
  };
  const auto number = [](std::uint64_t value, std::string_view unit) {
    return value == 0 ? std::string() : fmt::format("{}{}", value, unit);
  };
  line("maker", backend.vendor);
  line("plugin", fmt::format("{} {}", backend.path, backend.version));
  line("level", level_of(record), "none");
  line("memory",
       memory_text(info.total_memory) +
           (open.free_memory ? fmt::format(", {:.1f} GiB free",
                                           static_cast<double>(*open.free_memory) / (1u << 30))
                             : ""));
  line("queues", kind_of_queue(info.flags));
  line("driver", info.driver, "none");
  line("uuid", uuid_of(info));
  if (const std::string others = same_unit_text(record); !others.empty())
    line("same unit", "as " + others);
  line("bus", info.bus, "none");
  line("NUMA node", info.numa_node < 0 ? "" : std::to_string(info.numa_node));
  line("cores", number(info.num_cores, ""));
  line("clock", number(info.clock_mhz, " MHz"));
  line("priorities", has_priorities(info) ? fmt::format("{} (least) to {}", info.least_priority,
                                                        info.greatest_priority)
                                          : "all alike");
  for (const OpenFacts::ToOther& each : open.links) line("link", link_text(each));
  if (!open.error.empty()) line(paint("error", Color::bad), open.error);
}

Json facts_json(const DeviceRecord& record, const OpenFacts* open) {
  const Backend& backend = *record.backend;
  const bp_device_info& info = record.info;
  Json same_unit = Json::array();
  for (const DeviceRecord* other : other_devices_of_unit(record)) same_unit.push_back(other->name);
  const std::string uuid = uuid_of(info), bus = info.bus, driver = info.driver;
  Json facts = {
      {"name", record.name},
      {"backend", backend.name},
      {"index", record.index},
      {"description", info.name},
      {"maker", backend.vendor},
      {"version", backend.version},
      {"plugin", backend.path},
      {"memory_bytes", info.total_memory},
      {"free_memory_bytes", open && open->free_memory ? Json(*open->free_memory) : Json()},
      {"synchronous", (info.flags & BP_DEVICE_SYNCHRONOUS) != 0},
      {"host_readable", (info.flags & BP_DEVICE_HOST_READABLE) != 0},
      {"uuid", or_null(!uuid.empty(), uuid)},
      {"same_unit_as", std::move(same_unit)},
      {"bus", or_null(!bus.empty(), bus)},
      {"numa_node", or_null(info.numa_node >= 0, info.numa_node)},
      {"driver", or_null(!driver.empty(), driver)},
      {"cores", or_null(info.num_cores != 0, info.num_cores)},
      {"clock_mhz", or_null(info.clock_mhz != 0, info.clock_mhz)},
      {"least_priority", info.least_priority},
      {"greatest_priority", info.greatest_priority},
      {"links", open ? links_json(*open) : Json()},
      {"certified", certificate_json(record)}};
  if (open && !open->error.empty()) facts["error"] = open->error;
  return facts;
}

}  // namespace bp::tools
