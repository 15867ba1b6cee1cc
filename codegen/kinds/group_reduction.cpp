#include "kinds/group_reduction.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "constants.hpp"

namespace bp::codegen {
namespace {

// A row begins anywhere: its packs are those of memory, `skew` elements before it.
constexpr const char* rows_body = R"(
  LOCAL state_t room[TEAM_ROOM];
  const i32 me = lane % TEAM;
  const i64 own = group0 * (GROUP / TEAM) + lane / TEAM, unit = own < v.units ? own : v.units - 1;
  const i64 row = v.parts == 1 ? unit : unit / v.parts, part = unit - row * v.parts;
  const i64 stride = v.reduced_in[v.reduced_rank - 1];
  const i64 start = v.from + IN_BYTES * place(row, v.kept, v.kept_in, v.kept_rank);
  const i64 skew = SKEW(start), end = v.count + skew;
  GLOBAL u8* const p = m0 + (start - IN_BYTES * skew);
  i64 first = part * v.piece;
  const i64 last = first + v.piece < end ? first + v.piece : end;
  const i64 known = first < skew ? skew : first < end ? first : end - 1;
  state_t state[STATES];
  UNROLL for (int k = 0; k < STATES; ++k) state[k] = START(p, AT(known), known - skew);
  if (first < skew) {
    for (i64 i = skew + me; i < PACK && i < last; i += TEAM)
      state[0] = visit(state[0], take(p, AT(i)), i - skew);
    first = PACK;
  }
  i64 i = first + me * PACK;
  for (; i + ((STEPS - 1) * TEAM + 1) * PACK <= last; i += STEPS * TEAM * PACK) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(p, AT(i + s * TEAM * PACK), x + s * PACK);
    UNROLL for (int s = 0; s < STEPS; ++s)
      UNROLL for (int k = 0; k < PACK; ++k)
        state[k % STATES] =
            visit(state[k % STATES], x[s * PACK + k], i + (s * TEAM * PACK + k) - skew);
  }
  for (; i + PACK <= last; i += TEAM * PACK) {
    acc_t x[PACK];
    take_pack(p, AT(i), x);
    UNROLL for (int k = 0; k < PACK; ++k)
      state[k % STATES] = visit(state[k % STATES], x[k], i + k - skew);
  }
  if (PACK > 1 && last > first)
    for (i64 j = last - (last - first) % PACK + me; j < last; j += TEAM)
      state[0] = visit(state[0], take(p, AT(j)), j - skew);
  UNROLL for (int k = 1; k < STATES; ++k) state[0] = join_states(state[0], state[k]);
  const state_t total = join_team(state[0], lane, room);
  if (me == 0 && own < v.units) { FINISH_STATE(total, row, part) }
)";

// Work-items beyond the end of a row, or of the rows, take in what is there twice, and leave it out.
constexpr const char* short_rows_body = R"(
  LOCAL state_t room[TEAM_ROOM];
  const i32 me = lane % TEAM;
  const i64 stride = v.reduced_in[v.reduced_rank - 1];
  acc_t x[ROWS * STEPS * PACK];
  UNROLL for (int r = 0; r < ROWS; ++r) {
    const i64 row = ROW(r) < v.units ? ROW(r) : v.units - 1;
    GLOBAL u8* const p = m0 + (v.from + IN_BYTES * place(row, v.kept, v.kept_in, v.kept_rank));
    UNROLL for (int s = 0; s < STEPS; ++s) {
      const i64 at = (s * TEAM + me) * PACK;
      take_pack(p, AT(at < v.count ? at : 0), x + (r * STEPS + s) * PACK);
    }
  }
  UNROLL for (int r = 0; r < ROWS; ++r) {
    const i64 known = me * PACK < v.count ? me * PACK : 0;
    state_t state = START_WITH(x[r * STEPS * PACK], known);
    UNROLL for (int s = 0; s < STEPS; ++s) {
      const i64 at = (s * TEAM + me) * PACK;
      if (at < v.count)
        UNROLL for (int k = 0; k < PACK; ++k)
          state = visit(state, x[(r * STEPS + s) * PACK + k], at + k);
    }
    const state_t total = join_team(state, lane, room);
    if (me == 0 && ROW(r) < v.units) { FINISH_STATE(total, ROW(r), 0) }
  }
)";

constexpr const char* columns_body = R"(
  LOCAL state_t room[DOWN > 1 ? GROUP * PACK : 1];
  const i64 blocks = v.units / v.parts, part = group0 / blocks;
  const i64 own = ((group0 - part * blocks) * TEAM + lane % TEAM) * PACK;
  const i64 column = own < v.outputs ? own : 0;
  const i64 stride = v.reduced_in[v.reduced_rank - 1];
  GLOBAL u8* const p = m0 + (v.from + IN_BYTES * place(column, v.kept, v.kept_in, v.kept_rank));
  const i64 first = part * v.piece;
  const i64 last = first + v.piece < v.count ? first + v.piece : v.count;
  state_t state[PACK];
  UNROLL for (int k = 0; k < PACK; ++k) state[k] = START(p, AT(first) + k, first);
  i64 i = first + lane / TEAM;
  for (; i + (STEPS - 1) * DOWN < last; i += STEPS * DOWN) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(p, AT(i + s * DOWN), x + s * PACK);
    UNROLL for (int s = 0; s < STEPS; ++s)
      UNROLL for (int k = 0; k < PACK; ++k)
        state[k] = visit(state[k], x[s * PACK + k], i + s * DOWN);
  }
  for (; i < last; i += DOWN) {
    acc_t x[PACK];
    take_pack(p, AT(i), x);
    UNROLL for (int k = 0; k < PACK; ++k) state[k] = visit(state[k], x[k], i);
  }
  UNROLL for (int by = DOWN / 2; by > 0; by /= 2) {
    UNROLL for (int k = 0; k < PACK; ++k) room[lane * PACK + k] = state[k];
    BARRIER
    if (lane / TEAM < by)
      UNROLL for (int k = 0; k < PACK; ++k)
        state[k] = join_states(state[k], room[(lane + by * TEAM) * PACK + k]);
    BARRIER
  }
  if (lane < TEAM && own < v.outputs) {
    UNROLL for (int k = 0; k < PACK; ++k) { FINISH_STATE(state[k], column + k, part) }
  }
)";

struct Extent {
  std::int64_t least, wanted, most;
};

// The number of parts of `count` elements, and how many each has: a multiple of `unit`.
void cut(GroupSharing& sharing, std::int64_t count, std::int64_t unit, const Extent& parts) {
  const std::int64_t number =
      std::max({std::int64_t{1}, parts.least, std::min(parts.wanted, parts.most)});
  sharing.piece = ((count + number - 1) / number + unit - 1) / unit * unit;
  sharing.parts = (count + sharing.piece - 1) / sharing.piece;
}

GroupSharing share_columns(std::int64_t busy, const ReductionPlan& plan, GroupText text) {
  const std::int64_t outputs = plan.kept.numel, count = plan.reduced.numel;
  text.form = GroupForm::columns;
  const std::int64_t packs = outputs / text.pack;
  text.team = power_of_two(packs, count < constants::short_column ? usual_group : 32);
  const std::int64_t down = usual_group / text.team;
  GroupSharing sharing;
  sharing.text = text;
  sharing.units = (packs + text.team - 1) / text.team;
  cut(sharing, count, 1,
      {count / (down * constants::chain_of_sum), busy / sharing.units,
       count / (down * text.steps)});
  sharing.groups = sharing.units * sharing.parts;
  return sharing;
}

GroupSharing share_short_rows(const ReductionPlan& plan, GroupText text) {
  const std::int64_t packs = plan.reduced.numel / text.pack;
  text.form = GroupForm::short_rows;
  text.team = power_of_two(packs, 32);
  text.steps = power_of_two((packs + 31) / 32, constants::loads_of_short_row);
  GroupSharing sharing;
  sharing.text = text;
  sharing.units = plan.kept.numel;
  sharing.piece = plan.reduced.numel;
  const unsigned rows_of_group =
      usual_group / text.team * std::max(1u, constants::loads_at_once / text.steps);
  sharing.groups = (sharing.units + rows_of_group - 1) / rows_of_group;
  return sharing;
}

GroupSharing share_rows(std::int64_t busy, const ReductionPlan& plan, GroupText text) {
  const std::int64_t rows = plan.kept.numel, count = plan.reduced.numel;
  const bool begins_anywhere = text.is_flat && text.pack > 1;
  const std::int64_t all = count + (begins_anywhere ? text.pack - 1 : 0);
  const std::int64_t packs = all / text.pack;
  text.form = GroupForm::rows;
  const bool many = rows * 32 >= constants::rounds_if_many * busy * usual_group;
  text.team = packs < constants::packs_of_subgroup ||
                      (many && packs <= constants::packs_of_subgroup_if_many)
                  ? 32
                  : usual_group;
  GroupSharing sharing;
  sharing.text = text;
  sharing.units = rows;
  const std::int64_t at_once = std::int64_t{text.team} * text.pack;
  const std::int64_t groups = (rows * text.team + usual_group - 1) / usual_group;
  cut(sharing, all, at_once,
      {all / (at_once * constants::chain_of_sum), busy / groups, all / (at_once * text.steps)});
  sharing.groups = (rows * sharing.parts * text.team + usual_group - 1) / usual_group;
  return sharing;
}

}  // namespace

unsigned pack_of_lines(Dtype dtype, const ReductionSpace& line, const ReductionSpace& rest,
                       int side, std::int64_t offset) {
  const auto bytes = static_cast<unsigned>(itemsize(dtype));
  unsigned pack = std::clamp(16 / bytes, 1u, 16u);
  if (line.inner_stride(side) != 1) return 1;
  std::int64_t all = line.inner();
  for (int dim = 0; dim < line.rank - 1; ++dim) all |= line.strides[side][dim];
  for (int dim = 0; dim < rest.rank; ++dim) all |= rest.strides[side][dim];
  while (all % pack != 0 || offset % (std::int64_t{pack} * bytes) != 0) pack /= 2;
  return pack;
}

GroupSharing share_among_groups(const Invocation& invocation, const ReductionPlan& plan,
                                Dtype dtype, std::int64_t offset) {
  const ReductionSpace &kept = plan.kept, &reduced = plan.reduced;
  const std::int64_t busy =
      std::min(busy_groups(invocation),
               kept.numel * reduced.numel / (constants::least_of_item * usual_group));
  GroupText text;
  text.is_flat = reduced.rank == 1;
  text.small = plan.is_small();
  const auto step = [](const ReductionSpace& space) {
    return space.inner() > 1 ? std::llabs(space.inner_stride(0)) : INT64_MAX;
  };
  if (kept.numel > 1 && step(kept) < step(reduced)) {
    text.pack =
        std::min(constants::pack_of_columns, pack_of_lines(dtype, kept, reduced, 0, offset));
    return share_columns(busy, plan, text);
  }
  text.pack = pack_of_lines(dtype, reduced, kept, 0, offset);
  if (kept.numel > 1 &&
      reduced.numel <= std::int64_t{32} * constants::loads_of_short_row * text.pack)
    return share_short_rows(plan, text);
  if (text.is_flat && reduced.inner_stride(0) == 1)
    text.pack = static_cast<unsigned>(std::max<std::size_t>(1, 16 / itemsize(dtype)));
  return share_rows(busy, plan, text);
}

GroupLoops group_loops(const Invocation& invocation, const GroupText& text,
                       std::string_view shuffle) {
  const Team team{invocation.device.language(), text.team, usual_group};
  GroupLoops loops;
  const bool is_run = text.pack > 1;
  loops.helpers = team_words(team);
  loops.helpers += fmt::format(
      "#define STEPS {}\n#define ROWS {}\n#define DOWN (GROUP / TEAM)\n#define AT(i) {}\n"
      "#define SKEW(start) {}\n"
      "#define ROW(r) ((group0 * ROWS + (r)) * (GROUP / TEAM) + lane / TEAM)\n",
      text.steps, std::max(1u, constants::loads_at_once / text.steps),
      !text.is_flat ? "place(i, v.reduced, v.reduced_in, v.reduced_rank)"
      : is_run && text.form != GroupForm::columns ? "(i)"
                                                  : "((i) * stride)",
      is_run && text.is_flat ? "((start) % 16 / IN_BYTES)" : "0");
  switch (text.form) {
    case GroupForm::rows: loops.body = rows_body; break;
    case GroupForm::short_rows: loops.body = short_rows_body; break;
    case GroupForm::columns: loops.body = columns_body; return loops;
  }
  loops.helpers += team_join("join_team", team, {"state_t", "join_states", shuffle});
  return loops;
}

}  // namespace bp::codegen
