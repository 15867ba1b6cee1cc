// Commands that read reports: gaps, what a device lacks, ranked by the models that it blocks; diff, from one to another.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
namespace {

std::vector<Model> make_models() {
  std::vector<Model> all;
  for (const ModelRows& rows : model_rows())
    all.push_back({rows.name, split_text(rows.inference, ' '), split_text(rows.training, ' ')});
  return all;
}

}  // namespace

const std::vector<Model>& models() {
  static const std::vector<Model> all = make_models();
  return all;
}

const Model& model_of(std::string_view name) {
  std::string known;
  for (const Model& model : models()) {
    if (model.name == name) return model;
    known += (known.empty() ? "" : ", ") + model.name;
  }
  refuse("gaps: model {} is unknown; known are {}", name, known);
}

namespace {

struct RowGap {
  int cases = 0, missing = 0, host = 0, unsupported = 0, failed = 0;
  std::set<std::string> dtypes;
  std::string first;  // the name of one such case
};

// Of rows that have cases at all.
std::map<std::string, RowGap> gaps_of(const Run& run) {
  ensure_operators();
  std::map<std::string, RowGap> gaps;
  for (const Record& record : run.records) {
    if (record.one.lane == Lane::probe) continue;
    RowGap& gap = gaps[record.one.op];
    ++gap.cases;
    if (record.verdict.native()) continue;
    const Operator* row = find_operator(record.one.op);
    const bool passed = record.verdict.outcome == Outcome::pass;
    if (passed && row != nullptr && (row->flags & BP_OP_SHAPE_DATA) != 0) continue;
    ++gap.missing;
    gap.host += passed;
    gap.unsupported += record.verdict.outcome == Outcome::unsupported;
    gap.failed += is_failure(record);
    gap.dtypes.emplace(short_name(record.one.dtype));
    if (gap.first.empty() || is_failure(record)) gap.first = record.name;
  }
  return gaps;
}

struct RankedGap {
  std::string op;
  const RowGap* gap;
  std::vector<std::string> blocks;
};

std::vector<RankedGap> rank(const std::map<std::string, RowGap>& gaps,
                            const std::vector<const Model*>& chosen) {
  std::vector<RankedGap> ranked;
  for (const auto& [op, gap] : gaps) {
    if (gap.missing == 0) continue;
    RankedGap one{op, &gap, {}};
    for (const Model* model : chosen) {
      const auto has = [&, row = &op](const std::vector<std::string>& rows) {
        return std::ranges::find(rows, *row) != rows.end();
      };
      if (has(model->inference))
        one.blocks.push_back(model->name);
      else if (has(model->training))
        one.blocks.push_back(model->name + " (training)");
    }
    ranked.push_back(std::move(one));
  }
  std::ranges::stable_sort(ranked, [](const RankedGap& a, const RankedGap& b) {
    if (a.blocks.size() != b.blocks.size()) return a.blocks.size() > b.blocks.size();
    return a.gap->missing > b.gap->missing;
  });
  return ranked;
}

void print_models(const std::map<std::string, RowGap>& gaps,
                  const std::vector<const Model*>& chosen) {
  for (const Model* model : chosen) {
    const auto missing_of = [&](const std::vector<std::string>& rows) {
      std::vector<std::string> missing;
      for (const std::string& row : rows) {
        const auto found = gaps.find(row);
        if (found == gaps.end())
          missing.push_back(row + " (not run)");
        else if (found->second.missing != 0)
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
  std::vector<const Model*> chosen;
  for (const std::string& name : options.models) chosen.push_back(&model_of(name));
  if (chosen.empty())
    for (const Model& model : models()) chosen.push_back(&model);
  const auto gaps = gaps_of(run);
  fmt::print("{:<32}{:>8}{:>8}{:>8}{:>8}  {:<28} BLOCKS\n", "ROW", "CASES", "HOST", "UNSUPP.",
             "FAILED", "DTYPES");
  for (const RankedGap& each : rank(gaps, chosen)) {
    if (!options.models.empty() && each.blocks.empty()) continue;
    fmt::print("{:<32}{:>8}{:>8}{:>8}{:>8}  {:<28} {}\n", each.op, each.gap->cases, each.gap->host,
               each.gap->unsupported, each.gap->failed,
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
