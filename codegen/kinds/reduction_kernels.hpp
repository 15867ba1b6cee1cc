// The texts of reductions: one for each form of loops.
#pragma once

#include <optional>

#include "kinds/group_reduction.hpp"
#include "kinds/reduction_text.hpp"

namespace bp::codegen {

enum class ReductionForm : unsigned {
  rows,            // the reduced elements are neighbours: vectors of them
  strided_rows,    // one element after the other
  columns,         // the kept elements are neighbours: vectors of outputs take in row after row
  item_of_part,    // a work-item for each part of each output; neighbours take parts of one output
  item_of_output,  // neighbours take outputs
};

// All that a text depends on besides the operator.
struct ReductionText {
  Dtype dtype = Dtype::f32;  // of the tensors
  ReductionForm form = ReductionForm::rows;
  unsigned lanes = 1;
  bool of_partials = false;         // the input is accumulators in scratch
  bool to_partials = false;         // the output is
  std::optional<GroupText> groups;  // in place of `form` and `lanes`, where groups share the work

  std::uint64_t variant() const;
};

// How many outputs a piece of work has in the form `columns`.
std::int64_t columns_of(const ReductionText& text);

KernelText reduction_text(const Operator& op, const Combine& combine, const ReductionText& text,
                          const Invocation& invocation);

}  // namespace bp::codegen
