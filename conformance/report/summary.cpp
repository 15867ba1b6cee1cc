// From records to figures: correct and native, by level and dtype; the profile is written from the native one. And waivers:
// what a run may fail at, why, where that is written down, and until when.
//
// A file of waivers is a JSON list of objects, or the same as simple YAML, a list of texts:
//   - pattern: core:sort*[f16]*
//     reason: no 16-bit sort in the driver
//     address: https://acme.example/bugs/12
//     kind: expected_failure
//     expires: 2027-01-31
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cases/case.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/journal.hpp"

namespace bp::conform {
namespace {

using Lines = std::vector<std::pair<int, Json>>;  // line number, object

template <class... Args>
[[noreturn]] void refuse_line(const std::string& path, int line, fmt::format_string<Args...> why,
                              Args&&... args) {
  refuse("{}:{}: {}", path, line, fmt::format(why, std::forward<Args>(args)...));
}

std::string trimmed(std::string text) {
  constexpr const char* spaces = " \t\r";
  text.erase(text.find_last_not_of(spaces) + 1);
  text.erase(0, text.find_first_not_of(spaces));
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
    text = text.substr(1, text.size() - 2);
  return text;
}

Lines parse_list(const std::string& path, const std::string& text) {
  Lines entries;
  int number = 0;
  for (const std::string& line : split_text(text, '\n')) {
    ++number;
    std::string bare = trimmed(line);
    if (bare.empty() || bare[0] == '#') continue;
    if (bare == "-" || bare.starts_with("- ")) entries.emplace_back(number, Json::object());
    if (entries.empty())
      refuse_line(path, number, "does not begin with an entry, \"- pattern: ...\"");
    bare = trimmed(bare.starts_with("-") ? bare.substr(1) : bare);
    if (bare.empty()) continue;
    const std::size_t colon = bare.find(':');
    if (colon == std::string::npos) refuse_line(path, number, "\"{}\" is not \"name: text\"", bare);
    entries.back().second[trimmed(bare.substr(0, colon))] = trimmed(bare.substr(colon + 1));
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

bool is_date(std::string_view text) {
  return std::ranges::equal(text, std::string_view("yyyy-mm-dd"), [](char c, char place) {
    return place == '-' ? c == '-' : c >= '0' && c <= '9';
  });
}

Waiver read_waiver(const std::string& path, int line, const Json& entry) {
  if (!entry.is_object()) refuse_line(path, line, "a waiver is an object");
  const Json fields = Waiver();
  for (const auto& [key, value] : entry.items()) {
    if (!fields.contains(key))
      refuse_line(path, line,
                  "a waiver has no \"{}\"; it has pattern, reason, address, kind and expires", key);
    if (!value.is_string()) refuse_line(path, line, "\"{}\" of a waiver is a text", key);
  }
  for (const char* field : {"pattern", "reason", "address", "kind", "expires"})
    if (entry.value(field, "").empty()) refuse_line(path, line, "a waiver without \"{}\"", field);
  const auto waiver = entry.get<Waiver>();
  if (waiver.kind != "unsupported" && waiver.kind != "expected_failure" &&
      waiver.kind != "challenge")
    refuse_line(
        path, line,
        "\"{}\" is not a kind of waiver; kinds are unsupported, expected_failure and challenge",
        waiver.kind);
  if (!is_date(waiver.expires))
    refuse_line(path, line, "\"{}\" is not a date like 2027-01-31", waiver.expires);
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

// ---- Figures

namespace {

bool expired(const Waiver& waiver) {
  return waiver.expires < utc_time(now_seconds()).substr(0, 10);
}

bool excuses(const Waiver& waiver, const Record& record) {
  const Outcome outcome = record.verdict.outcome;
  if (waiver.kind == "challenge" || expired(waiver)) return false;
  // What comes and goes is not an expectation.
  const bool wanted = waiver.kind == "unsupported"
                          ? outcome == Outcome::unsupported
                          : is_failure(record) && outcome != Outcome::flaky;
  return wanted && matches_glob(waiver.pattern, record.name);
}

void count_waivers(const Record& record, std::vector<Waiver>& waivers) {
  for (Waiver& waiver : waivers) {
    if (!matches_glob(waiver.pattern, record.name)) continue;
    waiver.matched += excuses(waiver, record) || (waiver.kind == "challenge" && is_failure(record));
    waiver.passed += record.verdict.outcome == Outcome::pass;
  }
}

void judge_waivers(const Run& run, const std::vector<Waiver>& waivers, Summary& out) {
  for (const Waiver& waiver : waivers) {
    const auto say = [&](const std::string& why) {
      out.waiver_problems.push_back(
          fmt::format("the waiver of {} ({}) {}", waiver.pattern, waiver.kind, why));
    };
    if (expired(waiver))
      say("expired on " + waiver.expires);
    else if (waiver.passed != 0)
      say(fmt::format("covers {} cases that pass: remove or narrow it", waiver.passed));
    else if (waiver.matched == 0 && is_whole(run))
      say("matches nothing that needs it: remove it");
  }
}

// What one figure needs to know of a level and a dtype.
struct Tally {
  std::map<Dtype, std::pair<int, int>> dtypes;  // good, all
  int good_probes = 0, probes = 0;
};

class Figure {
 public:
  void add(const Record& record, bool good) {
    Tally& tally = levels_[level_of(record)];
    if (record.one.lane == Lane::probe) {
      tally.good_probes += good;
      ++tally.probes;
    } else {
      auto& [num_good, all] = tally.dtypes[record.one.dtype];
      num_good += good;
      ++all;
    }
  }

  // A level holds in the dtypes all of whose cases up to it are good, if everything that belongs to no row is good too.
  Standing reached() const {
    Standing reached;
    std::set<Dtype> seen, bad;
    for (int level = 0; level < num_levels; ++level) {
      const Tally& tally = levels_[static_cast<std::size_t>(level)];
      if (tally.good_probes < tally.probes || (tally.probes == 0 && tally.dtypes.empty())) break;
      for (const auto& [dtype, counts] : tally.dtypes) {
        seen.insert(dtype);
        if (counts.first < counts.second) bad.insert(dtype);
      }
      std::vector<std::string> good;
      for (const Dtype dtype : seen)
        if (!bad.contains(dtype)) good.emplace_back(short_name(dtype));
      if (!seen.empty() && good.empty()) break;
      reached = {level, good};
    }
    // f32 is what a reader looks for first.
    std::ranges::stable_partition(reached.dtypes,
                                  [](const std::string& dtype) { return dtype == "f32"; });
    return reached;
  }

 private:
  Tally levels_[num_levels];
};

std::string profile_text(const Run& run, const Summary& summary) {
  if (!is_whole(run)) return "partial";
  if (const std::string suite = suite_of(run); !suite.empty())
    return fmt::format("{}:{:.1f}%", suite, 100.0 * summary.total.correct / summary.total.run);
  const auto& [level, dtypes] = summary.native;
  if (level < 0) return "none";
  return fmt::format("L{}{}{}", level, dtypes.empty() ? "" : ":", fmt::join(dtypes, ","));
}

}  // namespace

std::string suite_of(const Run& run) {
  return run.header.contains("through") ? run.header["through"].value("suite", "") : "";
}

std::string digest_of_names(std::vector<std::string> names) {
  std::ranges::sort(names);
  return sha256_of_text(fmt::format("{}", fmt::join(names, "\n")));
}

void Count::add(const Record& record, bool is_waived) {
  const Outcome outcome = record.verdict.outcome;
  ++run;
  correct += outcome == Outcome::pass;
  native += record.verdict.native();
  waived += is_waived;
  failed += is_failure(record) && !is_waived;
  unsupported += outcome == Outcome::unsupported && !is_waived;
}

std::map<std::string, Gap> gaps_of(const Run& run, bool counts_excused) {
  std::map<std::string, Gap> gaps;
  for (const Record& record : run.records) {
    if (record.one.lane == Lane::probe) continue;
    Gap& gap = gaps[record.one.op];
    ++gap.cases;
    const bool passed = record.verdict.outcome == Outcome::pass;
    if (record.verdict.native() || (passed && !counts_excused && is_excused_row(record.one.op)))
      continue;
    gap.missing.add(record);
    gap.dtypes.emplace(short_name(record.one.dtype));
  }
  return gaps;
}

bool is_waived(const Record& record, const std::vector<Waiver>& waivers) {
  return std::ranges::any_of(waivers,
                             [&](const Waiver& waiver) { return excuses(waiver, record); });
}

bool is_whole(const Run& run) {
  const Json& selection = run.header.at("selection");
  const auto aggregates = std::ranges::count_if(
      run.records, [](const Record& record) { return is_aggregate(record.name); });
  return selection.at("filters").empty() && selection.at("num_shards") == 1 && run.ended &&
         !run.interrupted &&
         static_cast<std::ptrdiff_t>(run.records.size()) - aggregates >=
             run.header.at("cases").get<std::ptrdiff_t>();
}

Summary summarize(const Run& run, std::vector<Waiver>& waivers) {
  Summary out;
  out.levels.resize(num_levels);
  Figure correct, native;
  std::set<std::string> excused;
  for (const Record& record : run.records) {
    count_waivers(record, waivers);
    const bool waived = is_waived(record, waivers);
    out.total.add(record, waived);
    out.levels[level_of(record)].add(record, waived);
    const bool is_correct = record.verdict.outcome == Outcome::pass;
    const bool is_excused = is_correct && !record.verdict.native() && is_excused_row(record.one.op);
    if (is_excused) excused.insert(record.one.op);
    if (waived) continue;
    correct.add(record, is_correct);
    native.add(record, record.verdict.native() || is_excused);
  }
  out.excused.assign(excused.begin(), excused.end());
  if (suite_of(run).empty()) {
    out.correct = correct.reached();
    out.native = native.reached();
  }
  out.profile = profile_text(run, out);
  judge_waivers(run, waivers, out);
  out.ok = out.total.failed == 0 && out.waiver_problems.empty() && run.ended && !run.interrupted &&
           out.total.run > 0;
  return out;
}

}  // namespace bp::conform
