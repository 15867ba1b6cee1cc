// AMX, the matrix unit of newer Xeons: whether it is here, and a thread's tiles. `Tiles` is code for a processor that has
// it, for files that have asked.
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

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES
#endif
