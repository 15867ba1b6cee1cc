// alone: its texts and their parts have the names that other kinds give to theirs
// Rows of a normalization on devices of GPU shape, where groups of work-items share them (decision 0014): a row
// that its team holds in registers is read once; a longer one twice, in parts.
#include "kinds/group_norm.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"

namespace bp::codegen {
namespace {

enum class Phase : unsigned { held, sums, results };

constexpr const char* place_of_row = R"(
  const i32 me = lane % TEAM;
  const i64 own = OWN, row = own < v.rows ? own : 0;
  const acc_t count = (acc_t)v.count;
  GLOBAL u8* const a = A(row);
  GLOBAL u8* const out = OUT(row);
)";

// What is behind the end counts as 0. With one room for both joins, PoCL 3.1 mixes up groups of several teams.
constexpr const char* held_forward = R"(
  LOCAL sums_t first_room[TEAM_ROOM];
  LOCAL sums_t second_room[TEAM_ROOM];
  acc_t x[STEPS * PACK];
  UNROLL for (int s = 0; s < STEPS; ++s) {
    UNROLL for (int k = 0; k < PACK; ++k) x[s * PACK + k] = 0;
    if (AT(s) < v.count) take_pack(a, AT(s), x + s * PACK);
  }
  sums_t sums = { 0, 0 };
  acc_t mean = 0;
  if (CENTERS) {
    UNROLL for (int k = 0; k < STEPS * PACK; ++k) sums.x += x[k];
    mean = join_of_team(sums, lane, first_room).x / count;
    sums.x = 0;
  }
  UNROLL for (int s = 0; s < STEPS; ++s)
    if (AT(s) < v.count)
      UNROLL for (int k = 0; k < PACK; ++k) {
        const acc_t d = x[s * PACK + k] - mean;
        if (CENTERS) sums.x += d;
        sums.y += d * d;
      }
  const statistics_t of_row = statistics_of(mean, join_of_team(sums, lane, second_room), count, EPS);
  if (me == 0 && own < v.rows) put_statistics(MEANS, RSTDS, row, of_row);
  UNROLL for (int s = 0; s < STEPS; ++s)
    if (AT(s) < v.count && own < v.rows) put_result(out, AT(s), x + s * PACK, of_row, WEIGHT, BIAS);
)";

constexpr const char* result_function = R"(
DEVICE void put_result(GLOBAL u8* out, i64 at, acc_t* x, statistics_t s, GLOBAL u8* weight,
                       GLOBAL u8* bias) {
  acc_t w[PACK], b[PACK];
  if (HAS_WEIGHT) take_pack(weight, at, w);
  if (HAS_BIAS) take_pack(bias, at, b);
  UNROLL for (int k = 0; k < PACK; ++k) x[k] = SHIFTED(WEIGHTED(NORMALIZED(x[k], s), w[k]), b[k]);
  put_pack(out, at, x);
}
)";

constexpr const char* held_backward = R"(
  LOCAL sums_t room[TEAM_ROOM];
  GLOBAL u8* const grad = GRAD(row);
  acc_t x[STEPS * PACK], g[STEPS * PACK];
  UNROLL for (int s = 0; s < STEPS; ++s) {
    UNROLL for (int k = 0; k < PACK; ++k) x[s * PACK + k] = g[s * PACK + k] = 0;
    if (AT(s) < v.count) take_pack(a, AT(s), x + s * PACK);
    if (AT(s) < v.count) take_pack(grad, AT(s), g + s * PACK);
  }
  const statistics_t of_row = take_statistics(MEANS, RSTDS, row);
  sums_t sums = { 0, 0 };
  UNROLL for (int s = 0; s < STEPS; ++s)
    if (AT(s) < v.count)
      sums = add_sums(sums, products_of(x + s * PACK, g + s * PACK, of_row, WEIGHT, AT(s)));
  sums = join_of_team(sums, lane, room);
  sums.x /= count;
  sums.y /= count;
  UNROLL for (int s = 0; s < STEPS; ++s)
    if (AT(s) < v.count && own < v.rows) put_gradient(out, AT(s), x + s * PACK, g + s * PACK, of_row, sums);
)";

// All that a part knows of its elements, less `shift`: how many there are, their mean, and the mean square of
// their distance from it; of rms_norm, from 0.
constexpr const char* moments_functions = R"(
typedef struct { acc_t number, mean, spread; } moments_t;
DEVICE moments_t join_moments(moments_t a, moments_t b) {
  moments_t s;
  s.number = a.number + b.number;
  const acc_t share = s.number > 0 ? b.number / s.number : 0, apart = b.mean - a.mean;
  s.mean = a.mean + apart * share;
  s.spread = a.spread + (b.spread - a.spread) * share;
  if (CENTERS) s.spread += apart * apart * (share * (1 - share));
  return s;
}
DEVICE moments_t take_in(moments_t state, acc_t shift, const acc_t* x, int count) {
  moments_t s = { (acc_t)count, 0, 0 };
  if (CENTERS) {
    UNROLL for (int k = 0; k < count; ++k) s.mean += x[k] - shift;
    s.mean /= (acc_t)count;
  }
  UNROLL for (int k = 0; k < count; ++k) {
    const acc_t d = x[k] - shift - s.mean;
    s.spread += d * d;
  }
  s.spread /= (acc_t)count;
  return join_moments(state, s);
}
#define KEPT(part, field) (((row * v.parts) + (part)) * 3 + (field))
)";

// Where a row is far from 0, its first element takes most of that away.
constexpr const char* sums_forward = R"(
  LOCAL moments_t room[ROOM];
  const acc_t shift = CENTERS ? take(a, 0) : 0;
  moments_t state = { 0, 0, 0 };
  i64 i = part * v.piece + me * PACK;
  for (; i + (STEPS - 1) * BY < last; i += STEPS * BY) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(a, i + s * BY, x + s * PACK);
    state = take_in(state, shift, x, STEPS * PACK);
  }
  for (; i < last; i += BY) {
    acc_t x[PACK];
    take_pack(a, i, x);
    state = take_in(state, shift, x, PACK);
  }
  state = join_in_order(state, lane, room);
  if (me == 0) {
    put_acc(SCRATCH, KEPT(part, 0), state.number);
    put_acc(SCRATCH, KEPT(part, 1), state.mean);
    put_acc(SCRATCH, KEPT(part, 2), state.spread);
  }
)";

constexpr const char* results_forward = R"(
  LOCAL moments_t room[ROOM];
  const acc_t shift = CENTERS ? take(a, 0) : 0;
  moments_t state = { 0, 0, 0 };
  for (i64 k = me; k < v.parts; k += TEAM) {
    moments_t other;
    other.number = take_acc(SCRATCH, KEPT(k, 0));
    other.mean = take_acc(SCRATCH, KEPT(k, 1));
    other.spread = take_acc(SCRATCH, KEPT(k, 2));
    state = join_moments(state, other);
  }
  state = join_in_order(state, lane, room);
  statistics_t of_row;
  of_row.mean = shift + state.mean;
  of_row.lost = state.mean - (of_row.mean - shift);
  of_row.rstd = 1 / sqrt(state.spread + EPS);
  if (me == 0 && part == 0) put_statistics(MEANS, RSTDS, row, of_row);
  KEEP_LOOP for (i64 i = part * v.piece + me * PACK; i < last; i += STEPS * BY) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (i + s * BY < last) take_pack(a, i + s * BY, x + s * PACK);
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (i + s * BY < last) put_result(out, i + s * BY, x + s * PACK, of_row, WEIGHT, BIAS);
  }
)";

constexpr const char* sums_backward = R"(
  LOCAL sums_t room[TEAM_ROOM];
  GLOBAL u8* const grad = GRAD(row);
  const statistics_t of_row = take_statistics(MEANS, RSTDS, row);
  sums_t sums = { 0, 0 };
  KEEP_LOOP for (i64 i = part * v.piece + me * PACK; i < last; i += STEPS * BY) {
    acc_t x[STEPS * PACK], g[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (i + s * BY < last) {
        take_pack(a, i + s * BY, x + s * PACK);
        take_pack(grad, i + s * BY, g + s * PACK);
      }
    sums_t block = { 0, 0 };
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (i + s * BY < last)
        block = add_sums(block,
                         products_of(x + s * PACK, g + s * PACK, of_row, WEIGHT, i + s * BY));
    sums = add_sums(sums, block);
  }
  sums = join_of_team(sums, lane, room);
  if (me == 0) {
    put_acc(SCRATCH, 2 * (row * v.parts + part), sums.x);
    put_acc(SCRATCH, 2 * (row * v.parts + part) + 1, sums.y);
  }
)";

constexpr const char* results_backward = R"(
  LOCAL sums_t room[TEAM_ROOM];
  GLOBAL u8* const grad = GRAD(row);
  const statistics_t of_row = take_statistics(MEANS, RSTDS, row);
  sums_t sums = { 0, 0 };
  for (i64 k = me; k < v.parts; k += TEAM) {
    sums.x += take_acc(SCRATCH, 2 * (row * v.parts + k));
    sums.y += take_acc(SCRATCH, 2 * (row * v.parts + k) + 1);
  }
  sums = join_of_team(sums, lane, room);
  sums.x /= count;
  sums.y /= count;
  KEEP_LOOP for (i64 i = part * v.piece + me * PACK; i < last; i += STEPS * BY) {
    acc_t x[STEPS * PACK], g[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (i + s * BY < last) {
        take_pack(a, i + s * BY, x + s * PACK);
        take_pack(grad, i + s * BY, g + s * PACK);
      }
    UNROLL for (int s = 0; s < STEPS; ++s)
      if (i + s * BY < last) {
        products_of(x + s * PACK, g + s * PACK, of_row, WEIGHT, i + s * BY);
        put_gradient(out, i + s * BY, x + s * PACK, g + s * PACK, of_row, sums);
      }
  }
)";

constexpr const char* bounds_of_part = R"(
  const i64 part = group0 % v.parts;
  const i64 last = (part + 1) * v.piece < v.count ? (part + 1) * v.piece : v.count;
)";

// In the order of the team's members, so that all of them know the same bits: joining moments is not symmetric
// in the last of them.
constexpr const char* ordered_join = R"(
DEVICE moments_t join_in_order(moments_t x, i32 lane, IN_LOCAL moments_t* room) {
  BARRIER
  room[lane] = x;
  UNROLL for (int by = TEAM / 2; by > 0; by /= 2) {
    BARRIER
    if (lane < by) room[lane] = join_moments(room[lane], room[lane + by]);
  }
  BARRIER
  return room[0];
}
)";

struct Text {
  Phase phase = Phase::held;
  TeamOfRow team;

  std::uint64_t variant(const NormCall& call) const {
    return (std::uint64_t{8} + static_cast<unsigned>(phase)) << 56 | team.number() << 12 |
           call.number();
  }
};

KernelText make_text(const NormCall& call, const Text& text, Language language) {
  constexpr const char* phases[] = {"held", "sums", "results"};
  const bool is_held = text.phase == Phase::held;
  KernelText kernel = norm_text(
      call, fmt::format("{}_{}", phases[static_cast<unsigned>(text.phase)], text.team.team));
  kernel.group_size = text.team.group;
  kernel.helpers += text_of_team(call, text.team, language);
  kernel.helpers += is_held ? "#define OWN (group0 * (GROUP / TEAM) + lane / TEAM)\n"
                            : "#define OWN (group0 / v.parts)\n#define ROOM GROUP\n";
  kernel.body = place_of_row;
  if (!is_held) kernel.body += bounds_of_part;
  if (call.is_backward) {
    kernel.body += is_held                     ? held_backward
                   : text.phase == Phase::sums ? sums_backward
                                               : results_backward;
    return kernel;
  }
  kernel.helpers += result_function;
  if (!is_held) kernel.helpers = kernel.helpers + moments_functions + ordered_join;
  kernel.body += is_held                     ? held_forward
                 : text.phase == Phase::sums ? sums_forward
                                             : results_forward;
  return kernel;
}

void launch(Invocation& invocation, const NormCall& call, const Text& text, std::int64_t groups,
            const NormLaunch& launch) {
  bp_function* function = invocation.function(
      text.variant(call), [&] { return make_text(call, text, invocation.device.language()); });
  launch_norm(invocation, call, function, grid_of_groups(groups, text.team.group), launch);
}

void norm_in_parts(Invocation& invocation, const NormCall& call) {
  Text text;
  text.team.pack = pack_of_rows(call);
  text.team.team = text.team.group = usual_group;
  text.team.steps = call.is_backward ? constants::loads_at_once / 2 : constants::loads_at_once;
  const std::int64_t at_once = std::int64_t{usual_group} * text.team.pack;
  const std::int64_t parts = std::max<std::int64_t>(
      1, std::min(busy_groups(invocation) / call.rows, call.count / (at_once * text.team.steps)));
  NormLaunch shared;
  shared.piece = ((call.count + parts - 1) / parts + at_once - 1) / at_once * at_once;
  shared.parts = (call.count + shared.piece - 1) / shared.piece;
  shared.scratch = invocation.scratch(3 * static_cast<std::uint64_t>(call.rows * shared.parts) *
                                      itemsize(call.accumulator()));
  for (const Phase phase : {Phase::sums, Phase::results}) {
    text.phase = phase;
    launch(invocation, call, text, call.rows * shared.parts, shared);
  }
}

}  // namespace

void norm_in_groups(Invocation& invocation, const NormCall& call) {
  // Backward there are two tensors to hold.
  const unsigned most_bytes = call.is_backward ? constants::held_bytes / 2 : constants::held_bytes;
  const std::optional<TeamOfRow> team = team_that_holds(invocation, call, most_bytes);
  if (!team) return norm_in_parts(invocation, call);
  const std::int64_t rows_of_group = team->group / team->team;
  launch(invocation, call, {Phase::held, *team}, (call.rows + rows_of_group - 1) / rows_of_group,
         {});
}

}  // namespace bp::codegen
