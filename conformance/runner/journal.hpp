// The append-only record of a run, a JSON object a line: all that reports, certificates and --resume read.
//
//   {"run": {"tool": VERSION, "subject": {...}, "selection": {...}, "digest": SHA-256 of the must-run list, "cases": N,
//            "started": UTC seconds, "host": {...}}}
//   {"begin": CASE, "worker": PID}                       written by the worker, before
//   {"case": CASE, "outcome": "pass", "rung": "native", "level": 3, "family": "layout", "ms": 0.8, "ulp": 0.5,
//    "share": 0.2, "bias": 0.0, "hash": HEX, "rule": TEXT?, "why": TEXT?, "accomplice": CASE?}
//   {"aggregate": {"row": "matmul[f32]", "cases": 40, "bias": 0.001, "t": 0.3}}     over all cases of a row and dtype
//   {"resume": {"started": UTC seconds}}
//   {"end": {"seconds": 41.2, "interrupted": false}}
// A line that is cut off (a crash, a full disk) is ignored by readers if it is the last one, and else an error.
#pragma once

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cases/derive.hpp"
#include "cases/subject.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

struct Record {
  Case one;
  std::string name;
  Verdict verdict;
  double ms = 0;
  std::string accomplice;
};

// Appends; every line is the system's to keep when `write` returns, and on disk at the end. Throws with path and reason when the disk is full; what was
// written before stays readable. Threads: any.
class Journal {
 public:
  Journal(const std::string& path, bool resume);
  ~Journal();
  void write(const Json& line);
  void write(const Record& record);
  int file() const { return file_; }

 private:
  std::mutex lock_;
  int file_ = -1;
  std::string path_;
};

struct Run {
  Json header;  // of "run"
  Subject subject;
  std::vector<Record> records;  // one for each case, the last line that names it
  // Cases with more than one line: a journal that was not written by the runner.
  std::vector<std::string> doubled;
  bool ended = false, interrupted = false;
  double seconds = 0;
};
// Throws bad_argument naming file and line for what is not a journal.
Run read_journal(const std::string& path);

struct Aggregate {
  std::string row;  // "matmul[f32]"
  int level = 3;
  std::size_t cases = 0;
  double bias = 0;   // mean over cases of error / bound
  double t = 0;      // how many of its own standard errors that mean is from 0
  double share = 0;  // mean over cases of the largest |error| / bound
  bool leans = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Aggregate, row, cases, bias, t, share, leans)

std::vector<Aggregate> aggregate_bias(const std::vector<Record>& records);
// The failing record of one that leans: "probe:bias.matmul[f32]@1".
Record record_of(const Aggregate& aggregate);
// Is that such a record's name, and so of no case?
bool is_aggregate(std::string_view record_name);
// The first line of a run: `header`, and the cases that were chosen. And the last one.
void begin_run(Journal& journal, Json header, const Selection& selection, const std::string& digest,
               std::size_t num_cases);
void end_run(Journal& journal, double seconds, bool interrupted);
// All of a run's, and the records of those that lean.
void write_aggregates(const std::vector<Record>& records, Journal& journal);

}  // namespace bp::conform
