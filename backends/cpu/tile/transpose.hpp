// Copies whose source runs along another dimension than their destination.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

// Up to so many numbers of 1, 2 or 4 bytes that lie together, as columns of the destination or rows of the source without anything
// between, are turned by instructions that take vectors apart or interleave them.
inline constexpr int64_t most_together = 4;

// dst[row * dst_stride + column] = src[column * src_stride + row], for elements of 1, 2, 4, 8 or 16 bytes;
// strides count elements. `streams`: writes past the caches where whole lines are written; then the
// caller ends with finish_streaming().
struct Transpose {
  char* dst;
  const char* src;
  int64_t dst_stride, src_stride;
  int64_t rows, columns;
  int64_t itemsize;
  bool streams;
};
void transpose(const Transpose& block);

// Whether a register is as wide as a line of the caches, so that nothing is turned by way of memory.
bool turns_in_registers();

}  // namespace bp::cpu::tile
