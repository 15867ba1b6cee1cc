// Factors of an f32 product, each number as the three bf16 whose sum it is, in the order that AMX needs, padded with zeros
// to whole tiles. For matmul_split.cpp alone: this is AVX-512 code, which only runs after it has asked the processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <hwy/base.h>
#include <immintrin.h>

#include "matmul_packing.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw")

namespace bp::cpu {

constexpr int64_t num_parts = 3;
constexpr int64_t tile_bytes = tile_rows * 64;
// 32 lines (rows of a, columns of b) and 32 steps of k: the tiles of the largest parts of the first and the last 16 lines,
// then those of the middle parts and of the smallest.
constexpr int64_t step_bytes = 2 * num_parts * tile_bytes;

// AMX takes what is below 2^-126 for zero. Both factors are multiplied by `up` on their way, so that this is below 2^-190 of
// the product, where no f32 is.
constexpr float up = 0x1p32f;
constexpr float down = 0x1p-64f;

// The upper half of each 32 bits of a part is a bf16; what is below it does not count. 24 bits are 8 and 8 and 8: nothing
// remains. The largest part is rounded, so that what is left out of products has either sign.
struct Parts {
  explicit Parts(__m512 numbers) {
    const __m512i half = _mm512_set1_epi32(1 << 15), upper = _mm512_set1_epi32(-1 << 16);
    const __m512 scaled = _mm512_mul_ps(numbers, _mm512_set1_ps(up));
    large = _mm512_add_epi32(_mm512_castps_si512(scaled), half);
    const __m512 rest = _mm512_sub_ps(scaled, _mm512_castsi512_ps(_mm512_and_si512(large, upper)));
    middle = _mm512_castps_si512(rest);
    small = _mm512_castps_si512(
        _mm512_sub_ps(rest, _mm512_castsi512_ps(_mm512_and_si512(middle, upper))));
  }

  __m512i large, middle, small;
};

inline __mmask16 first_of_16(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

// One factor. Neighbours in memory are either numbers of one line or lines of one k.
struct Factor {
  const float* data;
  int64_t lines, line_stride;
  int64_t k, k_stride;
};

// How a tile lies: a row for each line (a), or for each pair of k (b). Pairs are k and k + 16, in both.
enum class TileRows { lines, pairs };

namespace split {

// Pairs of one bf16 of each: no shuffle, which is what would hold up the matrix unit.
inline __m512i pair_up(__m512i first, __m512i last) {
  constexpr int a_or_b_and_c = 0xf8;
  return _mm512_ternarylogic_epi32(_mm512_srli_epi32(first, 16), last, _mm512_set1_epi32(-1 << 16),
                                   a_or_b_and_c);
}

inline void store_row(__m512 first, __m512 last, char* row) {
  const Parts x(first), y(last);
  _mm512_store_si512(row, pair_up(x.large, y.large));
  _mm512_store_si512(row + 2 * tile_bytes, pair_up(x.middle, y.middle));
  _mm512_store_si512(row + 4 * tile_bytes, pair_up(x.small, y.small));
}

// The tiles of 32 lines as memory has them: rows are lines where numbers of one line are neighbours, else pairs of k.
inline void read_tiles(const Factor& factor, int64_t line, int64_t k, char* to) {
  const float* from = factor.data + line * factor.line_stride + k * factor.k_stride;
  const int64_t lines_left = factor.lines - line, k_left = factor.k - k;
  if (factor.k_stride == 1) {
    const __mmask16 first = first_of_16(k_left), last = first_of_16(k_left - 16);
    for (int64_t i = 0; i < square; ++i, from += factor.line_stride, to += 64) {
      const bool inside = i < lines_left;
      store_row(_mm512_maskz_loadu_ps(inside ? first : __mmask16{0}, from),
                _mm512_maskz_loadu_ps(inside ? last : __mmask16{0}, from + 16), to);
    }
    return;
  }
  const __mmask16 first = first_of_16(lines_left), last = first_of_16(lines_left - 16);
  for (int64_t i = 0; i < 16; ++i, from += factor.k_stride, to += 64) {
    const float* const other = from + 16 * factor.k_stride;
    const bool has_one = i < k_left, has_other = i + 16 < k_left;
    store_row(_mm512_maskz_loadu_ps(has_one ? first : __mmask16{0}, from),
              _mm512_maskz_loadu_ps(has_other ? first : __mmask16{0}, other), to);
    store_row(_mm512_maskz_loadu_ps(has_one ? last : __mmask16{0}, from + 16),
              _mm512_maskz_loadu_ps(has_other ? last : __mmask16{0}, other + 16), to + tile_bytes);
  }
}

inline void turn_tile(const char* from, char* to) {
  __m512i rows[16];
#pragma GCC unroll 16
  for (int64_t i = 0; i < 16; ++i) rows[i] = _mm512_load_si512(from + i * 64);
  transpose(rows);
#pragma GCC unroll 16
  for (int64_t i = 0; i < 16; ++i) _mm512_store_si512(to + i * 64, rows[i]);
}

}  // namespace split

// Packs 32 lines from `line` on and 32 of k from `k` on: step_bytes of them.
inline void pack_step(const Factor& factor, int64_t line, int64_t k, TileRows rows, char* to) {
  if ((factor.k_stride == 1) == (rows == TileRows::lines))
    return split::read_tiles(factor, line, k, to);
  alignas(64) char tiles[step_bytes];
  split::read_tiles(factor, line, k, tiles);
  for (int64_t at = 0; at < step_bytes; at += tile_bytes) split::turn_tile(tiles + at, to + at);
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES
