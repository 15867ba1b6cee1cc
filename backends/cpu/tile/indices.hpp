// A look at indices before anything is read or written by them.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

// Whether all of them are in [0, size).
bool are_within(const int32_t* indices, int64_t count, int64_t size);
bool are_within(const int64_t* indices, int64_t count, int64_t size);

}  // namespace bp::cpu::tile
