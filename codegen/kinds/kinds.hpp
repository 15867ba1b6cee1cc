// From a row of the table to the kernel that serves it: one maker for each kind of row. A maker reads
// the row's schema, expression and kind; only operators with an algorithm of their own are known by name.
#pragma once

#include <memory>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "device/invocation.hpp"

namespace bp::codegen {

// The generated kernel of one operator on one backend. Threads: any, at once.
class GeneratedKernel {
 public:
  virtual ~GeneratedKernel() = default;
  // Launches the call's work. Throws Error; class unsupported, with the outputs untouched, sends the
  // call to the next rung.
  virtual void run(Invocation& invocation) const = 0;

  // What it declares, per argument of the schema and then per output; as in bp_kernel.
  std::vector<bp_arg> places;
  std::uint32_t flags = BP_KERNEL_DETERMINISTIC | BP_KERNEL_CAPTURABLE;
  bool uses_scratch = false;  // may call Invocation::scratch
};

// The types that kernels handle.
inline constexpr bp_dtype_set all_dtypes = (bp_dtype_set{1} << BP_NUM_DTYPES) - 1;

// A place for a tensor of these dtypes, of any strides and rank; and one for anything else.
bp_arg tensor_place(bp_dtype_set dtypes, bool scalar_ok = false);
bp_arg any_place();
// tensor_place(dtypes) for every tensor of the schema, any_place() for the rest, then the outputs.
std::vector<bp_arg> strided_places(const Operator& op, bp_dtype_set dtypes);

// Null: no kernel for this row, which then falls down the ladder.
std::unique_ptr<GeneratedKernel> make_kernel(const Operator& op);

std::unique_ptr<GeneratedKernel> make_pointwise(const Operator& op);
std::unique_ptr<GeneratedKernel> make_copy(const Operator& op);           // copy, cast
std::unique_ptr<GeneratedKernel> make_factory(const Operator& op);        // full, arange
std::unique_ptr<GeneratedKernel> make_reduction(const Operator& op);      // by `combine`
std::unique_ptr<GeneratedKernel> make_arg_reduction(const Operator& op);  // argmax, argmin
std::unique_ptr<GeneratedKernel> make_softmax(const Operator& op);        // softmax, log_softmax
std::unique_ptr<GeneratedKernel> make_norm(const Operator& op);           // of rows; gradients
std::unique_ptr<GeneratedKernel> make_scan(const Operator& op);           // by `combine`
std::unique_ptr<GeneratedKernel> make_gather(const Operator& op);         // gather, index_select
std::unique_ptr<GeneratedKernel> make_scatter(const Operator& op);        // by `combine`; one_hot
std::unique_ptr<GeneratedKernel> make_cat(const Operator& op);            // cat
std::unique_ptr<GeneratedKernel> make_pad(const Operator& op);            // constant_pad_nd
std::unique_ptr<GeneratedKernel> make_sort(const Operator& op);           // sort, topk
std::unique_ptr<GeneratedKernel> make_matmul(const Operator& op);         // matmul, bmm
std::unique_ptr<GeneratedKernel> make_random(const Operator& op);         // philox and its draws

}  // namespace bp::codegen
