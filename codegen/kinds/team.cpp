#include "kinds/team.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

#include "constants.hpp"

namespace bp::codegen {
namespace {

constexpr unsigned subgroup = 32;
// 32 values of 16 bytes for each 32 work-items are the most that a kernel asks for.
constexpr std::uint64_t local_bytes = 32 << 10;

bool has_shuffles(const Team& team) {
  return team.language == Language::cuda_cxx;
}

std::string joined(const Exchanged& values, std::string_view a, std::string_view b) {
  return fmt::format("{}({}, {})", values.joins, a, b);
}

// Every work-item ends up with the same: a pair joins the same two, and joining commutes.
std::string join_by_shuffles(const Team& team, const Exchanged& values) {
  std::string text;
  for (unsigned by = std::min(team.size, subgroup) / 2; by > 0; by /= 2)
    text +=
        fmt::format("  x = {};\n",
                    joined(values, "x", fmt::format("shuffle_xor_{}(x, {})", values.shuffle, by)));
  if (team.size <= subgroup) return text + "  return x;\n";
  text += "  BARRIER\n  if (lane % 32 == 0) room[lane / 32] = x;\n  BARRIER\n";
  text += fmt::format("  x = room[lane / {} * {}];\n", team.size, team.size / subgroup);
  for (unsigned k = 1; k < team.size / subgroup; ++k)
    text += fmt::format("  x = {};\n", joined(values, "x",
                                              fmt::format("room[lane / {} * {} + {}]", team.size,
                                                          team.size / subgroup, k)));
  return text + "  return x;\n";
}

std::string join_in_local(const Team& team, const Exchanged& values) {
  if (team.size == 1) return "  return x;\n";
  std::string text = "  BARRIER\n  room[lane] = x;\n";
  for (unsigned by = team.size / 2; by > 0; by /= 2)
    text += fmt::format("  BARRIER\n  if (lane % {} < {}) room[lane] = {};\n", team.size, by,
                        joined(values, "room[lane]", fmt::format("room[lane + {}]", by)));
  return text + fmt::format("  BARRIER\n  return room[lane / {0} * {0}];\n", team.size);
}

// `x` becomes inclusive within `width` neighbours.
std::string inclusive(std::string_view x, unsigned width, const Exchanged& values) {
  std::string text;
  for (unsigned by = 1; by < width; by *= 2)
    text += fmt::format("  other = shuffle_up_{}({}, {});\n  if (lane % {} >= {}) {} = {};\n",
                        values.shuffle, x, by, width, by, x, joined(values, "other", x));
  return text;
}

// One step, within a subgroup.
std::string scan_by_shuffles(const Team& team, const Exchanged& values, std::string_view identity) {
  return fmt::format(
      "  {0} other;\n{1}  other = shuffle_up_{2}(x, 1);\n"
      "  *before = lane % {3} ? other : {4};\n"
      "  return shuffle_from_{2}(x, lane % 32 / {3} * {3} + {5});\n",
      values.type, inclusive("x", team.size, values), values.shuffle, team.size, identity,
      team.size - 1);
}

// What the subgroups have in all, step after step, fits one of them: each scans it for itself.
std::string scan_of_subgroups(const Team& team, const Exchanged& values, std::string_view identity,
                              unsigned steps) {
  const unsigned subgroups = team.size / subgroup;
  std::string text = fmt::format("  {} other, y[{}];\n", values.type, steps);
  text += fmt::format("  UNROLL for (int s = 0; s < {}; ++s) {{\n  y[s] = x[s];\n", steps);
  text += inclusive("y[s]", subgroup, values);
  text += fmt::format(
      "  other = shuffle_up_{}(y[s], 1);\n  before[s] = lane % 32 ? other : {};\n  }}\n",
      values.shuffle, identity);
  text += fmt::format(
      "  BARRIER\n  if (lane % 32 == 31)\n"
      "    UNROLL for (int s = 0; s < {}; ++s) room[s * {} + lane / 32] = y[s];\n  BARRIER\n",
      steps, subgroups);
  text += fmt::format("  {0} all = {1};\n  if (lane % 32 < {2}) all = room[lane % 32];\n",
                      values.type, identity, steps * subgroups);
  text += inclusive("all", subgroup, values);
  text += fmt::format(
      "  UNROLL for (int s = 0; s < {0}; ++s) {{\n    const i32 place = s * {1} + lane / 32;\n"
      "    other = shuffle_from_{2}(all, place ? place - 1 : 0);\n"
      "    if (place) before[s] = {3};\n  }}\n",
      steps, subgroups, values.shuffle, joined(values, "other", "before[s]"));
  return text + fmt::format("  return shuffle_from_{}(all, 31);\n", values.shuffle);
}

// Step by step with `one`, a function of a single x.
std::string scan_of_steps(std::string_view one, const Exchanged& values, std::string_view identity,
                          unsigned steps) {
  return fmt::format(
      "  {0} total = {1};\n  UNROLL for (int s = 0; s < {2}; ++s) {{\n    {0} own;\n"
      "    const {0} all = {3}(x[s], lane, room, &own);\n    before[s] = {4};\n"
      "    total = {5};\n  }}\n  return total;\n",
      values.type, identity, steps, one, joined(values, "total", "own"),
      joined(values, "total", "all"));
}

std::string scan_in_local(const Team& team, const Exchanged& values, std::string_view identity) {
  if (team.size == 1) return fmt::format("  *before = {};\n  return x;\n", identity);
  std::string text = fmt::format("  {} other;\n  BARRIER\n  room[lane] = x;\n", values.type);
  for (unsigned by = 1; by < team.size; by *= 2)
    text += fmt::format(
        "  BARRIER\n  other = room[lane % {0} >= {1} ? lane - {1} : lane];\n  BARRIER\n"
        "  if (lane % {0} >= {1}) room[lane] = {2};\n",
        team.size, by, joined(values, "other", "room[lane]"));
  return text + fmt::format(
                    "  BARRIER\n  *before = {1};\n"
                    "  if (lane % {0}) *before = room[lane - 1];\n"
                    "  return room[lane / {0} * {0} + {2}];\n",
                    team.size, identity, team.size - 1);
}

}  // namespace

bool has_groups(const Invocation& invocation, unsigned group) {
  const bp_compiler_info& info = invocation.info();
  return !invocation.for_cpu() && invocation.device.language() != Language::c11 &&
         info.max_group[0] >= group && info.max_group_items >= group &&
         info.local_memory >= local_bytes;
}

std::int64_t busy_groups(const Invocation& invocation) {
  return constants::groups_per_unit * std::max<std::int64_t>(1, invocation.info().compute_units);
}

std::string team_words(const Team& team) {
  return fmt::format("#define TEAM {}\n#define GROUP {}\n#define TEAM_ROOM {}\n", team.size,
                     team.group, team_room(team));
}

std::string team_join(std::string_view name, const Team& team, const Exchanged& values) {
  return fmt::format(
      "DEVICE {0} {1}({0} x, i32 lane, IN_LOCAL {0}* room) {{\n{2}}}\n", values.type, name,
      has_shuffles(team) ? join_by_shuffles(team, values) : join_in_local(team, values));
}

std::string column_join(std::string_view name, const Team& team, const Exchanged& values) {
  std::string text =
      fmt::format("DEVICE {0} {1}({0} x, i32 lane, IN_LOCAL {0}* room) {{\n", values.type, name);
  if (team.size == team.group) return text + "  return x;\n}\n";
  text += "  BARRIER\n  room[lane] = x;\n";
  for (unsigned by = team.group / 2; by >= team.size; by /= 2)
    text += fmt::format("  BARRIER\n  if (lane < {}) room[lane] = {};\n", by,
                        joined(values, "room[lane]", fmt::format("room[lane + {}]", by)));
  return text + fmt::format("  BARRIER\n  return room[lane % {}];\n}}\n", team.size);
}

std::string team_scan(std::string_view name, const Team& team, const Exchanged& values,
                      std::string_view identity, unsigned steps) {
  const std::string head =
      fmt::format("DEVICE {0} {1}(const {0}* x, i32 lane, IN_LOCAL {0}* room, {0}* before) {{\n",
                  values.type, name);
  const bool by_subgroups = has_shuffles(team) && team.size > subgroup;
  if (by_subgroups && (team.size != team.group || steps * team.size > subgroup * subgroup))
    throw_error(ErrorClass::internal, "codegen: a scan of more than one subgroup can finish");
  if (by_subgroups) return head + scan_of_subgroups(team, values, identity, steps) + "}\n";
  const std::string one = fmt::format("{}_of_one", name);
  return fmt::format("DEVICE {0} {1}({0} x, i32 lane, IN_LOCAL {0}* room, {0}* before) {{\n{2}}}\n",
                     values.type, one,
                     has_shuffles(team) ? scan_by_shuffles(team, values, identity)
                                        : scan_in_local(team, values, identity)) +
         head + scan_of_steps(one, values, identity, steps) + "}\n";
}

unsigned team_room(const Team& team) {
  return has_shuffles(team) ? std::max(1u, team.group / subgroup) : team.group;
}

unsigned power_of_two(std::int64_t count, unsigned most) {
  unsigned power = 1;
  while (power < most && power < count) power *= 2;
  return power;
}

}  // namespace bp::codegen
