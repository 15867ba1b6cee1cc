// The suite's own exam: what was to be found, what was found, and the page about it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/commands.hpp"
#include "runner/journal.hpp"

namespace bp::conform {

// A fault to be killed by a case of its family, or a benign variant that must pass.
struct ExamEntry {
  std::string name, family, what;
  std::vector<std::string> ops;
  std::string subject;  // what the fault is about; several families are of one
  bool is_fault() const { return !family.empty(); }
};
// From faults.json; throws with file and reason.
std::vector<ExamEntry> read_exam(const std::string& path);

struct ExamResult {
  ExamEntry entry;
  std::uint64_t seed = 1;
  bool good = false;  // killed by its family; a variant: nothing failed
  std::string first;  // the case that killed it, or that a variant failed
  std::string why;
  std::map<std::string, int> kills;  // by family
  std::size_t cases = 0, run = 0;    // derived, and run until the kill
  double seconds = 0;
  bool is_older = false;  // of an earlier build of the exam's plugin
};

std::string exam_line(const ExamResult& result);
// The matrix fault x family, in Markdown.
std::string exam_page(const std::vector<ExamResult>& results);
// What such a page says of an entry, as results of an earlier build; empty where it has no row. Throws std::logic_error for
// a row that is cut short or has words for numbers.
std::vector<ExamResult> read_exam_page(const std::string& page, const ExamEntry& entry);

// What sittings of the exam found, kept as they end: FOLDER/results.jsonl, a line for each.
class ExamResults {
 public:
  // In an empty `folder` nothing is kept. With `resume` what stands there counts, lines of several runs and machines
  // too; throws bad_argument naming the line for one that is none, or is another library's unless these are wanted as `older`.
  ExamResults(const std::string& folder, const std::string& library, bool resume, bool older);

  std::optional<ExamResult> find(const ExamEntry& entry, std::uint64_t seed) const;
  void keep(const ExamResult& result);

 private:
  std::string library_;  // the digest of the exam's plugin
  std::vector<ExamResult> known_;
  std::unique_ptr<Journal> file_;
};

// One fault or variant before the suite, with one seed.
// Runs its cases with `options.jobs` workers; a fault until a case of its family kills it (unless the whole matrix is
// wanted), a variant to the end. What the device or a worker throws is the result's reason; never throws itself.
ExamResult sit(const Options& options, const ExamEntry& entry, std::uint64_t seed);

}  // namespace bp::conform
