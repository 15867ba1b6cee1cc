// Kernels in OpenCL C for tests of the backends that take it, or SPIR-V made from it.
#pragma once

namespace direct {

// y[i] = scale * x[i] + shift (AxpbValues).
inline const char* const axpb = R"(
typedef struct { long from, to; float scale, shift; } Values;
__kernel void axpb(__global const uchar* x, __global uchar* y, Values v) {
  const size_t i = get_global_id(0);
  ((__global float*)(y + v.to))[i] = v.scale * ((__global const float*)(x + v.from))[i] + v.shift;
})";

// Keeps the device busy for as long as `rounds` says.
inline const char* const spin = R"(
__kernel void spin(__global uint* x, ulong rounds) {
  uint state = x[0];
  for (ulong i = 0; i < rounds; ++i) state = state * 1664525u + 1013904223u + (state >> 7);
  x[0] = state;
})";

}  // namespace direct
