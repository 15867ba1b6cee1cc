// alone: its texts and their parts have the names that other kinds give to theirs
#include "kinds/group_scan.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/group_reduction.hpp"

namespace bp::codegen {
namespace {

enum class Phase : unsigned { whole, totals, steps };

struct Text {
  Dtype dtype = Dtype::f32, accumulator = Dtype::f32;
  Phase phase = Phase::whole;
  bool columns = false;  // a work-item goes down a column by itself
  bool small = false;    // see Elements
  unsigned pack = 1, steps = 1;
  unsigned team = usual_group;  // work-items for one line; of columns: side by side

  std::uint64_t variant() const {
    std::uint64_t number =
        1u << 8 | index(dtype) << 3 | static_cast<unsigned>(phase) << 1 | columns;
    number = number << 1 | small;
    for (unsigned part : {pack, steps, team}) number = number << 9 | part;
    return number;
  }
};

struct Sharing {
  Text text;
  std::int64_t blocks = 1, groups = 1;  // for all lines of one part; for all parts
  std::int64_t parts = 1, piece = 1;    // of each line
};

constexpr const char* place_of_line = R"(
  GLOBAL u8* const in = m0 + (v.from + IN_BYTES * place(line, v.kept, v.kept_in, v.kept_rank));
  GLOBAL u8* const out = m1 + (v.to + OUT_BYTES * place(line, v.kept, v.kept_out, v.kept_rank));
  const i64 stride = v.reduced_in[0], out_stride = v.out_stride;
  const i64 first = part * v.piece;
  const i64 last = first + v.piece < v.count ? first + v.piece : v.count;
)";

constexpr const char* rows_place = R"(
  LOCAL acc_t room[TEAM_ROOM * STEPS];
  const i64 part = v.parts == 1 ? 0 : group0 / v.blocks, block = group0 - part * v.blocks;
  const i64 own = block * (GROUP / TEAM) + lane / TEAM, line = own < v.outputs ? own : 0;
  const i32 me = lane % TEAM;
)";

constexpr const char* rows_totals = R"(
  acc_t total = IDENTITY;
  i64 i = first + me * PACK;
  for (; i + (STEPS - 1) * TEAM * PACK < last; i += STEPS * TEAM * PACK) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s)
      take_pack(in, AT_IN(i + s * TEAM * PACK), x + s * PACK);
    UNROLL for (int k = 0; k < STEPS * PACK; ++k) total = combine(total, x[k]);
  }
  for (; i < last; i += TEAM * PACK) {
    acc_t x[PACK];
    take_pack(in, AT_IN(i), x);
    UNROLL for (int k = 0; k < PACK; ++k) total = combine(total, x[k]);
  }
  total = join_team(total, lane, room);
  if (me == 0 && own < v.outputs) put_acc(m2 + v.scratch, line * v.parts + part, total);
)";

constexpr const char* rows_before = R"(
  acc_t total = IDENTITY;
  for (i64 k = me; k < part; k += TEAM)
    total = join(total, take_acc(m2 + v.scratch, line * v.parts + k));
  total = join(INITIAL, join_team(total, lane, room));
)";
constexpr const char* nothing_before = "  acc_t total = INITIAL;\n";

// Tile after tile: what several tiles need is on its way before the first of them is looked at.
constexpr const char* rows_steps = R"(
  for (i64 tile = first; tile < last; tile += STEPS * TEAM * PACK) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) {
      const i64 i = tile + (s * TEAM + me) * PACK;
      take_pack(in, AT_IN(i < last ? i : first), x + s * PACK);
    }
    acc_t own_totals[STEPS], before[STEPS];
    UNROLL for (int s = 0; s < STEPS; ++s) {
      acc_t so_far = IDENTITY;
      if (tile + (s * TEAM + me) * PACK < last) {
        UNROLL for (int k = 0; k < PACK; ++k)
          x[s * PACK + k] = so_far = combine(so_far, x[s * PACK + k]);
      }
      own_totals[s] = so_far;
    }
    const acc_t all = scan_team(own_totals, lane, room, before);
    UNROLL for (int s = 0; s < STEPS; ++s) {
      const i64 i = tile + (s * TEAM + me) * PACK;
      before[s] = join(total, before[s]);
      UNROLL for (int k = 0; k < PACK; ++k) x[s * PACK + k] = join(before[s], x[s * PACK + k]);
      if (i < last && own < v.outputs) put_pack(out, AT_OUT(i), x + s * PACK);
    }
    total = join(total, all);
  }
)";

constexpr const char* columns_place = R"(
  const i64 block = group0 % v.blocks, part = group0 / v.blocks * (GROUP / TEAM) + lane / TEAM;
  const i64 line = block * TEAM + lane % TEAM;
  if (line >= v.outputs) return;
)";

constexpr const char* columns_totals = R"(
  acc_t total = IDENTITY;
  i64 i = first;
  for (; i + STEPS <= last; i += STEPS) {
    acc_t x[STEPS];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(in, AT_IN(i + s), x + s);
    UNROLL for (int s = 0; s < STEPS; ++s) total = combine(total, x[s]);
  }
  for (; i < last; ++i) total = combine(total, take(in, AT_IN(i)));
  put_acc(m2 + v.scratch, part * v.outputs + line, total);
)";

constexpr const char* columns_before = R"(
  acc_t total = INITIAL;
  for (i64 k = 0; k < part; ++k)
    total = join(total, take_acc(m2 + v.scratch, k * v.outputs + line));
)";

constexpr const char* columns_steps = R"(
  i64 i = first;
  for (; i + STEPS <= last; i += STEPS) {
    acc_t x[STEPS];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(in, AT_IN(i + s), x + s);
    UNROLL for (int s = 0; s < STEPS; ++s) {
      x[s] = total = combine(total, x[s]);
      put_pack(out, AT_OUT(i + s), x + s);
    }
  }
  for (; i < last; ++i) {
    total = combine(total, take(in, AT_IN(i)));
    put(out, AT_OUT(i), total);
  }
)";

std::string body_of(const Text& text) {
  std::string body = text.columns ? columns_place : rows_place;
  body += place_of_line;
  if (text.phase == Phase::totals) return body + (text.columns ? columns_totals : rows_totals);
  body += text.phase == Phase::whole ? nothing_before : text.columns ? columns_before : rows_before;
  return body + (text.columns ? columns_steps : rows_steps);
}

KernelText make_text(const Operator& op, const Combine& combine, const Text& text,
                     Language language) {
  constexpr const char* phases[] = {"whole", "totals", "steps"};
  const Elements elements{text.dtype, text.dtype, text.accumulator, 1, text.small};
  const Team team{language, text.team, usual_group};
  const Exchanged totals{"acc_t", "join", compute_type(text.accumulator)};
  KernelText kernel;
  kernel.name = kernel_name(op, text.dtype,
                            fmt::format("group_{}_{}", text.columns ? "columns" : "rows",
                                        phases[static_cast<unsigned>(text.phase)]));
  kernel.num_memory = 3;
  kernel.values = plan_fields();
  for (const char* name : {"out_stride", "scratch", "blocks", "piece"})
    kernel.values.push_back({name});
  kernel.group_size = usual_group;
  kernel.helpers = element_functions(elements) + pack_functions(elements, text.pack) +
                   combine_functions(combine, elements, false) + team_words(team) +
                   fmt::format("#define STEPS {}\n#define AT_IN(i) {}\n#define AT_OUT(i) {}\n",
                               text.steps, text.pack > 1 ? "(i)" : "((i) * stride)",
                               text.pack > 1 ? "(i)" : "((i) * out_stride)");
  if (!text.columns && text.phase != Phase::whole)
    kernel.helpers += team_join("join_team", team, totals);
  if (!text.columns && text.phase != Phase::totals)
    kernel.helpers += team_scan("scan_team", team, totals, "IDENTITY", text.steps);
  kernel.body = body_of(text);
  return kernel;
}

Sharing share_columns(const Invocation& invocation, const ReductionPlan& plan, Text text) {
  const std::int64_t lines = plan.kept.numel, count = plan.reduced.numel;
  const std::int64_t items =
      busy_groups(invocation) / constants::fewer_groups_of_columns * usual_group;
  Sharing sharing;
  text.steps = constants::loads_of_scan_column;
  text.team = usual_group;
  sharing.piece = count;
  const std::int64_t parts = std::min(
      {items / lines, constants::most_parts_of_scan, count / constants::least_part_of_scan});
  if (parts > 1) text.team = power_of_two(lines, 32);
  const std::int64_t side_by_side = usual_group / text.team;
  if (parts > 1) {
    sharing.parts = (parts + side_by_side - 1) / side_by_side * side_by_side;
    sharing.piece = (count + sharing.parts - 1) / sharing.parts;  // the last may be empty
  }
  sharing.blocks = (lines + text.team - 1) / text.team;
  sharing.groups = sharing.blocks * ((sharing.parts + side_by_side - 1) / side_by_side);
  sharing.text = text;
  return sharing;
}

Sharing share_rows(const Invocation& invocation, const ReductionPlan& plan, Text text) {
  const std::int64_t lines = plan.kept.numel, count = plan.reduced.numel;
  const std::int64_t packs = (count + text.pack - 1) / text.pack;
  const bool many = lines >= constants::scan_rounds_if_many * busy_groups(invocation);
  Sharing sharing;
  text.team = packs <= 32 || (many && packs <= constants::scanned_packs_of_subgroup)
                  ? power_of_two(packs, 32)
                  : usual_group;
  text.steps = power_of_two(packs / text.team, constants::loads_at_once);
  const std::int64_t lines_of_group = usual_group / text.team;
  sharing.blocks = (lines + lines_of_group - 1) / lines_of_group;
  const std::int64_t tile = std::int64_t{text.team} * text.pack * text.steps;
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min(busy_groups(invocation) / sharing.blocks, count / tile));
  sharing.piece = ((count + parts - 1) / parts + tile - 1) / tile * tile;
  sharing.parts = (count + sharing.piece - 1) / sharing.piece;
  sharing.groups = sharing.blocks * sharing.parts;
  sharing.text = text;
  return sharing;
}

Sharing share(const Invocation& invocation, const ReductionPlan& plan, Text text) {
  const ReductionSpace &kept = plan.kept, &line = plan.reduced;
  const bp_tensor &in = invocation.tensor(0), &out = invocation.output();
  const auto step = [](const ReductionSpace& space, int side) {
    return space.inner() > 1 ? std::llabs(space.inner_stride(side)) : INT64_MAX;
  };
  text.columns = kept.numel > 1 && step(kept, 0) < step(line, 0) && step(kept, 1) < step(line, 1);
  if (text.columns) return share_columns(invocation, plan, text);
  text.pack = std::min(pack_of_lines(text.dtype, line, kept, 0, offset_of(in)),
                       pack_of_lines(text.dtype, line, kept, 1, offset_of(out)));
  return share_rows(invocation, plan, text);
}

}  // namespace

void scan_in_groups(const Operator& op, const Combine& combine, Dtype accumulator,
                    Invocation& invocation, const ReductionPlan& plan) {
  const bp_tensor &in = invocation.tensor(0), &out = invocation.output();
  Text text;
  text.dtype = static_cast<Dtype>(in.dtype);
  text.accumulator = accumulator;
  text.small = plan.is_small();
  const Sharing sharing = share(invocation, plan, text);
  text = sharing.text;
  bp_region scratch{};
  scratch.handle = handle_of(out);
  if (sharing.parts > 1)
    scratch = invocation.scratch(static_cast<std::uint64_t>(plan.kept.numel * sharing.parts) *
                                 itemsize(accumulator));
  const auto launch = [&](Phase phase) {
    text.phase = phase;
    bp_function* function = invocation.function(
        text.variant(), [&] { return make_text(op, combine, text, invocation.device.language()); });
    Values values =
        plan_values(plan, {offset_of(in), offset_of(out), plan.kept.numel, sharing.parts});
    values.add(plan.reduced.strides[1][0]).add(static_cast<std::int64_t>(scratch.offset));
    values.add(sharing.blocks).add(sharing.piece);
    invocation.launch(function, grid_of_groups(sharing.groups, usual_group),
                      {handle_of(in), handle_of(out), scratch.handle}, values);
  };
  if (sharing.parts == 1) return launch(Phase::whole);
  launch(Phase::totals);
  launch(Phase::steps);
}

}  // namespace bp::codegen
