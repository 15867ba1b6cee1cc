// Teams: neighbours within a group of work-items that work on one thing, on devices of GPU shape
// (decision 0014). In CUDA C++ they exchange within subgroups of 32 first, elsewhere through local memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "constants.hpp"
#include "device/invocation.hpp"

namespace bp::codegen {

using constants::usual_group;

// Can the device run kernels of groups of so many work-items?
bool has_groups(const Invocation& invocation, unsigned group = usual_group);
// How many groups keep the device busy.
std::int64_t busy_groups(const Invocation& invocation);

struct Team {
  Language language;
  unsigned size;   // a power of two
  unsigned group;  // work-items of the group: a multiple of `size`
};

// TEAM, GROUP and, for the bodies, `me`: macros for the place in the team and the team's number.
std::string team_words(const Team& team);

// How teams exchange values of a type.
struct Exchanged {
  std::string_view type;     // "acc_t"
  std::string_view joins;    // a function of two of them, associative and commutative
  std::string_view shuffle;  // in CUDA C++: the ending of shuffle_xor_ and shuffle_up_, "f32"
};

// `name`(x, lane, room): all x of the team joined, in a fixed order, for each of its work-items. The whole
// group calls it. `room` is a LOCAL array of team_room() values; BARRIERs are in it wherever needed.
std::string team_join(std::string_view name, const Team& team, const Exchanged& values);
// `name`(x, lane, room, before), with arrays of `steps` x: the team's x of step 0 in the order of its members, then
// those of step 1, and so on; before[s] becomes what lies before this work-item's x[s], `identity` at first. Gives
// what all of them make. The room has `steps` times as many values.
std::string team_scan(std::string_view name, const Team& team, const Exchanged& values,
                      std::string_view identity, unsigned steps);
unsigned team_room(const Team& team);
// The same as team_join() where the team's members are `size` apart: those of one column. The room has a value
// for each work-item of the group.
std::string column_join(std::string_view name, const Team& team, const Exchanged& values);

// The smallest power of two that is not below `count`, within 1 .. most.
unsigned power_of_two(std::int64_t count, unsigned most);

}  // namespace bp::codegen
