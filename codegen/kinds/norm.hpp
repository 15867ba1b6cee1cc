// layer_norm, rms_norm and their gradients: rows of equal length, one behind the other, each with statistics of
// its own. What their kernels know of a call, and the words that they are written with.
#pragma once

#include <string>
#include <vector>

#include "kinds/reduction_text.hpp"

namespace bp::codegen {

// Null: not there. `other` is the bias, or backward the gradient by the result; `out` the result, or the gradient
// by `a`. Statistics are of the accumulator's type.
struct NormCall {
  NormCall(const Operator& op, const Invocation& invocation);

  const Operator& op;
  bool is_backward;
  Dtype dtype{};
  bool centers = false;  // layer_norm, which has a mean
  std::int64_t rows = 0, count = 1;
  const bp_tensor* a = nullptr;
  const bp_tensor* out = nullptr;
  const bp_tensor* mean = nullptr;
  const bp_tensor* rstd = nullptr;
  const bp_tensor* weight = nullptr;
  const bp_tensor* other = nullptr;
  const bp_tensor* by_weight = nullptr;
  const bp_tensor* by_bias = nullptr;
  bp_value eps{};

  Dtype accumulator() const { return accumulator_of(dtype); }
  // What texts depend on, for their variants. Below 2^10.
  std::uint64_t number() const;
};

// A launch over the call's tensors and a scratch, for a kernel of norm_text().
struct NormLaunch {
  bp_region scratch{};
  std::int64_t parts = 1, piece = 1;
};
void launch_norm(Invocation& invocation, const NormCall& call, bp_function* function,
                 const Grid& grid, const NormLaunch& launch);

// A kernel without a body. What the body may use, besides element_functions():
//   v.rows, v.count, v.parts, v.piece
//   A(row) OUT(row) GRAD(row)   the first byte of a row; WEIGHT BIAS   that of the one row
//   MEANS RSTDS SCRATCH         of accumulators
//   sums_t                      two numbers, x and y; add_sums(a, b), add(a, b) of one
//   statistics_t                of a row: mean, what it lost when it was rounded, rstd
//   statistics_of(mean, sums, count, eps)   from the sums of what is less the mean, and of its squares
//   put_statistics(means, rstds, row, s), take_statistics(means, rstds, row), EPS
//   NORMALIZED(x, s)            an element without weight and bias
//   WEIGHTED(x, w) SHIFTED(x, b)            x alone where there is none
//   GRADIENT(g, flat, s, sums)  by the element of that weighted gradient and normalized value, where the row has
//                               the means `sums` of g and g * flat
KernelText norm_text(const NormCall& call, std::string_view what, unsigned lanes = 1);

// The work for devices without groups, and with: results and statistics, or the gradient by `a`.
void norm_of_lines(Invocation& invocation, const NormCall& call);
void norm_in_groups(Invocation& invocation, const NormCall& call);
// The gradients by weight and bias, sums over all rows.
void norm_columns(Invocation& invocation, const NormCall& call);
// All gradients while the rows pass once. False where they are too long.
bool norm_gradients_in_groups(Invocation& invocation, const NormCall& call);
// The last step of both: the scratch has the sums of `chunks` parts of the rows, of one part after the other those
// by the weight, then the same by the bias.
void join_columns(Invocation& invocation, const NormCall& call, const bp_region& scratch,
                  std::int64_t chunks);

}  // namespace bp::codegen
