#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/certified.hpp>
#include <backplane/runtime/device_registry.hpp>

#include "commands.hpp"
#include "load.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

std::string describe_memory(const DeviceRecord& record) {
  if (record.info.total_memory == 0) return "unknown";
  return fmt::format("{:.1f} GiB", static_cast<double>(record.info.total_memory) / (1u << 30));
}

// "L5:f32,f16,+8": whoever wants all of a long list takes --json.
std::string describe_level(const DeviceRecord& record) {
  std::string profile = certified_level(record.device).profile;
  if (profile.empty()) return "-";
  std::size_t end = 0;
  for (int i = 0; i < 3 && end != std::string::npos; ++i) end = profile.find(',', end + (i != 0));
  if (end == std::string::npos) return profile;
  return fmt::format(
      "{},+{}", profile.substr(0, end),
      std::count(profile.begin() + static_cast<std::ptrdiff_t>(end), profile.end(), ','));
}

void print_for_program(const std::vector<const DeviceRecord*>& records) {
  auto list = nlohmann::ordered_json::array();
  for (const DeviceRecord* record : records) {
    const Backend& backend = *record->backend;
    const std::uint32_t flags = record->info.flags;
    const CertifiedLevel level = certified_level(record->device);
    auto certified = nlohmann::ordered_json();  // null: no level is known
    if (!level.profile.empty())
      certified = {{"profile", level.profile},
                   {"extent", level.extent},
                   {"on", level.device_name},
                   {"issued", level.issued},
                   {"certificate", level.certificate}};
    list.push_back({{"name", record->name},
                    {"backend", backend.name},
                    {"index", record->index},
                    {"description", record->info.name},
                    {"maker", backend.vendor},
                    {"version", backend.version},
                    {"plugin", backend.path},
                    {"memory_bytes", record->info.total_memory},
                    {"synchronous", (flags & BP_DEVICE_SYNCHRONOUS) != 0},
                    {"host_readable", (flags & BP_DEVICE_HOST_READABLE) != 0},
                    {"certified", std::move(certified)}});
  }
  print_json(list);
}

void print_for_person(const std::vector<const DeviceRecord*>& records) {
  if (records.empty()) {
    fmt::print("No plugin offers a device; 'backplane doctor' says why.\n");
    return;
  }
  Table table({"DEVICE", "MAKER", "VERSION", "MEMORY", "LEVEL", "WHAT IT IS"});
  for (const DeviceRecord* record : records)
    table.add({{record->name, Color::strong},
               {record->backend->vendor},
               {record->backend->version},
               {describe_memory(*record)},
               {describe_level(*record)},
               {record->info.name}});
  table.print();
}

}  // namespace

int devices(const Options& options) {
  const std::vector<LoadProblem> problems = load_plugins(options);
  std::vector<const DeviceRecord*> records = registered_devices();
  for (const LoadProblem& problem : problems) std::erase(records, problem.device);
  options.json ? print_for_program(records) : print_for_person(records);
  // After what can be used, and where a program does not read.
  bool is_named = false;
  for (const LoadProblem& problem : problems) {
    fmt::print(options.json ? stderr : stdout, "{} {}\n", paint("not used:", Color::bad),
               problem.sentence);
    is_named |= problem.is_named;
  }
  return is_named ? 1 : 0;
}

}  // namespace bp::tools
