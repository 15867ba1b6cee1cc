// From a failure to the command that shows it again.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/report.hpp"
#include "runner/aggregate.hpp"

namespace bp::conform {
namespace {

// For a shell.
std::string quoted(const std::string& text) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string repeating_command(const std::string& case_name, const nlohmann::json& header) {
  std::string command = "backplane conform";
  if (header.contains("through")) {
    command += fmt::format(
        " --through {} --profile {} --filter {}", header["through"].at("suite").get<std::string>(),
        header.at("selection").at("profile").get<std::string>(), quoted(case_name));
  } else if (is_aggregate(case_name)) {
    const std::string row = case_name.substr(std::string_view("probe:bias.").size());
    const nlohmann::json& selection = header.at("selection");
    command += fmt::format(" --profile {} --seed {} --filter {}",
                           selection.at("profile").get<std::string>(),
                           selection.at("seed").get<std::uint64_t>(),
                           quoted("*:" + row.substr(0, row.find('@')) + "*"));
  } else {
    command += " repro " + quoted(case_name);
  }
  command += " --device " + quoted(header.at("subject").at("device").get<std::string>());
  if (const std::string plugin = header.value("plugin", ""); !plugin.empty())
    command += " --plugin " + quoted(plugin);
  for (const std::string& entry : header.value("environment", std::vector<std::string>()))
    command += " --env " + quoted(entry);
  return command;
}

}  // namespace bp::conform
