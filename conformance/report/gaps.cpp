// backplane conform gaps: what a device lacks, ranked by the models that it blocks.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "inputs/draft_problem.hpp"
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
        return std::find(rows.begin(), rows.end(), *row) != rows.end();
      };
      if (has(model->inference))
        one.blocks.push_back(model->name);
      else if (has(model->training))
        one.blocks.push_back(model->name + " (training)");
    }
    ranked.push_back(std::move(one));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedGap& a, const RankedGap& b) {
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

}  // namespace bp::conform
