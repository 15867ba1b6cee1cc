// From a journal to what a person or a machine reads.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

struct Count {
  int run = 0, correct = 0, native = 0, failed = 0, waived = 0, unsupported = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Count, run, correct, native, failed, waived, unsupported)
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
// The same with a file's waivers (none without a path), which the run's header then has.
Summary summarize_with(const std::string& waivers_file, Run& run, std::vector<Waiver>& waivers);
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
bool is_failure(const Record& record);  // anything but pass and unsupported
// The command that repeats a case, or for the bias of a row the cases that it is of.
std::string repeating_command(const std::string& case_name, const Json& header);
// Joins the journals of all shards of one run in a new folder. Throws if they are not that.
void merge_shards(const std::vector<std::string>& reports, const std::string& folder);
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

// The sections of a certificate for journals of --through below its folder, if they are of the same library; and as text.
Json sections_of(const std::string& folder, const std::string& library_sha256);
std::string text_of_sections(const Json& sections);

// A certificate: JSON with subject, digests, summary and the digest of the journal beside it.
void write_certificate(const Run& run, const Summary& summary, const std::string& journal,
                       const std::string& path);

// Which rows well-known models are made of: what a gap in them costs.
struct Model {
  std::string name;
  std::vector<std::string> inference, training;  // rows; `training` is besides
};

const std::vector<Model>& models();
// Throws bad_argument that lists the models there are.
const Model& model_of(std::string_view name);

}  // namespace bp::conform
