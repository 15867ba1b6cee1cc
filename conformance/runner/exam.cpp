#include "runner/exam.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <backplane/loading/sha256.hpp>

#include "refuse.hpp"
#include "report/files.hpp"

namespace bp::conform {
namespace {

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

// Of one fault or variant over all seeds.
struct ExamRow {
  const ExamEntry* entry = nullptr;
  std::vector<const ExamResult*> results;
  std::ptrdiff_t num_good() const { return std::ranges::count_if(results, &ExamResult::good); }
  bool good() const { return num_good() == std::ssize(results); }
};

std::vector<ExamRow> rows_of(const std::vector<ExamResult>& results, bool faults) {
  std::vector<ExamRow> rows;
  for (const ExamResult& result : results) {
    if (result.entry.is_fault() != faults) continue;
    auto row = std::ranges::find_if(
        rows, [&](const ExamRow& each) { return each.entry->name == result.entry.name; });
    if (row == rows.end()) row = rows.insert(rows.end(), ExamRow{&result.entry, {}});
    row->results.push_back(&result);
  }
  return rows;
}

std::string subject_table(const std::vector<ExamRow>& rows) {
  struct Count {
    int faults = 0, killed = 0;
    std::set<std::string> families;
  };
  std::map<std::string, Count> subjects;
  for (const ExamRow& row : rows) {
    Count& count = subjects[row.entry->subject];
    ++count.faults;
    count.killed += row.good();
    count.families.insert(row.entry->family);
  }
  std::string text =
      "| subject | faults | killed with every seed | by the families |\n|---|---|---|---|\n";
  for (const auto& [subject, count] : subjects)
    text += fmt::format("| {} | {} | {} | {} |\n", subject, count.faults, count.killed,
                        fmt::join(count.families, ", "));
  return text;
}

std::string fault_table(const std::vector<ExamRow>& rows) {
  std::string text =
      "| fault | family | killed | by | cases run of | seconds |\n|---|---|---|---|---|---|\n";
  for (const ExamRow& row : rows) {
    const ExamResult& first = *row.results.front();
    text +=
        fmt::format("| {}: {} | {} | {} of {} | `{}` | {} of {} | {:.1f} |\n", row.entry->name,
                    cell(row.entry->what), row.entry->family, row.num_good(), row.results.size(),
                    cell(first.first), first.run, first.cases, first.seconds);
  }
  return text;
}

std::string family_matrix(const std::vector<ExamRow>& rows) {
  std::set<std::string> families;
  for (const ExamRow& row : rows) {
    families.insert(row.entry->family);
    for (const ExamResult* result : row.results)
      for (const auto& [family, count] : result->kills) families.insert(family);
  }
  std::string text = "| fault |", line = "|---|";
  for (const std::string& family : families) {
    text += " " + family + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const ExamRow& row : rows) {
    text += "| " + row.entry->name + " |";
    for (const std::string& family : families) {
      int kills = 0;
      for (const ExamResult* result : row.results)
        if (const auto found = result->kills.find(family); found != result->kills.end())
          kills += found->second;
      const std::string shown = kills == 0 ? "" : std::to_string(kills);
      text += family == row.entry->family ? fmt::format(" **{}** |", kills)
                                          : fmt::format(" {} |", shown);
    }
    text += "\n";
  }
  return text;
}

std::string variant_table(const std::vector<ExamRow>& rows) {
  std::string text =
      "| variant | passed | cases | seconds | failed first |\n|---|---|---|---|---|\n";
  for (const ExamRow& row : rows) {
    const auto bad = std::ranges::find(row.results, false, &ExamResult::good);
    text += fmt::format("| {}: {} | {} of {} | {} | {:.1f} | {} |\n", row.entry->name,
                        cell(row.entry->what), row.num_good(), row.results.size(),
                        row.results.front()->cases, row.results.front()->seconds,
                        bad == row.results.end() ? "" : cell((*bad)->first));
  }
  return text;
}

}  // namespace

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

// Where some results are of earlier builds of the plugin: which are not.
std::string age_of(const std::vector<ExamResult>& results) {
  std::set<std::string> names;
  for (const ExamResult& result : results)
    if (!result.is_older) names.insert("`" + result.entry.name + "`");
  const bool some =
      std::ranges::any_of(results, [](const ExamResult& result) { return result.is_older; });
  if (!some) return "";
  return fmt::format(
      "Of the plugin as it was at this page's writing: {}. All others were examined with an "
      "earlier build "
      "of it, and of the suite.\n\n",
      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

std::string exam_page(const std::vector<ExamResult>& results) {
  const std::vector<ExamRow> faults = rows_of(results, true), variants = rows_of(results, false);
  std::set<std::uint64_t> seeds;
  for (const ExamResult& result : results) seeds.insert(result.seed);
  const auto good = [](const std::vector<ExamRow>& rows) {
    return std::ranges::count_if(rows, [](const ExamRow& row) { return row.good(); });
  };
  return fmt::format(
      "# The suite's own exam\n\nWritten by `backplane conform selftest --write "
      "docs/conformance_exam.md`: faults seeded one at a time into a "
      "correct software plugin (`tests/plugins/exam`), at the normal profile, with the seeds {}. A "
      "fault runs the operators that it touches "
      "and stops at the first kill by a case of its family; benign variants run whole and must "
      "pass.\n\n"
      "{} of {} faults are killed by the family named with every seed; {} of {} benign variants "
      "pass.\n\n{}## Subjects\n\n{}\n## Faults\n\n{}\n"
      "## Who killed what\n\nFailing cases until the kill, by family; a case has several. The "
      "named family is bold.\n\n{}\n"
      "## Benign variants\n\n{}",
      fmt::join(seeds, ", "), good(faults), faults.size(), good(variants), variants.size(),
      age_of(results), subject_table(faults), fault_table(faults), family_matrix(faults),
      variant_table(variants));
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
