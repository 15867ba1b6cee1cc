// Calls that fall apart: along which dimension of its results a row computes each piece from a piece of its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inputs/problem.hpp"

namespace bp::conform {

struct Cut {
  std::size_t tensor = 0;  // position in Problem::tensors
  std::size_t dim = 0;
};
struct Split {
  std::size_t dim = 0;  // of every result
  std::int64_t size = 0;
  std::vector<Cut> cuts;  // the tensors that are cut; the others belong to each piece as they are

  const Cut* cut_of(std::size_t tensor) const;
};

// Found by trying on the oracle, bit for bit, so that no list of rows says it. The dimensions are tried from the first
// one on, or from the last one. Threads: any.
std::optional<Split> split_of(const Problem& problem, std::uint64_t seed, bool from_last);

// The piece of so many elements along the split's dimension, as views of the problem's tensors.
Laid narrowed(const Laid& laid, std::size_t dim, std::int64_t start, std::int64_t length);
Problem part_of(const Problem& problem, const Split& split, std::int64_t start,
                std::int64_t length);

}  // namespace bp::conform
