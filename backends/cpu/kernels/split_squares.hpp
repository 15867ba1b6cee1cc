// What packed factors add to a square of sums in the tiles of AMX. For code that has asked the processor and whose thread
// has Tiles.
#pragma once

#include "amx.hpp"
#include "split_packing.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,amx-tile,amx-bf16")

namespace bp::cpu {

// 32 of k. Small products come first. A tile is loaded as soon as the products that need what was in it are under way, two
// products before its own.
inline void multiply_step(const char* a, const char* b) {
  constexpr int64_t last_lines = tile_bytes, middle = 2 * tile_bytes, small = 4 * tile_bytes;
  _tile_loadd(4, a, 64);
  _tile_loadd(6, b + small, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(5, a + last_lines, 64);
  _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(7, b + small + last_lines, 64);
  _tile_loadd(6, b + middle, 64);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(7, b + middle + last_lines, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(6, b, 64);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(7, b + last_lines, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(4, a + small, 64);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(5, a + small + last_lines, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(4, a + middle, 64);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(5, a + middle + last_lines, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(6, b + middle, 64);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(7, b + middle + last_lines, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES
