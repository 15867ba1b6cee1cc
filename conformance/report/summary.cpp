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
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/journal.hpp"

namespace bp::conform {
namespace {

using Lines = std::vector<std::pair<int, Json>>;  // line number, object

[[noreturn]] void refuse_line(const std::string& path, int line, const std::string& why) {
  refuse("{}:{}: {}", path, line, why);
}

std::string trimmed(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  text.erase(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_space) - text.begin()));
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

constexpr const char* waiver_fields[] = {"pattern", "reason", "address", "kind", "expires"};

Waiver read_waiver(const std::string& path, int line, const Json& entry) {
  if (!entry.is_object()) refuse_line(path, line, "a waiver is an object");
  for (const auto& [key, value] : entry.items()) {
    if (std::ranges::find(waiver_fields, key) == std::end(waiver_fields))
      refuse_line(
          path, line,
          fmt::format("a waiver has no \"{}\"; it has pattern, reason, address, kind and expires",
                      key));
    if (!value.is_string())
      refuse_line(path, line, fmt::format("\"{}\" of a waiver is a text", key));
  }
  for (const char* field : waiver_fields)
    if (entry.value(field, "").empty())
      refuse_line(path, line, fmt::format("a waiver without \"{}\"", field));
  const auto waiver = entry.get<Waiver>();
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

// ---- Figures

namespace {

constexpr int num_levels = 6;

std::string today() {
  return utc_time(now_seconds()).substr(0, 10);
}

bool expired(const Waiver& waiver) {
  return waiver.expires < today();
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
    Tally& tally =
        levels_[static_cast<std::size_t>(std::clamp(record.one.level, 0, num_levels - 1))];
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

void count_record(const Record& record, bool waived, Count& count) {
  const Outcome outcome = record.verdict.outcome;
  ++count.run;
  count.correct += outcome == Outcome::pass;
  count.native += record.verdict.native();
  count.waived += waived;
  count.failed += is_failure(record) && !waived;
  count.unsupported += outcome == Outcome::unsupported && !waived;
}

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

bool is_failure(const Record& record) {
  return is_failure(record.verdict.outcome);
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
    count_record(record, waived, out.total);
    count_record(
        record, waived,
        out.levels[static_cast<std::size_t>(std::clamp(record.one.level, 0, num_levels - 1))]);
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
