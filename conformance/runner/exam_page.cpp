#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "runner/exam.hpp"

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

// ---- A page read again

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
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

// "4 of 5"
struct Share {
  std::size_t part = 0, whole = 0;
  explicit Share(const std::string& text)
      : part(std::stoul(text)), whole(std::stoul(text.substr(text.find("of") + 2))) {}
};

// A fault's or a variant's row: with the seeds 1, 2 ... as many results as the share of good ones says.
std::vector<ExamResult> results_of_row(const std::vector<std::string>& cells,
                                       const ExamEntry& entry) {
  ExamResult result;
  result.entry = entry;
  result.is_older = true;
  const bool fault = entry.is_fault();
  const Share good(cells.at(fault ? 2 : 1));
  const Share cases(fault ? cells.at(4) : cells.at(2) + " of " + cells.at(2));
  result.run = cases.part;
  result.cases = cases.whole;
  result.seconds = std::stod(cells.at(fault ? 5 : 3));
  result.first = cells.at(fault ? 3 : 4);
  std::vector<ExamResult> results;
  for (; result.seed <= good.whole; ++result.seed) {
    result.good = result.seed <= good.part;
    results.push_back(result);
  }
  return results;
}

}  // namespace

std::vector<ExamResult> read_exam_page(const std::string& page, const ExamEntry& entry) {
  std::vector<ExamResult> results;
  std::vector<std::string> families;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
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
