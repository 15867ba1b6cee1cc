// The texts of argmax and argmin: one for each form of loops.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kinds/group_reduction.hpp"
#include "kinds/reduction_text.hpp"

namespace bp::codegen {

enum class ArgForm : unsigned { rows, strided_rows, columns, items, join_parts };

// All that a text depends on besides the operator.
struct ArgText {
  Dtype dtype = Dtype::f32;
  ArgForm form = ArgForm::rows;
  unsigned lanes = 1;
  bool to_parts = false;
  std::optional<GroupText>
      groups;  // in place of the form and the lanes; to join parts, its team alone counts

  std::uint64_t variant() const {
    if (groups)
      return 1ull << 40 | ((groups->number() * 32 + index(dtype)) << 2) |
             (form == ArgForm::join_parts ? 2 : 0) | (to_parts ? 1 : 0);
    return ((index(dtype) * 8 + static_cast<unsigned>(form)) * 32 + lanes) * 2 + to_parts;
  }
};

KernelText arg_reduction_text(const Operator& op, const ArgText& text,
                              const Invocation& invocation);

// Where `text.groups` is set.
KernelText group_arg_reduction_text(const Operator& op, const ArgText& text,
                                    const Invocation& invocation);

// IS_BETTER(x, y) of the accumulator's type, scalars or vectors; and FINISH(x, number, row, part).
std::string better_words(const Operator& op, Dtype accumulator);
std::string_view finish_words(bool to_parts);

}  // namespace bp::codegen
