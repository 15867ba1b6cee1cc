// What the kernels of normalizations share that work in groups: which team has a row, and its words.
#pragma once

#include <optional>
#include <string>

#include "kinds/norm.hpp"
#include "kinds/team.hpp"

namespace bp::codegen {

struct TeamOfRow {
  unsigned pack = 1, steps = 1;  // a member has so many packs of so many elements
  unsigned team = 1;
  unsigned group = usual_group;

  std::uint64_t number() const {
    std::uint64_t number = 0;
    for (unsigned part : {pack, steps, team, group}) number = number << 11 | part;
    return number;
  }
};

// The largest pack that divides rows and offsets of all tensors.
unsigned pack_of_rows(const NormCall& call);

// The narrowest team whose members hold a row in so many bytes of registers each; none for rows that are too long.
std::optional<TeamOfRow> team_that_holds(const Invocation& invocation, const NormCall& call,
                                         unsigned most_bytes);

// CENTERS HAS_WEIGHT HAS_BIAS (0 or 1), STEPS, BY (elements of a team's packs), AT(step), with `me` in scope the
// first element of a pack; join_of_team(sums, lane, room), and backward
//   products_of(x, g, s, weight, at)   x becomes normalized and g weighted; their sums
//   put_gradient(out, at, x, g, s, sums)
std::string text_of_team(const NormCall& call, const TeamOfRow& team, Language language);

}  // namespace bp::codegen
