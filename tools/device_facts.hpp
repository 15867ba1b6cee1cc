// All that is known of one device, for `backplane devices`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include <backplane/runtime/device_facts.hpp>

namespace bp::tools {

// What only an open device tells.
struct OpenFacts {
  std::optional<std::uint64_t> free_memory;
  struct ToOther {
    std::string device;
    Link link;
  };
  std::vector<ToOther>
      links;  // to the other devices of its backend; all others are reached through the host
  std::string error;  // why it tells nothing, or no more than this
};
OpenFacts ask_open_device(const DeviceRecord& record);

// "L5:f32,f16", whole; empty: no level is known.
std::string level_of(const DeviceRecord& record);
// "31.0 GiB"; "unknown" for 0.
std::string memory_text(std::uint64_t bytes);
// "opencl:0, cuda:0" where these are the same unit; else empty.
std::string same_unit_text(const DeviceRecord& record);

// A block of lines.
void print_facts(const DeviceRecord& record, const OpenFacts& open);
// Null where a fact is not known; without `open`, those that only an open device tells.
nlohmann::ordered_json facts_json(const DeviceRecord& record, const OpenFacts* open);

}  // namespace bp::tools
