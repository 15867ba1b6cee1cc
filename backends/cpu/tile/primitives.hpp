// The vector primitives that tile programs are made of: one step of an expression, over one tile.
#pragma once

#include <cstdint>

#include <backplane/abi.h>

#include "../constants.hpp"

namespace bp::cpu::tile {

// A register holds one tile.
inline constexpr int64_t register_bytes = constants::tile_bytes;

// dst[i] = f(a[i], b[i], c[i]) for i < count. Operands that `f` does not have are not looked at. `dst` may
// be exactly an operand. Elements of masks are bytes, 0 or 1. Nothing beyond `count` is touched.
using Primitive = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t count);

// Steps that expressions do not have, but programs do.
inline constexpr uint16_t step_to_mask = BP_NUM_X;        // a != 0
inline constexpr uint16_t step_from_mask = BP_NUM_X + 1;  // 0 or 1 in the type of the program
inline constexpr uint16_t step_identity = BP_NUM_X + 2;
inline constexpr uint16_t step_gelu = BP_NUM_X + 3;  // a * (0.5 + 0.5 * erf(a / sqrt(2)))
inline constexpr uint16_t step_sign = BP_NUM_X + 4;  // -1, 0 or 1; 0 of NaN
// Several steps of an expression in one, as fused.hpp lists them.
inline constexpr uint16_t step_first_fused = BP_NUM_X + 5;
inline constexpr uint16_t num_steps_fused = 16;
inline constexpr uint16_t num_steps_known = step_first_fused + num_steps_fused;

// Of a step (BP_X_* or step_*) in a type, for the best instruction set of this machine; NULL if the
// type has no such step. BP_X_GT and BP_X_GE are absent: swap the operands of LT and LE.
// f16 and f8 have but what is a matter of bits: programs compute them in f32. Those of bf16 round each result: program.cpp
// says when that will do.
Primitive find_primitive(uint16_t code, uint32_t dtype);

// The same, writing past the caches; `dst` is aligned to 64 bytes. Only for steps that gain by it, else NULL.
Primitive find_streaming_primitive(uint16_t code, uint32_t dtype);

// The same with one element for the whole tile in some operands, which only that element of is read: no register is filled
// with a number, and a tile may have any length. Bit k of `operands` stands for the k-th.
struct Numbered {
  Primitive run = nullptr;
  uint8_t operands = 0;
};
enum NumberedWay { number_last, number_first, num_numbered_ways };
Numbered find_numbered(uint16_t code, uint32_t dtype, NumberedWay way);

// The same by instruction set and kind; entries that are missing are NULL.
struct PrimitiveTable {
  Primitive entries[num_steps_known][BP_NUM_DTYPES] = {};
  Primitive streaming[num_steps_known][BP_NUM_DTYPES] = {};
  Numbered numbered[num_numbered_ways][num_steps_known][BP_NUM_DTYPES] = {};
};
const PrimitiveTable&
arithmetic_primitives();                  // arithmetic.cpp: what a processor has an instruction for
const PrimitiveTable& math_primitives();  // math.cpp: exp, sin ... of f32 and f64
const PrimitiveTable& math_of_two_primitives();  // math_of_two.cpp: atan2, fmod, pow of f32 and f64
const PrimitiveTable&
streaming_primitives();  // streaming.cpp: arithmetic of f32 and f64, streaming alone
const PrimitiveTable& bf16_primitives();    // bf16.cpp: arithmetic of bf16 that rounds
const PrimitiveTable& fused_primitives();   // fused.cpp: what fused.hpp lists
const PrimitiveTable& scalar_primitives();  // scalar.cpp: complex numbers, what is left

}  // namespace bp::cpu::tile
