// Which cases there are: axes from the operator table, combined, cut by level, profile and filter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "cases/subject.hpp"

namespace bp::conform {

enum class Profile : std::uint8_t {
  quick,   // each axis's values once for each row: under 5 s
  normal,  // all pairs of axes: 8 to 10 thousand, under 60 s with two cores
  full,    // all triples: about 100 thousand, under 20 min
};

struct Selection {
  int level = 5;  // up to it
  Profile profile = Profile::normal;
  std::vector<std::string> filters;  // globs over "op" or over whole names; none: everything
  std::uint64_t seed = 1;            // of values; --challenge makes others
  int shard = 0, num_shards = 1;
  int random_cases = 0;  // besides, of random axes
};

// In a fixed order for the same selection and table: by level, then by row. The same must-run list for every stranger.
// Direct cases are only those that a declared kernel takes. Throws bad_argument when nothing matches, naming the filters.
std::vector<Case> derive_cases(const Subject& subject, const Selection& selection);

// The dtypes that a row is asked to compute in, out of those that tests go through.
std::vector<Dtype> dtypes_of(const std::string& op);

// Level 2: what inference is made of.
bool is_inference_row(const std::string& op);

// SHA-256 of the names, for certificates.
std::string digest_of(const std::vector<Case>& cases);

}  // namespace bp::conform
