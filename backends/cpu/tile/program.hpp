// Expressions as programs: a short list of primitives over registers of one tile each, compiled once
// for an operator and a type, run over tensors of any strides.
#pragma once

#include <cstdint>
#include <span>

#include <backplane/abi.h>

#include "tile/convert.hpp"
#include "tile/primitives.hpp"

namespace bp::cpu::tile {

inline constexpr int max_registers = 24;
inline constexpr int max_steps = 40;
inline constexpr int max_inputs = 8;

// An argument of the call: a tensor's elements, or a number. Input i lies in register i.
struct Input {
  uint8_t arg;
  uint8_t is_mask;  // bool elements, whatever the type of the program
};

struct Constant {
  uint8_t reg;
  uint8_t itemsize;
  alignas(16) char value[16];  // in the type of its register
};

struct Step {
  Primitive run;
  uint8_t to, a, b, c, num_operands;
  Numbered numbered[num_numbered_ways];  // for operands that are one element for the whole run
};

struct Program {
  uint32_t dtype;          // of its tensors
  uint32_t compute_dtype;  // of its registers: f32 for f16 and bf16
  uint32_t out_dtype;
  Convert load;  // from dtype to compute_dtype, none if they are the same
  Convert store;
  Primitive streaming = nullptr;  // the last step, writing past the caches; may be NULL
  bool is_direct = false;  // one step, from the tensors to the result: registers need no memory
  uint8_t num_inputs = 0, num_constants = 0, num_registers = 0, num_steps = 0;
  uint32_t wide_numbers =
      0;  // arguments that its step takes in f32 where they are numbers, whatever its registers
  int64_t tile = 0;   // elements of a register
  int64_t grain = 0;  // elements that are worth another thread
  Input inputs[max_inputs];
  Constant constants[max_registers];
  Step steps[max_steps];

  uint8_t result() const { return steps[num_steps - 1].to; }  // no other step writes there
};

// What an operator's arguments are, found once from its schema and expression.
struct Signature {
  static constexpr int max_args = 16;
  uint32_t num_args = 0;
  bool is_tensor[max_args] = {};
  bool is_number[max_args] = {};  // and never absent
  bool is_mask[max_args] = {};    // a condition: bool in every type
  bool result_is_mask = false;
};

// False if the operator is beyond these programs: no expression, too many arguments, an unknown step.
bool read_signature(const bp_operator& op, Signature& signature);

// False if `dtype` lacks a step. `numbers_are_one`: the program for calls whose numbers (alpha) are
// all 1, where multiplying by them is left out.
bool compile(std::span<const bp_expr_node> nodes, const Signature& signature, uint32_t dtype,
             bool numbers_are_one, Program& program);

// The same for bf16 with registers of bf16 instead of f32, and the same results, for calls whose numbers bf16 has all. False
// where more than one step would round.
bool compile_narrow(std::span<const bp_expr_node> nodes, const Signature& signature,
                    bool numbers_are_one, Program& program);

// Whether bf16 has this number; not of a NaN.
bool bf16_has(double number);

// `number` as an element of `dtype`.
void write_number(void* to, uint32_t dtype, double number);

// Runs it on the call's tensors; the call is as its kernel promised.
void run(const Program& program, const bp_call& call);

}  // namespace bp::cpu::tile
