// The suite's own exam: what was to be found, what was found, and the page about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "protocol/script.hpp"
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
  bool good = false;    // killed by its family; a variant: nothing failed
  std::string first{};  // the case that killed it, or that a variant failed
  std::string why{};
  std::map<std::string, int> kills{};  // by family
  std::size_t cases = 0, run = 0;      // derived, and run until the kill
  double seconds = 0;
  bool is_older = false;  // of an earlier build of the exam's plugin
};

// The matrix fault x family, in Markdown.
std::string exam_page(const std::vector<ExamResult>& results);
// What such a page says of an entry, as results of an earlier build; empty where it has no row. Throws std::logic_error for
// a row that is cut short or has words for numbers.
std::vector<ExamResult> read_exam_page(const std::string& page, const ExamEntry& entry);

// Sittings are kept as they end, each a line of FOLDER/results.jsonl. `library`: the digest of the exam's plugin.
Json line_of(const ExamResult& result, const std::string& library);
// Lines of several runs and machines too; throws bad_argument naming the line for one that is none, or is another
// library's unless these are wanted as `older`.
std::vector<ExamResult> read_results(const std::string& path, const std::string& library,
                                     bool older);

}  // namespace bp::conform
