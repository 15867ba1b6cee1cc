#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/tensor/check.hpp>

#include "commands.hpp"
#include "device_facts.hpp"
#include "load.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

using Records = std::vector<const DeviceRecord*>;

// "L5:f32,f16,+8": to see all of a long list, name the device or use --json.
std::string describe_level(const DeviceRecord& record) {
  std::string profile = level_of(record);
  if (profile.empty()) return "-";
  std::size_t end = 0;
  for (int i = 0; i < 3 && end != std::string::npos; ++i) end = profile.find(',', end + (i != 0));
  if (end == std::string::npos) return profile;
  return fmt::format(
      "{},+{}", profile.substr(0, end),
      std::count(profile.begin() + static_cast<std::ptrdiff_t>(end), profile.end(), ','));
}

std::string what_it_is(const DeviceRecord& record) {
  const std::string others = same_unit_text(record);
  return others.empty() ? record.info.name
                        : fmt::format("{} (same unit as {})", record.info.name, others);
}

void print_table(const Records& records) {
  if (records.empty()) {
    fmt::print("No plugin offers a device; 'backplane doctor' says why.\n");
    return;
  }
  Table table({"DEVICE", "MAKER", "VERSION", "MEMORY", "LEVEL", "WHAT IT IS"});
  for (const DeviceRecord* record : records)
    table.add({{record->name, Color::strong},
               {record->backend->vendor},
               {record->backend->version},
               {memory_text(record->info.total_memory)},
               {describe_level(*record)},
               {what_it_is(*record)}});
  table.print();
}

// Those that a person named, each once and in their order: "acme:1", or all of "acme". Throws for a name that nobody has.
Records only_named(const Records& records, const std::vector<std::string>& names) {
  Records chosen;
  for (const std::string& name : names) {
    bool is_known = false;
    for (const DeviceRecord* record : records) {
      if (record->name != name && record->backend->name != name) continue;
      is_known = true;
      if (std::find(chosen.begin(), chosen.end(), record) == chosen.end()) chosen.push_back(record);
    }
    if (is_known) continue;
    std::string known;
    for (const DeviceRecord* record : records) known += (known.empty() ? "" : ", ") + record->name;
    throw_error(
        ErrorClass::bad_argument,
        fmt::format("there is no device '{}'; {} ('backplane doctor' says why others are not used)",
                    name, known.empty() ? "no plugin offers one" : "there are " + known));
  }
  return chosen;
}

void print_for_program(const Records& records, bool opens) {
  auto list = nlohmann::ordered_json::array();
  for (const DeviceRecord* record : records) {
    if (!opens) {
      list.push_back(facts_json(*record, nullptr));
      continue;
    }
    const OpenFacts open = ask_open_device(*record);
    list.push_back(facts_json(*record, &open));
  }
  print_json(list);
}

void print_blocks(const Records& records) {
  for (const DeviceRecord* record : records) {
    if (record != records.front()) fmt::print("\n");
    print_facts(*record, ask_open_device(*record));
  }
}

}  // namespace

int devices(const Options& options) {
  const std::vector<LoadProblem> problems = load_plugins(options);
  Records records = registered_devices();
  for (const LoadProblem& problem : problems) std::erase(records, problem.device);
  const bool are_named = !options.devices.empty();
  if (are_named) records = only_named(records, options.devices);
  if (options.json)
    print_for_program(records, are_named);
  else if (are_named)
    print_blocks(records);
  else
    print_table(records);
  // After what can be used, and where a program does not read.
  bool is_named = false;
  for (const LoadProblem& problem : problems) {
    is_named |= problem.is_named;
    // Who asks for one device is not told of another's plugin.
    if (are_named && !problem.is_named) continue;
    fmt::print(options.json ? stderr : stdout, "{} {}\n", paint("not used:", Color::bad),
               problem.sentence);
  }
  return is_named ? 1 : 0;
}

}  // namespace bp::tools
