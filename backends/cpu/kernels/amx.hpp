// AMX, the matrix unit of newer Xeons: whether it is here, and a thread's tiles, four of which hold the sums of a square of
// 32 x 32. All but the question is code for a processor that has it, for files that have asked.
#pragma once

namespace bp::cpu {

// True where the processor multiplies tiles of bf16 and the system lets this process do so.
bool has_amx_bf16();

}  // namespace bp::cpu

#if defined(__x86_64__)
#  include <cstdint>
#  include <hwy/base.h>
#  include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,amx-tile,amx-bf16")

namespace bp::cpu {

// What ldtilecfg reads: eight tiles of 16 rows of 64 bytes. Constant, since GCC 12 does not know that the instruction
// reads all of it.
struct alignas(64) TileSizes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
inline constinit const TileSizes tile_sizes;

// This thread's tiles. Released, they cost nothing at a switch of threads; oneDNN sets them up for itself.
struct Tiles {
  Tiles() { _tile_loadconfig(&tile_sizes); }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// A square in tiles 0 to 3. Its rows are `row` numbers apart.
inline void load_sums(const float* from, int64_t row) {
  _tile_loadd(0, from, row * 4);
  _tile_loadd(1, from + 16, row * 4);
  _tile_loadd(2, from + 16 * row, row * 4);
  _tile_loadd(3, from + 16 * row + 16, row * 4);
}
inline void store_sums(float* to, int64_t row) {
  _tile_stored(0, to, row * 4);
  _tile_stored(1, to + 16, row * 4);
  _tile_stored(2, to + 16 * row, row * 4);
  _tile_stored(3, to + 16 * row + 16, row * 4);
}
inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES
#endif
