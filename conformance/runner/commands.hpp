// The subcommands of backplane-conform. Each prints to the standard output and returns the exit code; what it cannot do
// at all it throws, and main says so in one sentence.
#pragma once

#include <string>
#include <vector>

#include "cases/derive.hpp"
#include "runner/execute.hpp"

namespace bp::conform {

inline constexpr int exit_failed = 1, exit_misused = 2, exit_interrupted = 130;

struct Options {
  // What is examined.
  std::string device, plugin;
  std::vector<std::string> environment;
  // Which cases.
  Selection selection;
  std::string profile = "normal";
  bool quick = false, full = false;
  std::string challenge;  // hexadecimal: the seed, when a stranger chooses it
  std::string shard;      // "1/4"
  // How.
  int jobs = 0;  // 0: one for each core
  std::string out;
  bool resume = false, quiet = false;
  bool older = false;  // the exam counts results of earlier builds of its plugin
  std::string waivers;
  std::string through, python;  // pytorch or onnx, and who runs it
  double patience = 0;          // of --through: seconds for a case; 0 leaves it to the driver
  // Of single subcommands.
  std::string name;                 // repro, shrink, explain: a case
  bool debugger = false;            // repro
  std::string report;               // explain: of passing cases
  std::vector<std::string> files;   // gaps, diff, certify, verify
  std::vector<std::string> models;  // gaps
  std::string rerun;                // verify: "5%"
  bool install = false;             // certify
  bool count = false;               // list
  bool names = false;               // list
  std::string faults, write;        // selftest
  int tenth = -1, seeds = 3;        // selftest
  int at_once = 1;                  // selftest: sittings side by side
  bool whole_matrix = false;        // selftest: does not stop at the first kill
  std::vector<std::string> only;    // selftest
};

int run_conform(const Options& options);
int run_through(const Options& options);
int list_cases(const Options& options);
int repro_case(const Options& options);
int shrink_case(const Options& options);
int explain_case(const Options& options);
int show_gaps(const Options& options);
int diff_reports(const Options& options);
int certify_report(const Options& options);
int verify_certificate(const Options& options);
int run_selftest(const Options& options);

// What several of them share.
// The selection that the options ask for; throws for what is out of range.
Selection selection_of(const Options& options);
void to_json(Json& json, Profile profile);
void from_json(const Json& json, Profile& profile);
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Selection, level, profile, filters, seed, shard, num_shards,
                                   random_cases)
// The device opened and described by a worker.
Bench bench_of(const Options& options);
int jobs_of(const Options& options);
// The journal of a report's folder, or the path itself if it is a file.
std::string journal_of(const std::string& report);

}  // namespace bp::conform
