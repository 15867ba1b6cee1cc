// How groups of work-items share a reduction on devices of GPU shape (decision 0014), and the loops for it.
#pragma once

#include "constants.hpp"
#include "kinds/reduction_space.hpp"
#include "kinds/reduction_text.hpp"
#include "kinds/team.hpp"

namespace bp::codegen {

enum class GroupForm : unsigned {
  rows,        // a team takes a part of a row, pack after pack
  short_rows,  // a team takes several whole rows at once
  columns,     // work-items of neighbouring outputs go down the rows side by side
};

// All that the loops depend on besides the dtype.
struct GroupText {
  GroupForm form = GroupForm::rows;
  unsigned pack = 1;                          // elements that move at once
  unsigned team = 1;                          // work-items for one row; of columns: side by side
  unsigned steps = constants::loads_at_once;  // packs of a work-item that are on their way at once
  bool is_flat = true;                        // the reduced elements have one stride
  bool small = false;                         // see Elements

  // Below 2^24.
  std::uint64_t number() const {
    const std::uint64_t sizes = (static_cast<unsigned>(form) * 32u + pack) * 512 + team;
    return (sizes * 16 + steps) * 4 + (is_flat ? 2 : 0) + small;
  }
};

struct GroupSharing {
  GroupText text;
  std::int64_t units = 1;             // rows, or blocks of columns
  std::int64_t parts = 1, piece = 1;  // of each unit: so many, of so many elements
  std::int64_t groups = 1;            // of work-items, for all parts
};

// Follows from sizes, strides and the device. `offset`: of the input, in bytes.
GroupSharing share_among_groups(const Invocation& invocation, const ReductionPlan& plan,
                                Dtype dtype, std::int64_t offset);

// The largest number of elements, of up to 16 bytes, in which all lines can be taken at once: those of
// `line`, on this side, while the rest of the dimensions moves from line to line.
unsigned pack_of_lines(Dtype dtype, const ReductionSpace& line, const ReductionSpace& rest,
                       int side, std::int64_t offset);

// The work of one kernel, for plan_fields() and v.piece. Its words, which the kernel defines in helpers:
//   state_t                  what is known after some elements
//   START(p, at, number), START_WITH(x, number)   a state before any visit; there is an element `number` of
//                            the row, at `at` of p, or x
//   visit(state, x, number)  a state after element number `number` of the row, x
//   join_states(a, b), and `shuffle`, the ending of its shuffle_xor_ in CUDA C++
//   STATES                   states of a row that a work-item keeps at once: 1 or PACK
//   FINISH_STATE(state, row, part)
// `elements` gives the rest: see element_functions() and pack_functions().
struct GroupLoops {
  std::string helpers, body;
};
GroupLoops group_loops(const Invocation& invocation, const GroupText& text,
                       std::string_view shuffle);

}  // namespace bp::codegen
