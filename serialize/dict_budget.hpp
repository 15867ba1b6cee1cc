// How many entries dicts may have. A State looks keys up one by one, so that n of them take n * n steps.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/tensor/check.hpp>

namespace bp::serialize {

class DictBudget {
 public:
  static constexpr std::uint64_t most_entries = 40'000;  // in one; a few seconds

  // Throws bad_argument, beginning with `file`, when all dicts together take longer than one of most_entries.
  void add(std::uint64_t num_entries, const std::string& file) {
    const bool fits = num_entries <= most_entries;
    spent_ += fits ? num_entries * num_entries : 0;
    BP_CHECK(fits && spent_ <= most_entries * most_entries,
             "{}: has a dict of {} entries, and one may have {}, or several as much together; use "
             "lists or a tensor",
             file, num_entries, most_entries);
  }

 private:
  std::uint64_t spent_ = 0;
};

}  // namespace bp::serialize
