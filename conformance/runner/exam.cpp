#include "runner/exam.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

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

Json line_of(const ExamResult& result, const std::string& library) {
  Json line = {{"library", library}};
  each_field_of_result(result, [&](const char* key, const auto& value) { line[key] = value; });
  return line;
}

std::vector<ExamResult> read_results(const std::string& path, const std::string& library,
                                     bool older) {
  std::vector<ExamResult> results;
  std::istringstream lines(read_whole_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) try {
      results.push_back(read_result(Json::parse(line), library, older));
    } catch (const std::exception& problem) {
      refuse("selftest: {}:{}: {}", path, number, problem.what());
    }
  return results;
}

// ---- The page

namespace {

using Cells = std::vector<std::string>;

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
  std::map<const ExamEntry*, std::map<std::string, int>> kills;  // of all seeds
  for (const ExamRow& row : rows) {
    families.insert(row.entry->family);
    for (const ExamResult* result : row.results)
      for (const auto& [family, count] : result->kills) {
        families.insert(family);
        kills[row.entry][family] += count;
      }
  }
  std::string text = "| fault |", line = "\n|---|";
  for (const std::string& family : families) {
    text += " " + family + " |";
    line += "---|";
  }
  text += line;
  for (const ExamRow& row : rows) {
    text += "\n| " + row.entry->name + " |";
    for (const std::string& family : families) {
      const int count = kills[row.entry][family];
      text += family == row.entry->family ? fmt::format(" **{}** |", count)
              : count == 0                ? "  |"
                                          : fmt::format(" {} |", count);
    }
  }
  return text + "\n";
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

// Where some results are of earlier builds of the plugin: which are not.
std::string age_of(const std::vector<ExamResult>& results) {
  std::set<std::string> names;
  for (const ExamResult& result : results)
    if (!result.is_older) names.insert("`" + result.entry.name + "`");
  if (std::ranges::none_of(results, &ExamResult::is_older)) return "";
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
  const auto good = [](const auto& rows) { return std::ranges::count_if(rows, &ExamRow::good); };
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

// ---- A page read again

namespace {

Cells cells_of(const std::string& line) {
  Cells cells;
  std::string cell;
  for (std::size_t at = 1; at < line.size(); ++at)
    if (line.compare(at, 2, "\\|") == 0)
      cell += line[++at];
    else if (line[at] != '|')
      cell += line[at];
    else
      cells.push_back(std::exchange(cell, {}));
  for (std::string& each : cells) {
    each.erase(0, each.find_first_not_of(" `*"));
    each.erase(each.find_last_not_of(" `*") + 1);
  }
  return cells;
}

// Of "4 of 5" 4 and 5, of "4" 4 twice.
std::pair<std::size_t, std::size_t> read_share(const std::string& text) {
  const std::size_t of = text.find("of ");
  return {std::stoul(text), std::stoul(of == std::string::npos ? text : text.substr(of + 3))};
}

// A fault's or a variant's row: with the seeds 1, 2 ... as many results as the share of good ones says.
std::vector<ExamResult> results_of_row(const Cells& cells, const ExamEntry& entry) {
  ExamResult result;
  result.entry = entry;
  result.is_older = true;
  const bool fault = entry.is_fault();
  const auto [num_good, num_results] = read_share(cells.at(fault ? 2 : 1));
  std::tie(result.run, result.cases) = read_share(cells.at(fault ? 4 : 2));
  result.seconds = std::stod(cells.at(fault ? 5 : 3));
  result.first = cells.at(fault ? 3 : 4);
  std::vector<ExamResult> results;
  for (; result.seed <= num_results; ++result.seed) {
    result.good = result.seed <= num_good;
    results.push_back(result);
  }
  return results;
}

}  // namespace

std::vector<ExamResult> read_exam_page(const std::string& page, const ExamEntry& entry) {
  std::vector<ExamResult> results;
  Cells families;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const Cells cells = cells_of(line);
    if (cells.empty()) continue;
    if (cells[0] == "fault") families = cells;
    if (cells[0].starts_with(entry.name + ": ")) results = results_of_row(cells, entry);
    if (cells[0] != entry.name || results.empty()) continue;
    for (std::size_t i = 1; i < std::min(cells.size(), families.size()); ++i)
      if (!cells[i].empty()) results[0].kills[families[i]] = std::stoi(cells[i]);  // of all seeds
  }
  return results;
}

}  // namespace bp::conform
