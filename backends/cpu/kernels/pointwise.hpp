// The tile programs of one operator that is an expression, by dtype.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "tile/program.hpp"

namespace bp::cpu {

class Pointwise {
 public:
  // Compiles `op` for as many of these dtypes as the row and its steps have, and returns those; 0: it is beyond tile
  // programs.
  bp_dtype_set compile(const bp_operator& op, bp_dtype_set wanted);

  // For a call whose tensors have this dtype; NULL: the operator lacks it.
  const tile::Program* program_for(const bp_call& call, uint32_t dtype) const {
    const bool ones = numbers_are_one(call);
    if (dtype == BP_BF16) {
      const tile::Program* narrow = ones ? narrow_ones_ : narrow_;
      if (narrow != nullptr && bf16_has_numbers(call, narrow->wide_numbers)) return narrow;
    }
    return ones ? ones_[dtype] : programs_[dtype];
  }

  // The computation's: of the output, unless that is bool for every type.
  uint32_t dtype_of(const bp_call& call) const;

  const tile::Signature& signature() const { return signature_; }

 private:
  bool numbers_are_one(const bp_call& call) const;
  // But for those arguments whose bits are in `others`.
  bool bf16_has_numbers(const bp_call& call, uint32_t others) const;
  const tile::Program* compile(std::span<const bp_expr_node> nodes, uint32_t dtype, bool with_ones);
  const tile::Program* compile_narrow(std::span<const bp_expr_node> nodes, bool with_ones);

  tile::Signature signature_;
  int num_numbers_ = 0;
  uint8_t numbers_[tile::Signature::max_args];  // places of arguments that are always numbers
  std::array<const tile::Program*, BP_NUM_DTYPES> programs_{};
  std::array<const tile::Program*, BP_NUM_DTYPES> ones_{};  // for numbers that are all 1
  // In registers of bf16, for numbers that it has; NULL where that would round more than once.
  const tile::Program* narrow_ = nullptr;
  const tile::Program* narrow_ones_ = nullptr;
  std::vector<std::unique_ptr<tile::Program>> owned_;
};

// A tensor of any strides.
constexpr bp_arg strided_place(bp_dtype_set dtypes) {
  bp_arg place{};
  place.dtypes = dtypes;
  place.layouts = BP_LAYOUT_STRIDED;
  return place;
}

}  // namespace bp::cpu
