// Which place each of a few keys has among all of them, by counting those that come before it: as many comparisons as there are pairs,
// but none of them a branch.
#pragma once

#include <cstdint>

#include "../constants.hpp"

namespace bp::cpu::tile {

// Keys and ranks have room for so many more than `count`, which are read and written.
inline constexpr int64_t rank_padding = 16;
inline constexpr int64_t rank_room = constants::ranked_entries + rank_padding;

// ranks[i] = where keys[i] stands in a stable sort.
void rank(const int32_t* keys, int32_t* ranks, int64_t count);
void rank(const int64_t* keys, int64_t* ranks, int64_t count);

}  // namespace bp::cpu::tile
