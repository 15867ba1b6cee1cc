// From a journal to what a person or a machine reads.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <backplane/samples/row_facts.hpp>

#include "cases/derive.hpp"
#include "runner/journal.hpp"

namespace bp::conform {

struct Waiver {
  std::string pattern, reason, address;
  std::string kind;  // unsupported, expected_failure, challenge
  std::string expires;
  int matched = 0, passed = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Waiver, pattern, reason, address, kind, expires)
// From a YAML-like or JSON file; throws naming file and line.
std::vector<Waiver> read_waivers(const std::string& path);

inline constexpr int num_levels = 6;  // 0 to 5

struct Count {
  int run = 0, correct = 0, native = 0, failed = 0, waived = 0, unsupported = 0;
  void add(const Record& record, bool is_waived = false);
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Count, run, correct, native, failed, waived, unsupported)
// What is not native in a row.
struct Gap {
  Count missing;
  int cases = 0;  // native ones as well
  std::set<std::string> dtypes;
};
// Of rows that have cases at all, by name. What an excused row (cases/case.hpp) did right is missing only if asked for.
std::map<std::string, Gap> gaps_of(const Run& run, bool counts_excused);

// The highest level whose cases are all good, and the dtypes in which that holds.
struct Standing {
  int level = -1;
  std::vector<std::string> dtypes;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Standing, level, dtypes)
// What a run amounts to.
struct Summary {
  Count total;
  std::vector<Count> levels;         // 0 to 5
  Standing correct, native;          // by what is right, and by what the device computed itself
  std::string profile;               // "L3:f32,f16,i64", from the native figure
  std::vector<std::string> excused;  // rows with shape: data
  std::vector<std::string> waiver_problems;  // unmatched, expired, unexpectedly passing
  bool ok = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Summary, total, levels, correct, native, profile, excused,
                                   waiver_problems, ok)
Summary summarize(const Run& run, std::vector<Waiver>& waivers);
// "L3" and its figures, of levels that have cases; a run through another project's tests has none.
std::vector<std::pair<std::string, Count>> shown_levels(const Run& run, const Summary& summary);
// "AMD EPYC; driver 3.1; uuid 6f6e6520...": what was examined.
std::string unit_text(const Subject& subject);
// "L3 in f32, f16" or "no level"; of a part of the cases, of which no level is said, "93 of the 93 cases that were run".
// `good`: so many of its cases.
std::string standing_text(const Run& run, int good, const Standing& standing);

// Of a run through another project's tests, which says nothing of levels: "pytorch"; empty for our own cases.
std::string suite_of(const Run& run);
// Of such a run's cases, in any order.
std::string digest_of_names(std::vector<std::string> names);

// Whether a failing or unsupported record is excused by one of them (not by a challenge, nor after its day).
bool is_waived(const Record& record, const std::vector<Waiver>& waivers);
inline bool is_failure(const Record& record) {
  return is_failure(record.verdict.outcome);
}
// The level of a record, of a stranger's journal too.
inline std::size_t level_of(const Record& record) {
  return static_cast<std::size_t>(std::clamp(record.one.level, 0, num_levels - 1));
}
// The command that repeats a case, or for the bias of a row the cases that it is of.
std::string repeating_command(const std::string& case_name, const Json& header);
// Whether the run had all cases of its level and profile: no filter, no shard, none missing.
bool is_whole(const Run& run);

std::string text_summary(const Run& run,
                         const Summary& summary);  // what `conform` prints at its end
void write_junit(const Run& run, const std::string& path);
void write_html(const Run& run, const Summary& summary, const std::vector<Waiver>& waivers,
                const std::string& path);
void write_badge(const Summary& summary, const std::string& path);
// All of them into the folder of the journal, and the summary printed (not to null); the exit code.
int write_reports(const std::string& folder, const std::string& waivers, std::FILE* to);

// The rows of a well-known model: what a gap in them costs. Throws bad_argument that lists the models there are.
const ModelRows& model_of(std::string_view name);

}  // namespace bp::conform
