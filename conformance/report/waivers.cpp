// Waivers: what a run may fail at, why, where that is written down, and until when.
//
// A file is a JSON list of objects, or the same as simple YAML, a list of texts:
//   - pattern: core:sort*[f16]*
//     reason: no 16-bit sort in the driver
//     address: https://acme.example/bugs/12
//     kind: expected_failure
//     expires: 2027-01-31
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"

namespace bp::conform {
namespace {

using Lines = std::vector<std::pair<int, Json>>;  // line number, object

[[noreturn]] void refuse_line(const std::string& path, int line, const std::string& why) {
  refuse("{}:{}: {}", path, line, why);
}

std::string trimmed(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  text.erase(0, static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_space) -
                                         text.begin()));
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
    text = text.substr(1, text.size() - 2);
  return text;
}

Lines parse_list(const std::string& path, const std::string& text) {
  Lines entries;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    const std::string bare = trimmed(line);
    if (bare.empty() || bare[0] == '#') continue;
    if (bare == "-" || bare.starts_with("- ")) entries.emplace_back(number, Json::object());
    if (entries.empty())
      refuse_line(path, number, "does not begin with an entry, \"- pattern: ...\"");
    line = trimmed(bare.starts_with("-") ? bare.substr(1) : bare);
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos)
      refuse_line(path, number, fmt::format("\"{}\" is not \"name: text\"", line));
    entries.back().second[trimmed(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return entries;
}

Lines parse_json_list(const std::string& path, const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) refuse_line(path, 1, "not a JSON list of waivers");
  Lines entries;
  for (const Json& entry : json) entries.emplace_back(static_cast<int>(entries.size()) + 1, entry);
  return entries;
}

bool is_date(const std::string& text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  return true;
}

Waiver read_waiver(const std::string& path, int line, const Json& entry) {
  if (!entry.is_object()) refuse_line(path, line, "a waiver is an object");
  Waiver waiver;
  const std::pair<const char*, std::string*> fields[] = {{"pattern", &waiver.pattern},
                                                         {"reason", &waiver.reason},
                                                         {"address", &waiver.address},
                                                         {"kind", &waiver.kind},
                                                         {"expires", &waiver.expires}};
  for (const auto& [key, value] : entry.items()) {
    const auto* field = std::find_if(std::begin(fields), std::end(fields),
                                     [&key = key](const auto& each) { return key == each.first; });
    if (field == std::end(fields))
      refuse_line(
          path, line,
          fmt::format("a waiver has no \"{}\"; it has pattern, reason, address, kind and expires",
                      key));
    if (!value.is_string())
      refuse_line(path, line, fmt::format("\"{}\" of a waiver is a text", key));
    *field->second = value.get<std::string>();
  }
  for (const auto& [key, text] : fields)
    if (text->empty()) refuse_line(path, line, fmt::format("a waiver without \"{}\"", key));
  if (waiver.kind != "unsupported" && waiver.kind != "expected_failure" &&
      waiver.kind != "challenge")
    refuse_line(
        path, line,
        fmt::format(
            "\"{}\" is not a kind of waiver; kinds are unsupported, expected_failure and challenge",
            waiver.kind));
  if (!is_date(waiver.expires))
    refuse_line(path, line, fmt::format("\"{}\" is not a date like 2027-01-31", waiver.expires));
  return waiver;
}

}  // namespace

std::vector<Waiver> read_waivers(const std::string& path) {
  const std::string text = read_whole_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '[';
  std::vector<Waiver> waivers;
  for (const auto& [line, entry] : is_json ? parse_json_list(path, text) : parse_list(path, text))
    waivers.push_back(read_waiver(path, line, entry));
  return waivers;
}

}  // namespace bp::conform
