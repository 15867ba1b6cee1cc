// Factors of a bf16 product in the order that AMX needs, padded with zeros to whole tiles. For matmul_amx.cpp alone: this
// is AVX-512 code, which only runs after it has asked the processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <hwy/base.h>
#include <immintrin.h>

#include "../constants.hpp"
#include "matmul.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw")

namespace bp::cpu {

// A tile has 16 rows of 64 bytes: of a 16 rows of 32 elements, of b 16 pairs of rows of 16 columns.
constexpr int64_t tile_rows = 16;
constexpr int64_t tile_depth = 32;
constexpr int64_t tile_elements = tile_rows * tile_depth;
// Four tiles of sums make a square of the result, two tiles beside each other a step of a panel of b.
constexpr int64_t square = 32;

// Both are row pairs of 32 columns: element pairs of the first 16, and of the last 16.
struct Interleaved {
  __m512i first, last;
};

inline Interleaved interleave(__m512i even, __m512i odd) {
  const __m512i low = _mm512_unpacklo_epi16(even, odd);
  const __m512i high = _mm512_unpackhi_epi16(even, odd);
  const __m512i order_first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i order_last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  return {_mm512_permutex2var_epi64(low, order_first, high),
          _mm512_permutex2var_epi64(low, order_last, high)};
}

// Rows and columns of 32 bits change places: one tile by columns becomes one by rows.
HWY_INLINE void transpose(__m512i (&rows)[16]) {
  __m512i other[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    other[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    other[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 16
    for (int j = 0; j < 2; ++j) {
      rows[i + 2 * j] = _mm512_unpacklo_epi64(other[i + j], other[i + j + 2]);
      rows[i + 2 * j + 1] = _mm512_unpackhi_epi64(other[i + j], other[i + j + 2]);
    }
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < 2; ++j) {
      other[8 * j + i] = _mm512_shuffle_i32x4(rows[8 * j + i], rows[8 * j + 4 + i], 0x88);
      other[8 * j + 4 + i] = _mm512_shuffle_i32x4(rows[8 * j + i], rows[8 * j + 4 + i], 0xdd);
    }
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < 2; ++j) {
      rows[4 * j + i] = _mm512_shuffle_i32x4(other[4 * j + i], other[8 + 4 * j + i], 0x88);
      rows[8 + 4 * j + i] = _mm512_shuffle_i32x4(other[4 * j + i], other[8 + 4 * j + i], 0xdd);
    }
}

// The first `count` of 32 elements; below 0 is none, above 32 all.
inline __mmask32 first_of_32(int64_t count) {
  return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(count, 0, 32)) - 1);
}

inline __m512i load_first(int64_t count, const uint16_t* from) {
  return _mm512_maskz_loadu_epi16(first_of_32(count), from);
}

inline const uint16_t* elements(const Matrix& matrix) {
  return reinterpret_cast<const uint16_t*>(matrix.data);
}

// Rows [first, first + 32) of an a of [m, k], `stride` elements from one to the next.
inline void pack_rows(const Matrix& a, int64_t m, int64_t k, int64_t first, uint16_t* to,
                      int64_t stride) {
  const int64_t rows = std::min(square, m - first);
  if (a.column_stride == 1) {
    for (int64_t row = 0; row < square; ++row)
      for (int64_t at = 0; at < k; at += tile_depth)
        _mm512_storeu_si512(
            to + row * stride + at,
            load_first(row < rows ? k - at : 0, elements(a) + (first + row) * a.row_stride + at));
    return;
  }
  for (int64_t at = 0; at < k; at += tile_depth) {
    __m512i upper[16], lower[16];
    for (int64_t pair = 0; pair < 16; ++pair) {
      const int64_t column = at + 2 * pair;
      const uint16_t* const from = elements(a) + column * a.column_stride + first;
      const Interleaved both =
          interleave(load_first(column < k ? rows : 0, from),
                     load_first(column + 1 < k ? rows : 0, from + a.column_stride));
      upper[pair] = both.first;
      lower[pair] = both.last;
    }
    transpose(upper);
    transpose(lower);
    for (int64_t row = 0; row < 16; ++row) {
      _mm512_storeu_si512(to + row * stride + at, upper[row]);
      _mm512_storeu_si512(to + (row + 16) * stride + at, lower[row]);
    }
  }
}

// What is cut out of a b of [k, n]: rows from `first_row` on and whole panels of 32 columns. Beyond k and n are zeros.
struct Cut {
  int64_t first_row, depth;  // a multiple of tile_depth
  int64_t first_panel, num_panels;
};

// Packs a cut in small units, so that they can be done between other instructions. A panel is its tiles, two for each
// tile_depth rows; panels follow each other.
class PanelPacker {
 public:
  PanelPacker() = default;  // nothing to do
  PanelPacker(const Matrix& b, int64_t k, int64_t n, const Cut& cut, uint16_t* to)
      : from_(elements(b) + cut.first_row * b.row_stride +
              cut.first_panel * square * b.column_stride),
        row_stride_(b.row_stride), column_stride_(b.column_stride), by_rows_(b.column_stride == 1),
        rows_(k - cut.first_row), columns_(n - cut.first_panel * square), depth_(cut.depth),
        width_(cut.num_panels * square),
        units_left_(by_rows_ ? depth_ / 2 * cut.num_panels : depth_ / tile_depth * (width_ / 16)),
        to_(to) {}

  int64_t units_left() const { return units_left_; }

  void pack(int64_t units) {
    units = std::min(units, units_left_);
    units_left_ -= units;
    for (; units > 0; --units) {
      if (by_rows_)
        pack_pair();
      else
        pack_tile();
    }
  }

 private:
  // 32 columns of two rows. All panels of these rows come first: a row is a page of its own, whose address is looked up.
  void pack_pair() {
    constexpr int64_t ahead = constants::packing_ahead;
    const uint16_t* const even = from_ + row_ * row_stride_ + column_;
    const uint16_t* const odd = even + row_stride_;
    _mm_prefetch(reinterpret_cast<const char*>(even + ahead * row_stride_), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(odd + ahead * row_stride_), _MM_HINT_T0);
    const int64_t columns = columns_ - column_;
    const Interleaved both = interleave(load_first(row_ < rows_ ? columns : 0, even),
                                        load_first(row_ + 1 < rows_ ? columns : 0, odd));
    uint16_t* const to = tile() + row_ % tile_depth / 2 * tile_depth;
    _mm512_store_si512(to, both.first);
    _mm512_store_si512(to + tile_elements, both.last);
    column_ += square;
    if (column_ == width_) {
      column_ = 0;
      row_ += 2;
    }
  }

  // 16 columns of 32 rows.
  void pack_tile() {
    __m512i columns[16];
    for (int64_t i = 0; i < 16; ++i)
      columns[i] = load_first(column_ + i < columns_ ? rows_ - row_ : 0,
                              from_ + (column_ + i) * column_stride_ + row_);
    transpose(columns);
    uint16_t* const to = tile();
    for (int64_t i = 0; i < 16; ++i) _mm512_store_si512(to + i * tile_depth, columns[i]);
    row_ += tile_depth;
    if (row_ == depth_) {
      row_ = 0;
      column_ += 16;
    }
  }

  // Where the next unit belongs.
  uint16_t* tile() const {
    const int64_t panel = column_ / square * square * depth_;
    return to_ + panel + (row_ / tile_depth * 2 + column_ % square / 16) * tile_elements;
  }

  const uint16_t* from_ = nullptr;
  int64_t row_stride_ = 0, column_stride_ = 0;
  bool by_rows_ = true;
  int64_t rows_ = 0, columns_ = 0;  // that b has from here on
  int64_t depth_ = 0, width_ = 0, units_left_ = 0;
  int64_t row_ = 0, column_ = 0;  // of the next unit
  uint16_t* to_ = nullptr;
};

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES
