// Commands that read reports: gaps, what a device lacks, ranked by the models that it blocks; diff, from one to another.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
const ModelRows& model_of(std::string_view name) {
  std::string known;
  for (const ModelRows& model : model_rows()) {
    if (model.name == name) return model;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", model.name);
  }
  refuse("gaps: model {} is unknown; known are {}", name, known);
}

namespace {

struct RankedGap {
  std::string op;
  const Gap* gap;
  std::vector<std::string> blocks;
};

std::vector<RankedGap> rank(const std::map<std::string, Gap>& gaps,
                            const std::vector<const ModelRows*>& chosen) {
  std::vector<RankedGap> ranked;
  for (const auto& [op, gap] : gaps) {
    if (gap.missing.run == 0) continue;
    RankedGap& one = ranked.emplace_back(RankedGap{op, &gap, {}});
    for (const ModelRows* model : chosen)
      if (std::ranges::count(split_text(model->inference, ' '), op) != 0)
        one.blocks.emplace_back(model->name);
      else if (std::ranges::count(split_text(model->training, ' '), op) != 0)
        one.blocks.push_back(fmt::format("{} (training)", model->name));
  }
  std::ranges::stable_sort(ranked, std::greater(), [](const RankedGap& each) {
    return std::pair(each.blocks.size(), each.gap->missing.run);
  });
  return ranked;
}

void print_models(const std::map<std::string, Gap>& gaps,
                  const std::vector<const ModelRows*>& chosen) {
  for (const ModelRows* model : chosen) {
    const auto missing_of = [&](const char* rows) {
      std::vector<std::string> missing;
      for (const std::string& row : split_text(rows, ' ')) {
        const auto found = gaps.find(row);
        if (found == gaps.end())
          missing.push_back(row + " (not run)");
        else if (found->second.missing.run != 0)
          missing.push_back(row);
      }
      return missing;
    };
    const auto inference = missing_of(model->inference), training = missing_of(model->training);
    fmt::print("{:<14} inference {}{}\n", model->name, inference.empty() ? "native" : "lacks ",
               fmt::join(inference, ", "));
    fmt::print("{:<14} training  {}{}\n", "", training.empty() ? "native" : "lacks ",
               fmt::join(training, ", "));
  }
}

}  // namespace

int show_gaps(const Options& options) {
  const Run run = read_journal(journal_of(options.files.at(0)));
  std::vector<const ModelRows*> chosen;
  for (const std::string& name : options.models) chosen.push_back(&model_of(name));
  if (chosen.empty())
    for (const ModelRows& model : model_rows()) chosen.push_back(&model);
  const auto gaps = gaps_of(run, /*counts_excused=*/false);
  fmt::print("{:<32}{:>8}{:>8}{:>8}{:>8}  {:<28} BLOCKS\n", "ROW", "CASES", "HOST", "UNSUPP.",
             "FAILED", "DTYPES");
  for (const RankedGap& each : rank(gaps, chosen)) {
    if (!options.models.empty() && each.blocks.empty()) continue;
    const Count& missing = each.gap->missing;
    fmt::print("{:<32}{:>8}{:>8}{:>8}{:>8}  {:<28} {}\n", each.op, each.gap->cases, missing.correct,
               missing.unsupported, missing.failed,
               fmt::format("{}", fmt::join(each.gap->dtypes, ",")), fmt::join(each.blocks, ", "));
  }
  fmt::print("\n");
  print_models(gaps, chosen);
  return 0;
}

// ---- diff

namespace {

// Worse is larger.
int badness(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::pass: return verdict.native() ? 0 : 1;
    case Outcome::unsupported: return 2;
    default: return 3;
  }
}

std::string say(const Verdict& verdict) {
  return verdict.rung.empty() ? name(verdict.outcome)
                              : fmt::format("{} ({})", name(verdict.outcome), verdict.rung);
}

struct Changes {
  std::vector<std::string> worse, better, less_exact, other_bits;
  int only_first = 0, only_second = 0;

  void compare(const Record& before, const Record& after) {
    const int was = badness(before.verdict), is = badness(after.verdict);
    const std::string line =
        fmt::format("{}: {} -> {}{}{}", after.name, say(before.verdict), say(after.verdict),
                    after.verdict.why.empty() ? "" : ": ", after.verdict.why);
    if (is > was)
      worse.push_back(line);
    else if (is < was)
      better.push_back(line);
    else if (after.verdict.worst_share > 2 * before.verdict.worst_share &&
             after.verdict.worst_share > 0.25)
      less_exact.push_back(fmt::format("{}: {:.3g} -> {:.3g} of the bound", after.name,
                                       before.verdict.worst_share, after.verdict.worst_share));
    else if (before.verdict.hash != after.verdict.hash)
      other_bits.push_back(after.name);
  }
};

void print_list(const char* what, const std::vector<std::string>& lines) {
  constexpr std::size_t most = 200;
  if (lines.empty()) return;
  fmt::print("{} ({}):\n", what, lines.size());
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) fmt::print("  {}\n", lines[i]);
  if (lines.size() > most) fmt::print("  and {} more\n", lines.size() - most);
}

}  // namespace

int diff_reports(const Options& options) {
  const Run before = read_journal(journal_of(options.files.at(0))),
            after = read_journal(journal_of(options.files.at(1)));
  std::map<std::string, const Record*> earlier;
  for (const Record& record : before.records) earlier[record.name] = &record;
  Changes changes;
  for (const Record& record : after.records) {
    const auto found = earlier.find(record.name);
    if (found == earlier.end()) {
      ++changes.only_second;
      if (badness(record.verdict) == 3)
        changes.worse.push_back(
            fmt::format("{}: new, {}: {}", record.name, say(record.verdict), record.verdict.why));
      continue;
    }
    changes.compare(*found->second, record);
    earlier.erase(found);
  }
  changes.only_first = static_cast<int>(earlier.size());
  fmt::print("{} ({}, {} cases) -> {} ({}, {} cases)\n", before.subject.device,
             before.subject.version, before.records.size(), after.subject.device,
             after.subject.version, after.records.size());
  print_list("worse", changes.worse);
  print_list("less exact", changes.less_exact);
  print_list("better", changes.better);
  if (!changes.other_bits.empty())
    fmt::print("other bits, the same verdict: {} cases\n", changes.other_bits.size());
  if (changes.only_first != 0) fmt::print("only in the first: {} cases\n", changes.only_first);
  if (changes.only_second != 0) fmt::print("only in the second: {} cases\n", changes.only_second);
  fmt::print("{}\n", changes.worse.empty()
                         ? "nothing got worse"
                         : fmt::format("{} cases got worse", changes.worse.size()));
  return changes.worse.empty() ? 0 : exit_failed;
}

}  // namespace bp::conform
