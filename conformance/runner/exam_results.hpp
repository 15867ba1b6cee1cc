// What sittings of the exam found, kept as they end: FOLDER/results.jsonl, a line for each.
#pragma once

#include <memory>
#include <optional>

#include "runner/exam.hpp"
#include "runner/journal.hpp"

namespace bp::conform {

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

}  // namespace bp::conform
