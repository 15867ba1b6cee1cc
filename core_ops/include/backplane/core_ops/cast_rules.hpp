// How autocast treats each row's floating tensors: the row's `cast` (docs/add_an_operator.md), as amp/ reads it.
#pragma once

#include <cstdint>
#include <span>

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Tensors of float16, bfloat16 and float32 are cast, others stay.
enum class Cast : std::uint8_t {
  none,    // the row and what it decomposes into get their arguments as they are
  lower,   // to the dtype of the Autocast
  f32,     // to float32
  widest,  // to float32 if one is float32, or if they differ
  first,   // to the dtype of the first tensor
  parts,   // the operators that it decomposes into are cast, each by its own rule
};

struct CastRule {
  Operator* op;
  Cast how;
};

// Of all rows, in the table's order.
BP_API std::span<const CastRule> cast_rules();
// For an operator outside of the table: none, or parts if layers see its decomposition in its place.
BP_API Cast cast_rule_of(const Operator& op);
// The word of the table: "lower".
BP_API const char* name(Cast cast);

}  // namespace bp
