// A problem in the making: arguments with shapes first, then memory and values.
#pragma once

#include <string>
#include <vector>

#include "cases/case.hpp"
#include "inputs/problem.hpp"

namespace bp::conform {

// What a tensor of a call means, and so which values it may have.
struct PlannedTensor {
  Dtype dtype = f32;
  Sizes shape;
  std::int64_t index_end = -1;  // not -1: these are indices below it
  bool keeps_values =
      false;  // the sample's, whatever the case's values are: statistics, probabilities, masks
};

struct PlannedProblem {
  Problem problem;  // its tensors are those of a sample, or not there yet
  std::vector<PlannedTensor> tensors;
};

// From "s2x3,1x3:dim=1" or "m17k65n3": the shapes of the tensor arguments in schema order, joined by commas ("#2" is
// a number in a tensor's place, "-" an absent one, "2x3+1x3" a list of tensors; the last one holds for the rest), then
// other arguments by their names; of a tensor the dtype (":index=i32").
void plan_from_text(const Case& one, PlannedProblem& plan);

// From the row's own sample of this name, made by samples/recipes; each `draw` has other numbers.
void plan_from_sample(const Case& one, std::uint64_t draw, PlannedProblem& plan);

// The parts of a text between separators; "" has one part, the empty one.
std::vector<std::string> split_text(std::string_view text, char separator);
// "2x3" or ""; false for anything else.
bool read_sizes(std::string_view text, Sizes& out);

// The argument for a value of the schema's type written as text; throws bad_argument.
bp_value read_setting(const Case& one, const SchemaArgument& argument, const std::string& text,
                      Problem& problem);

[[noreturn]] void refuse_case(const Case& one, const std::string& why);

}  // namespace bp::conform
