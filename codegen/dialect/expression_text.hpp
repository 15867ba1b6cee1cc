// Expressions of rows (bp_expr_node) as statements of the dialect.
#pragma once

#include <functional>
#include <span>
#include <string>

#include <backplane/abi.h>

#include "dialect/dialect.hpp"

namespace bp::codegen {

// What the steps BP_X_ARG and BP_X_ACC stand for: names or expressions in the computing type; those of
// mask_arguments() are u8, 0 or 1.
struct Operands {
  std::function<std::string(std::uint32_t argument)> argument;
  std::string accumulated;
};

// The arguments that do nothing but choose between others (bits): bool in every dtype.
std::uint64_t mask_arguments(std::span<const bp_expr_node> nodes);
// Does the expression give bool in every dtype?
bool gives_mask(std::span<const bp_expr_node> nodes);
// The earlier steps that a step reads, of its a, b and c.
struct ReadSteps {
  std::uint16_t steps[3];
  int count;

  const std::uint16_t* begin() const { return steps; }
  const std::uint16_t* end() const { return steps + count; }
};
ReadSteps steps_read_by(const bp_expr_node& node);
// Is there a vector form of this dtype's computations in OpenCL C?
bool has_vector_form(Dtype dtype);

// Appends the steps to `statements` and returns the name of the result: of type compute_type(dtype), or
// u8, 0 or 1, if gives_mask(). `width` above 1: OpenCL C vectors of that many elements of these types.
// Throws unsupported for a step that `dtype` lacks.
std::string emit_expression(std::span<const bp_expr_node> nodes, Dtype dtype, unsigned width,
                            const Operands& operands, std::string& statements);

}  // namespace bp::codegen
