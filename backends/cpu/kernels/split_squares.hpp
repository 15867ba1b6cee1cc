// What packed factors add to a square of sums in the tiles of AMX. For code that has asked the processor and whose thread
// has Tiles.
#pragma once

#include <atomic>

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

// Packed lines in groups of 32, each of some steps, as pack_step leaves them.
struct PackedLines {
  const char* data;
  int64_t group_bytes;  // from one group to the next
  int64_t groups;
};

// c = a * b, or c += a * b, times up * up: whole squares of c, whose rows are `c_row` numbers apart.
inline void multiply_packed(float* c, int64_t c_row, const PackedLines& a, const PackedLines& b,
                            int64_t steps, bool adds) {
  // The tiles' instructions do not tell GCC 12 what they read.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (int64_t panel = 0; panel < b.groups; ++panel)
    for (int64_t group = 0; group < a.groups; ++group) {
      float* const sums = c + group * square * c_row + panel * square;
      if (adds)
        load_sums(sums, c_row);
      else
        clear_sums();
      const char* const lines = a.data + group * a.group_bytes;
      const char* const columns = b.data + panel * b.group_bytes;
      for (int64_t step = 0; step < steps; ++step)
        multiply_step(lines + step * step_bytes, columns + step * step_bytes);
      store_sums(sums, c_row);
    }
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES
