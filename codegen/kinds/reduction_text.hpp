// What the kernels that accumulate share: how a row's expression joins elements and partial results, and
// the functions of the dialect that their bodies are written with.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <backplane/dispatcher/operator.hpp>

#include "device/invocation.hpp"
#include "kinds/kinds.hpp"

namespace bp::codegen {

// The steps of `combine`, taken apart: acc OP f(a), where OP is associative.
struct Combine {
  std::span<const bp_expr_node> element;  // BP_X_ACC with the next element
  std::array<bp_expr_node, 3>
      partial;          // BP_X_ACC with another accumulator, as argument 0: OP alone
  double identity = 0;  // of OP: where partial results begin
  double initial = 0;   // of the row: joined in once
};

// Nothing if partial results of the expression cannot be joined, or it needs more than element 0.
std::optional<Combine> find_combine(const Operator& op);

// Which types, and how many elements at once, a text is written for.
struct Elements {
  Dtype in = Dtype::f32, out = Dtype::f32;
  Dtype accumulator = Dtype::f32;  // a computing type
  unsigned lanes = 1;              // above 1: OpenCL C vectors
  bool small = false;              // there are fewer than 2^31 of them: divisions are cheaper
};

// The dtype that sums of `dtype` are kept in.
Dtype accumulator_of(Dtype dtype);
// How many elements a vector of the accumulator's type should have: 1 unless the device is a processor
// that takes OpenCL C.
unsigned lanes_for(const Invocation& invocation, Dtype accumulator);

// As the bodies know them:
//   acc_t, vec         the accumulator's type, and LANES of them
//   IN_BYTES OUT_BYTES ACC_BYTES   of an element of the input, of the output, of an accumulator
//   SPLAT(x)           a vec of x everywhere
//   take(p, i), take_vec(p, i)     elements of the input from number i on
//   put(p, i, x), put_vec(p, i, x) the same for the output
//   take_acc, put_acc, put_acc_vec the same for accumulators in scratch
//   spill(x, lanes), fill(lanes)   a vec to an array, and back
//   place(number, sizes, strides, rank)   where the element of this number in row-major order is
std::string element_functions(const Elements& elements);
// With a pack of so many: PACK, take_pack(p, i, x) and put_pack(p, i, x), which move elements i .. i + PACK - 1
// between memory and an array x of acc_t, at once; the address is then a multiple of their bytes.
std::string pack_functions(const Elements& elements, unsigned pack);
// IDENTITY, INITIAL, and
//   combine(acc, x), combine_vec   the accumulator with an element
//   join(a, b), join_vec           two accumulators
//   join_lanes(x)                  all of a vec, in a fixed order
// `of_partials`: the elements are accumulators themselves.
std::string combine_functions(const Combine& combine, const Elements& elements, bool of_partials);

// A function from a vec to an acc_t: all lanes in a fixed order, by `joined`, an expression of two vecs x and y.
std::string fold_lanes(std::string_view name, std::string_view joined, unsigned lanes);

// "sum_f32_rows": of letters, digits and _.
std::string kernel_name(const Operator& op, Dtype dtype, std::string_view what);

// How many work-items share `units` pieces of work of `elements` elements in all: one each, but a few per core
// on a processor.
std::uint64_t work_items(const Invocation& invocation, std::int64_t units, std::int64_t elements);

// The kernel of a row that accumulates; `Run(op, combine, invocation)()` serves one call.
template <class Run> class AccumulatingKernel final : public GeneratedKernel {
 public:
  AccumulatingKernel(const Operator& op, const Combine& combine) : op_(op), combine_(combine) {
    places = strided_places(op, op.dtypes);
    uses_scratch = true;
  }
  void run(Invocation& invocation) const override { Run(op_, combine_, invocation)(); }

 private:
  const Operator& op_;
  Combine combine_;
};

// Null where the row does not say how it accumulates.
template <class Run> std::unique_ptr<GeneratedKernel> make_accumulating(const Operator& op) {
  const std::optional<Combine> combine = find_combine(op);
  if (!combine || op.schema->arguments.size() < 2) return nullptr;
  return std::make_unique<AccumulatingKernel<Run>>(op, *combine);
}

}  // namespace bp::codegen
