// The suite's own exam: what was to be found, what was found, and the page about it.
#pragma once

#include <map>
#include <string>
#include <vector>

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

}  // namespace bp::conform
