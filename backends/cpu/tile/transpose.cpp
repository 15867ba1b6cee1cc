// Squares with the side of a cache line are turned in registers, and each line of the destination is
// written at once.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/transpose.cpp"
#include <algorithm>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t line_bytes = 64;

#if HWY_TARGET != HWY_SCALAR
template <class T> HWY_INLINE void write_line(char* to, const T* line, bool streams) {
  const hn::CappedTag<T, line_bytes / sizeof(T)> d;
  const size_t lanes = hn::Lanes(d);
  T* const out = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < line_bytes / sizeof(T); i += lanes) {
    if (streams) {
      hn::Stream(hn::Load(d, line + i), d, out + i);
    } else {
      hn::StoreU(hn::Load(d, line + i), d, out + i);
    }
  }
}

// Turns a square of 16 bytes' side: interleaving each vector with its partner half the square away
// moves one bit of the column's number into the row's, so log2(side) rounds exchange them.
template <class T>
HWY_INLINE void turn_small(const T* src, int64_t src_stride, T* dst, int64_t dst_stride) {
  const hn::Full128<T> d;
  constexpr int side = 16 / sizeof(T);
  hn::Vec<decltype(d)> rows[side], turned[side];
  for (int i = 0; i < side; ++i) rows[i] = hn::LoadU(d, src + i * src_stride);
  for (int round = 1; round < side; round *= 2) {
    for (int i = 0; i < side / 2; ++i) {
      turned[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + side / 2]);
      turned[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + side / 2]);
    }
    for (int i = 0; i < side; ++i) rows[i] = turned[i];
  }
  for (int i = 0; i < side; ++i) hn::StoreU(rows[i], d, dst + i * dst_stride);
}

// A square of a line's side, through 4 KiB.
template <class T>
HWY_INLINE void turn_square(const T* src, int64_t src_stride, T* dst, int64_t dst_stride,
                            bool streams) {
  constexpr int64_t side = line_bytes / sizeof(T), small = 16 / sizeof(T);
  HWY_ALIGN T square[side * side];
  for (int64_t column = 0; column < side; column += small) {
    for (int64_t row = 0; row < side; row += small) {
      turn_small(src + column * src_stride + row, src_stride, square + row * side + column, side);
    }
  }
  for (int64_t row = 0; row < side; ++row) {
    write_line(reinterpret_cast<char*>(dst + row * dst_stride), square + row * side, streams);
  }
}

#endif

#if HWY_TARGET <= HWY_AVX3
// With registers as wide as a line there is no way round by memory.
HWY_INLINE void write_line(void* to, __m512i line, bool streams) {
  if (streams) {
    _mm512_stream_si512(static_cast<__m512i*>(to), line);
  } else {
    _mm512_storeu_si512(to, line);
  }
}

// A square of 16 by 16: four rounds, each exchanging neighbours twice as far apart.
HWY_INLINE void turn_registers(__m512i (&rows)[16]) {
  __m512i turned[16];
  for (int i = 0; i < 8; ++i) {
    turned[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    turned[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    rows[4 * i] = _mm512_unpacklo_epi64(turned[4 * i], turned[4 * i + 2]);
    rows[4 * i + 1] = _mm512_unpackhi_epi64(turned[4 * i], turned[4 * i + 2]);
    rows[4 * i + 2] = _mm512_unpacklo_epi64(turned[4 * i + 1], turned[4 * i + 3]);
    rows[4 * i + 3] = _mm512_unpackhi_epi64(turned[4 * i + 1], turned[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    turned[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    turned[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    turned[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    turned[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    rows[i] = _mm512_shuffle_i32x4(turned[i], turned[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(turned[i], turned[i + 8], 0xdd);
  }
}

HWY_INLINE void turn_square(const uint32_t* src, int64_t src_stride, uint32_t* dst,
                            int64_t dst_stride, bool streams) {
  __m512i rows[16];
  for (int i = 0; i < 16; ++i) rows[i] = _mm512_loadu_si512(src + i * src_stride);
  turn_registers(rows);
  for (int i = 0; i < 16; ++i) write_line(dst + i * dst_stride, rows[i], streams);
}

HWY_INLINE void turn_square(const uint64_t* src, int64_t src_stride, uint64_t* dst,
                            int64_t dst_stride, bool streams) {
  __m512i rows[8], turned[8];
  for (int i = 0; i < 8; ++i) rows[i] = _mm512_loadu_si512(src + i * src_stride);
  for (int i = 0; i < 4; ++i) {
    turned[2 * i] = _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1]);
    turned[2 * i + 1] = _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    rows[i] = _mm512_shuffle_i64x2(turned[i], turned[i + 2], 0x88);
    rows[i + 2] = _mm512_shuffle_i64x2(turned[i], turned[i + 2], 0xdd);
    rows[i + 4] = _mm512_shuffle_i64x2(turned[i + 4], turned[i + 6], 0x88);
    rows[i + 6] = _mm512_shuffle_i64x2(turned[i + 4], turned[i + 6], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    write_line(dst + i * dst_stride, _mm512_shuffle_i64x2(rows[i], rows[i + 4], 0x88), streams);
    write_line(dst + (i + 4) * dst_stride, _mm512_shuffle_i64x2(rows[i], rows[i + 4], 0xdd),
               streams);
  }
}

// Pairs of neighbouring rows become 32-bit elements; those are turned twice, for the columns that
// unpacking by quarters of a register takes from its lower and its upper halves.
HWY_INLINE void turn_square(const uint16_t* src, int64_t src_stride, uint16_t* dst,
                            int64_t dst_stride, bool streams) {
  for (int half = 0; half < 2; ++half) {
    __m512i rows[16];
    for (int i = 0; i < 16; ++i) {
      const __m512i even = _mm512_loadu_si512(src + 2 * i * src_stride);
      const __m512i odd = _mm512_loadu_si512(src + (2 * i + 1) * src_stride);
      rows[i] = half == 0 ? _mm512_unpacklo_epi16(even, odd) : _mm512_unpackhi_epi16(even, odd);
    }
    turn_registers(rows);
    for (int i = 0; i < 16; ++i) {
      write_line(dst + (i / 4 * 8 + half * 4 + i % 4) * dst_stride, rows[i], streams);
    }
  }
}
#endif

template <class T>
void turn_edge(const Transpose& block, int64_t row_begin, int64_t row_end, int64_t column_begin,
               int64_t column_end) {
  T* dst = reinterpret_cast<T*>(block.dst);
  const T* src = reinterpret_cast<const T*>(block.src);
  for (int64_t row = row_begin; row < row_end; ++row) {
    for (int64_t column = column_begin; column < column_end; ++column) {
      dst[row * block.dst_stride + column] = src[column * block.src_stride + row];
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// `n` numbers lie together on one side: columns of a row of the destination, or rows of a column of the source.
template <int n, class T> HWY_INLINE void gather_together(const Transpose& block) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  T* const dst = reinterpret_cast<T*>(block.dst);
  const T* const src = reinterpret_cast<const T*>(block.src);
  const int64_t stride = block.src_stride;
  int64_t row = 0;
  for (; row + lanes <= block.rows; row += lanes) {
    const auto a = hn::LoadU(d, src + row), b = hn::LoadU(d, src + stride + row);
    if constexpr (n == 2) {
      hn::StoreInterleaved2(a, b, d, dst + row * n);
    } else {
      const auto c = hn::LoadU(d, src + 2 * stride + row);
      if constexpr (n == 3)
        hn::StoreInterleaved3(a, b, c, d, dst + row * n);
      else
        hn::StoreInterleaved4(a, b, c, hn::LoadU(d, src + 3 * stride + row), d, dst + row * n);
    }
  }
  turn_edge<T>(block, row, block.rows, 0, n);
}

template <int n, class T> HWY_INLINE void take_apart(const Transpose& block) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  T* const dst = reinterpret_cast<T*>(block.dst);
  const T* const src = reinterpret_cast<const T*>(block.src);
  int64_t column = 0;
  for (; column + lanes <= block.columns; column += lanes) {
    hn::Vec<decltype(d)> rows[most_together];
    if constexpr (n == 2)
      hn::LoadInterleaved2(d, src + column * n, rows[0], rows[1]);
    else if constexpr (n == 3)
      hn::LoadInterleaved3(d, src + column * n, rows[0], rows[1], rows[2]);
    else
      hn::LoadInterleaved4(d, src + column * n, rows[0], rows[1], rows[2], rows[3]);
    for (int i = 0; i < n; ++i) hn::StoreU(rows[i], d, dst + i * block.dst_stride + column);
  }
  turn_edge<T>(block, 0, n, column, block.columns);
}

// False where no few numbers lie together.
template <class T> bool turn_few(const Transpose& block) {
  static_assert(most_together == 4);
  const int64_t together = block.dst_stride == block.columns ? block.columns : 0;
  if (together == 2) return gather_together<2, T>(block), true;
  if (together == 3) return gather_together<3, T>(block), true;
  if (together == 4) return gather_together<4, T>(block), true;
  const int64_t apart = block.src_stride == block.rows ? block.rows : 0;
  if (apart == 2) return take_apart<2, T>(block), true;
  if (apart == 3) return take_apart<3, T>(block), true;
  if (apart == 4) return take_apart<4, T>(block), true;
  return false;
}
#endif

template <class T> void turn(const Transpose& block) {
#if HWY_TARGET == HWY_SCALAR
  turn_edge<T>(block, 0, block.rows, 0, block.columns);
#else
  if constexpr (sizeof(T) <= 4)
    if (turn_few<T>(block)) return;
  constexpr int64_t side = line_bytes / sizeof(T);
  T* dst = reinterpret_cast<T*>(block.dst);
  const T* src = reinterpret_cast<const T*>(block.src);
  const bool lines = (reinterpret_cast<uintptr_t>(dst) % line_bytes) == 0 &&
                     (block.dst_stride * static_cast<int64_t>(sizeof(T))) % line_bytes == 0;
  const int64_t rows = block.rows / side * side, columns = block.columns / side * side;
  for (int64_t column = 0; column < columns; column += side) {
    for (int64_t row = 0; row < rows; row += side) {
      turn_square(src + column * block.src_stride + row, block.src_stride,
                  dst + row * block.dst_stride + column, block.dst_stride, block.streams && lines);
    }
  }
  turn_edge<T>(block, rows, block.rows, 0, columns);
  turn_edge<T>(block, 0, block.rows, columns, block.columns);
#endif
}

struct Bytes16 {
  uint64_t low, high;
};

}  // namespace

void transpose_block(const Transpose& block) {
  switch (block.itemsize) {
    case 1: return turn<uint8_t>(block);
    case 2: return turn<uint16_t>(block);
    case 4: return turn<uint32_t>(block);
    case 8: return turn<uint64_t>(block);
    default: return turn_edge<Bytes16>(block, 0, block.rows, 0, block.columns);
  }
}

bool turns_in_registers_here() {
  return HWY_TARGET <= HWY_AVX3;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(transpose_block);
HWY_EXPORT(turns_in_registers_here);

void transpose(const Transpose& block) {
  HWY_DYNAMIC_DISPATCH(transpose_block)(block);
}
bool turns_in_registers() {
  return HWY_DYNAMIC_DISPATCH(turns_in_registers_here)();
}

}  // namespace bp::cpu::tile
#endif
