// How each row of the table is batched over a dimension in front of its tensors': what vmap goes by.
#pragma once

#include <cstdint>
#include <span>

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Tensors of a batch have its dimension in front, others are the same for all of its elements.
// docs/add_an_operator.md tells what each rule promises.
enum class Batch : std::uint8_t {
  pointwise,  // ranks are aligned behind the batch's dimension, and the tensors broadcast
  lead,       // the tensors of `args` lead with it, and so do the results
  fold,       // it joins dimension 0 of the tensors of `args`, and parts from that of the results
  products,   // as matmul: vectors become matrices, and the dimensions before these broadcast
  decompose,  // the operators that it decomposes into are batched
  loop,       // the operator is called for each element
  shared,     // it takes no tensors: one call serves all elements
};

// The masks have a bit for each argument.
struct BatchRule {
  Operator* op;
  Batch how;
  std::uint32_t args;  // lead and fold: tensors that may have a batch
  std::uint32_t
      dims;  // name dimensions: numbers from 0 on grow by one, None is all but the batch's
  std::uint32_t
      sizes;  // are a shape: the batch's size leads, or where it is folded multiplies the first
  std::uint32_t order;  // name all dimensions: 0 leads, and numbers from 0 on grow by one
  const char* text;     // the same in words of the table: "lead: input; dims: dim"
};

// Of all rows, in the table's order.
BP_API std::span<const BatchRule> batch_rules();
// Null for an operator that is not of the table: it is decomposed if it can be, and else looped over.
BP_API const BatchRule* find_batch_rule(const Operator& op);

}  // namespace bp
