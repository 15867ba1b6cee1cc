// Covering arrays: few combinations of axes in which all pairs, or triples, of their values come up.
#pragma once

#include <cstdint>
#include <vector>

namespace bp::conform {

// Each group names the axes of which all combinations of values shall be there. The result is a list of positions,
// one for each axis; the same for the same arguments. `seed` decides what is free.
std::vector<std::vector<int>> cover(const std::vector<int>& sizes,
                                    const std::vector<std::vector<int>>& groups,
                                    std::uint64_t seed);

// All groups of `strength` out of so many axes.
std::vector<std::vector<int>> groups_of(int axes, int strength);

}  // namespace bp::conform
