// Moving elements between tensors and registers without changing them. Elements have 1, 2, 4, 8 or
// 16 bytes; strides count elements.
#pragma once

#include <cstdint>

#include "tile/space.hpp"

namespace bp::cpu::tile {

// dst[i] = *value.
void fill(void* dst, const void* value, int64_t itemsize, int64_t count);

// dst[i] = src[i * stride].
void gather(void* dst, const void* src, int64_t itemsize, int64_t stride, int64_t count);

// dst[i * stride] = src[i].
void scatter(void* dst, const void* src, int64_t itemsize, int64_t stride, int64_t count);

// The same for `count` elements of an operand in the order of a space's visits, from `from` on, which may
// end in another row. `base`: the operand's element 0.
void gather_rows(void* dst, const char* base, int64_t itemsize, const Space& space, int operand,
                 const Position& from, int64_t count);
void scatter_rows(char* base, const void* src, int64_t itemsize, const Space& space, int operand,
                  const Position& from, int64_t count);

// Copies past the caches: for results that would only push everything else out of them. Fast for whole
// lines of 64 bytes. What is written is ordered for other threads by `finish_streaming` alone.
void stream(void* dst, const void* src, int64_t bytes);
void finish_streaming();

// Whether rows of so many bytes from `data` on are whole lines of the caches.
inline bool are_lines(const void* data, int64_t row_bytes) {
  return (reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(row_bytes)) % 64 == 0;
}

// Repeats 16 bytes over `bytes` from `dst` on, past the caches or not. `pattern`: these bytes five times, to be read at any phase.
void repeat(void* dst, const char (&pattern)[5 * 16], int64_t bytes, bool past_caches);

// True if a call that reads and writes so many bytes should write past the caches.
bool worth_streaming(int64_t read, int64_t written);

}  // namespace bp::cpu::tile
