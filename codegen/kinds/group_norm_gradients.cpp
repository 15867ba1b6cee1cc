// alone: its texts and their parts have the names that other kinds give to theirs
// All gradients of a normalization in one pass, on devices of GPU shape: a group goes through many rows, holds each
// in registers for the gradient by `a`, and keeps the columns' sums for weight and bias there until its last row.
#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/group_norm.hpp"

namespace bp::codegen {
namespace {

// Rows beyond the last one have a gradient of 0.
constexpr const char* body = R"(
  LOCAL sums_t room[TEAM_ROOM];
  LOCAL sums_t column_room[GROUP];
  const i32 me = lane % TEAM;
  const acc_t count = (acc_t)v.count;
  acc_t by_weight[STEPS * PACK], by_bias[STEPS * PACK];
  UNROLL for (int k = 0; k < STEPS * PACK; ++k) by_weight[k] = by_bias[k] = 0;
  KEEP_LOOP for (i64 first = group0 * (GROUP / TEAM); first < v.rows;
                 first += v.parts * (GROUP / TEAM)) {
    const i64 own = first + lane / TEAM, row = own < v.rows ? own : 0;
    GLOBAL u8* const a = A(row);
    GLOBAL u8* const grad = GRAD(row);
    GLOBAL u8* const out = OUT(row);
    acc_t x[STEPS * PACK], g[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) {
      UNROLL for (int k = 0; k < PACK; ++k) x[s * PACK + k] = g[s * PACK + k] = 0;
      if (AT(s) < v.count && own < v.rows) {
        take_pack(a, AT(s), x + s * PACK);
        take_pack(grad, AT(s), g + s * PACK);
      }
    }
    const statistics_t of_row = take_statistics(MEANS, RSTDS, row);
    UNROLL for (int k = 0; k < STEPS * PACK; ++k) {
      by_weight[k] += g[k] * NORMALIZED(x[k], of_row);
      if (CENTERS) by_bias[k] += g[k];
    }
    sums_t sums = { 0, 0 };
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (AT(s) < v.count)
        sums = add_sums(sums, products_of(x + s * PACK, g + s * PACK, of_row, WEIGHT, AT(s)));
    sums = join_of_team(sums, lane, room);
    sums.x /= count;
    sums.y /= count;
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (AT(s) < v.count && own < v.rows)
        put_gradient(out, AT(s), x + s * PACK, g + s * PACK, of_row, sums);
  }
  UNROLL for (int k = 0; k < STEPS * PACK; ++k) {
    const i64 column = AT(k / PACK) + k % PACK;
    const sums_t mine = { by_weight[k], by_bias[k] };
    const sums_t sums = join_column(mine, lane, column_room);
    if (lane < TEAM && column < v.count) {
      put_acc(SCRATCH, group0 * v.count + column, sums.x);
      if (CENTERS) put_acc(SCRATCH, (v.parts + group0) * v.count + column, sums.y);
    }
  }
)";

KernelText make_text(const NormCall& call, const TeamOfRow& row, Language language) {
  const Team team{language, row.team, row.group};
  KernelText kernel = norm_text(call, fmt::format("all_{}", row.team));
  kernel.group_size = row.group;
  kernel.groups_per_unit = constants::norm_items_of_unit / row.group;
  kernel.helpers += text_of_team(call, row, language);
  kernel.helpers +=
      column_join("join_column", team, {"sums_t", "add_sums", compute_type(call.accumulator())});
  kernel.body = body;
  return kernel;
}

}  // namespace

bool norm_gradients_in_groups(Invocation& invocation, const NormCall& call) {
  const std::optional<TeamOfRow> row =
      team_that_holds(invocation, call, constants::norm_held_bytes);
  if (!row || row->group > constants::norm_items_of_unit) return false;
  const std::int64_t rows_of_group = row->group / row->team;
  const std::int64_t groups = (call.rows + rows_of_group - 1) / rows_of_group;
  const std::int64_t units = std::max<std::int64_t>(1, invocation.info().compute_units);
  const std::int64_t wanted = std::max(units * (constants::norm_items_of_unit / row->group),
                                       groups / constants::chain_of_norm);
  NormLaunch launch;
  launch.parts = std::min(groups, wanted);
  launch.scratch = invocation.scratch(
      static_cast<std::uint64_t>((call.by_bias ? 2 : 1) * launch.parts * call.count) *
      itemsize(call.accumulator()));
  bp_function* function =
      invocation.function(std::uint64_t{12} << 56 | row->number() << 12 | call.number(),
                          [&] { return make_text(call, *row, invocation.device.language()); });
  launch_norm(invocation, call, function, grid_of_groups(launch.parts, row->group), launch);
  join_columns(invocation, call, launch.scratch, launch.parts);
  return true;
}

}  // namespace bp::codegen
