#include "runner/exam.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include <backplane/loading/sha256.hpp>

#include "refuse.hpp"
#include "report/files.hpp"

namespace bp::conform {
std::vector<ExamEntry> read_exam(const std::string& path) {
  const auto json = Json::parse(read_whole_file(path), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("faults"))
    refuse(
        "{}: not a list of faults: {{\"subjects\": {{...}}, \"faults\": [...], "
        "\"variants\": [...]}}",
        path);
  std::vector<ExamEntry> entries;
  try {
    std::map<std::string, std::string> subject_of;
    for (const auto& [subject, families] : json.at("subjects").items())
      for (const auto& family : families) subject_of[family] = subject;
    for (const auto& each : json["faults"])
      entries.push_back({each.at("fault"), each.at("family"), each.value("what", ""),
                         each.at("ops"), subject_of[each.at("family")]});
    for (const auto& each : json.value("variants", Json::array()))
      entries.push_back({each.at("variant"), "", each.value("what", ""), {}, ""});
  } catch (const Json::exception& problem) {
    refuse("{}: {}", path, problem.what());
  }
  return entries;
}

std::string exam_line(const ExamResult& result) {
  const char* verdict = result.entry.is_fault() ? (result.good ? "killed" : "SURVIVES")
                                                : (result.good ? "passes" : "FAILS");
  return fmt::format("{:<9}{:<26}{:<14}seed {:<4}{:>6} of {:>6} cases {:>7.1f} s  {}{}\n", verdict,
                     result.entry.name, result.entry.family, result.seed, result.run, result.cases,
                     result.seconds, result.first,
                     result.good || result.why.empty() ? "" : ": " + result.why);
}

namespace {

// Calls visit(name in the file, field).
template <class Visit> void each_field_of_result(auto& result, Visit visit) {
  visit("name", result.entry.name);
  visit("family", result.entry.family);
  visit("seed", result.seed);
  visit("good", result.good);
  visit("first", result.first);
  visit("why", result.why);
  visit("kills", result.kills);
  visit("cases", result.cases);
  visit("run", result.run);
  visit("seconds", result.seconds);
}

ExamResult read_result(const Json& line, const std::string& library, bool older) {
  ExamResult result;
  const auto of = line.at("library").get<std::string>();
  result.is_older = of != library;
  if (result.is_older && !older)
    refuse(
        "found with the library of digest {}, and this one's is {}; --older "
        "takes it",
        of, library);
  each_field_of_result(result, [&](const char* key, auto& value) { line.at(key).get_to(value); });
  return result;
}

}  // namespace

ExamResults::ExamResults(const std::string& folder, const std::string& library, bool resume,
                         bool older)
    : library_(loading::sha256_of_file(library).value_or("")) {
  if (folder.empty()) return;
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/results.jsonl";
  if (resume && std::filesystem::exists(path)) {
    std::istringstream lines(read_whole_file(path));
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) try {
        known_.push_back(read_result(Json::parse(line), library_, older));
      } catch (const std::exception& problem) {
        refuse("selftest: {}:{}: {}", path, number, problem.what());
      }
  }
  file_ = std::make_unique<Journal>(path, resume && std::filesystem::exists(path));
}

std::optional<ExamResult> ExamResults::find(const ExamEntry& entry, std::uint64_t seed) const {
  for (const ExamResult& each : known_)
    if (each.entry.name == entry.name && each.entry.family == entry.family && each.seed == seed) {
      ExamResult found = each;
      found.entry = entry;
      return found;
    }
  return std::nullopt;
}

void ExamResults::keep(const ExamResult& result) {
  if (file_ == nullptr) return;
  Json line = {{"library", library_}};
  each_field_of_result(result, [&](const char* key, const auto& value) { line[key] = value; });
  file_->write(line);
}

}  // namespace bp::conform
