// alone: its texts and their parts have the names that other kinds give to theirs
#include "kinds/group_softmax.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/group_reduction.hpp"

namespace bp::codegen {
namespace {

enum class Phase : unsigned {
  held,     // a line is in the registers of its team: read once, written once
  sums,     // each part's largest element and sum, to scratch
  results,  // from those of all parts
};

struct Text {
  Dtype dtype = Dtype::f32;
  Phase phase = Phase::held;
  bool columns =
      false;           // neighbours have neighbouring lines, and a line's elements are a team apart
  bool small = false;  // see Elements
  unsigned pack = 1, steps = 1;
  unsigned team = 1;  // work-items for one line; of columns: side by side
  unsigned group = usual_group;

  std::uint64_t variant() const {
    std::uint64_t number =
        1u << 8 | index(dtype) << 3 | static_cast<unsigned>(phase) << 1 | columns;
    number = number << 1 | small;
    for (unsigned part : {pack, steps, team, group}) number = number << 11 | part;
    return number;
  }
};

struct Sharing {
  Text text;
  std::int64_t blocks = 1;            // groups for all lines
  std::int64_t parts = 1, piece = 1;  // of each line
};

constexpr const char* rows_words = R"(
#define OWN (block * (GROUP / TEAM) + lane / TEAM)
#define BEGIN ((lane % TEAM) * PACK)
#define BY (TEAM * PACK)
#define ROOM TEAM_ROOM
)";
constexpr const char* columns_words = R"(
#define OWN (block * TEAM + lane % TEAM)
#define BEGIN (lane / TEAM)
#define BY (GROUP / TEAM)
#define ROOM GROUP
)";

// Sums with what their rounding lost: equal terms are rounded to the same side again and again.
constexpr const char* sum_functions = R"(
typedef struct { acc_t sum, lost; } sum_t;
DEVICE sum_t add_to(sum_t s, acc_t x) {
  const acc_t with = s.sum + x, part = with - s.sum;
  s.lost += (s.sum - (with - part)) + (x - part);
  s.sum = with;
  return s;
}
DEVICE sum_t join_sums(sum_t a, sum_t b) {
  const acc_t lost = a.lost + b.lost;
  sum_t s = { a.sum, 0 };
  s = add_to(s, b.sum);
  s.lost += lost;
  return s;
}
DEVICE acc_t larger(acc_t a, acc_t b) { return fmax(a, b); }
)";
constexpr const char* shuffled_sums =
    "DEVICE sum_t shuffle_xor_sums(sum_t x, i32 by) {{\n"
    "  sum_t y; y.sum = shuffle_xor_{0}(x.sum, by); y.lost = shuffle_xor_{0}(x.lost, by);\n"
    "  return y;\n}}\n";

constexpr const char* place_of_line = R"(
  const i64 part = v.parts == 1 ? 0 : group0 / v.blocks, block = group0 - part * v.blocks;
  const i64 own = OWN, line = own < v.outputs ? own : 0;
  const i64 stride = v.reduced_in[0], out_stride = v.out_stride;
  GLOBAL u8* const in = m0 + (v.from + IN_BYTES * place(line, v.kept, v.kept_in, v.kept_rank));
  GLOBAL u8* const out = m1 + (v.to + OUT_BYTES * place(line, v.kept, v.kept_out, v.kept_rank));
)";

constexpr const char* held_body = R"(
  LOCAL acc_t room[ROOM];
  LOCAL sum_t sums[ROOM];
  acc_t x[STEPS * PACK];
  UNROLL for (int s = 0; s < STEPS; ++s) {
    const i64 at = BEGIN + s * BY;
    UNROLL for (int k = 0; k < PACK; ++k) x[s * PACK + k] = -INFINITY;
    if (at < v.count) take_pack(in, AT_IN(at), x + s * PACK);
  }
  acc_t largest = x[0];
  UNROLL for (int k = 1; k < STEPS * PACK; ++k) largest = fmax(largest, x[k]);
  largest = largest_of_team(largest, lane, room);
  sum_t sum = { 0, 0 };
  UNROLL for (int k = 0; k < STEPS * PACK; ++k) {
    x[k] -= largest;
    sum = add_to(sum, TERM(x[k]));
  }
  sum = sum_of_team(sum, lane, sums);
  FACTOR(factor, sum)
  UNROLL for (int s = 0; s < STEPS; ++s) {
    const i64 at = BEGIN + s * BY;
    UNROLL for (int k = 0; k < PACK; ++k) x[s * PACK + k] = RESULT(x[s * PACK + k], factor);
    if (at < v.count && own < v.outputs) put_pack(out, AT_OUT(at), x + s * PACK);
  }
)";

// A sum of terms over e^largest. Where nothing has been seen but -infinity, terms are not shifted, and are 0.
constexpr const char* online_functions = R"(
typedef struct { acc_t largest; sum_t of; } online_t;
DEVICE acc_t scale_between(acc_t from, acc_t to) {
  return from == to ? (acc_t)1 : from == -INFINITY ? (acc_t)0 : exp(from - to);
}
DEVICE sum_t scaled(sum_t s, acc_t by) {
  s.sum *= by;
  s.lost *= by;
  return s;
}
DEVICE online_t join_online(online_t a, online_t b) {
  online_t s;
  s.largest = fmax(a.largest, b.largest);
  s.of = join_sums(scaled(a.of, scale_between(a.largest, s.largest)),
                   scaled(b.of, scale_between(b.largest, s.largest)));
  return s;
}
DEVICE online_t take_in(online_t s, const acc_t* x, int count) {
  acc_t largest = s.largest;
  UNROLL for (int k = 0; k < count; ++k) largest = fmax(largest, x[k]);
  const acc_t shift = largest == -INFINITY ? (acc_t)0 : largest;
  s.of = scaled(s.of, scale_between(s.largest, largest));
  UNROLL for (int k = 0; k < count; ++k) s.of = add_to(s.of, exp(x[k] - shift));
  s.largest = largest;
  return s;
}
#define KEPT(part, field) ((((part) * v.outputs) + line) * 3 + (field))
)";
constexpr const char* shuffled_online =
    "DEVICE online_t shuffle_xor_online(online_t x, i32 by) {{\n"
    "  online_t y; y.largest = shuffle_xor_{}(x.largest, by); y.of = shuffle_xor_sums(x.of, by);\n"
    "  return y;\n}}\n";

constexpr const char* sums_body = R"(
  LOCAL online_t room[ROOM];
  const i64 last = (part + 1) * v.piece < v.count ? (part + 1) * v.piece : v.count;
  online_t state = { -INFINITY, { 0, 0 } };
  i64 i = part * v.piece + BEGIN;
  for (; i + (STEPS - 1) * BY < last; i += STEPS * BY) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(in, AT_IN(i + s * BY), x + s * PACK);
    state = take_in(state, x, STEPS * PACK);
  }
  for (; i < last; i += BY) {
    acc_t x[PACK];
    take_pack(in, AT_IN(i), x);
    state = take_in(state, x, PACK);
  }
  state = join_of_team(state, lane, room);
  if (BEGIN == 0 && own < v.outputs) {
    put_acc(m2 + v.scratch, KEPT(part, 0), state.largest);
    put_acc(m2 + v.scratch, KEPT(part, 1), state.of.sum);
    put_acc(m2 + v.scratch, KEPT(part, 2), state.of.lost);
  }
)";

constexpr const char* results_body = R"(
  LOCAL online_t room[ROOM];
  online_t state = { -INFINITY, { 0, 0 } };
  for (i64 k = BEGIN / PACK; k < v.parts; k += BY / PACK) {
    online_t other;
    other.largest = take_acc(m2 + v.scratch, KEPT(k, 0));
    other.of.sum = take_acc(m2 + v.scratch, KEPT(k, 1));
    other.of.lost = take_acc(m2 + v.scratch, KEPT(k, 2));
    state = join_online(state, other);
  }
  state = join_of_team(state, lane, room);
  if (own >= v.outputs) return;
  const acc_t largest = state.largest;
  const sum_t sum = state.of;
  FACTOR(factor, sum)
  const i64 last = (part + 1) * v.piece < v.count ? (part + 1) * v.piece : v.count;
  i64 i = part * v.piece + BEGIN;
  for (; i + (STEPS - 1) * BY < last; i += STEPS * BY) {
    acc_t x[STEPS * PACK];
    UNROLL for (int s = 0; s < STEPS; ++s) take_pack(in, AT_IN(i + s * BY), x + s * PACK);
    UNROLL for (int k = 0; k < STEPS * PACK; ++k) x[k] = RESULT_OF(x[k] - largest, factor);
    UNROLL for (int s = 0; s < STEPS; ++s) put_pack(out, AT_OUT(i + s * BY), x + s * PACK);
  }
  for (; i < last; i += BY) {
    acc_t x[PACK];
    take_pack(in, AT_IN(i), x);
    UNROLL for (int k = 0; k < PACK; ++k) x[k] = RESULT_OF(x[k] - largest, factor);
    put_pack(out, AT_OUT(i), x);
  }
)";

// TERM replaces the shifted element by what RESULT needs of it.
constexpr const char* softmax_words = R"(
#define TERM(x) (x = exp(x))
#define FACTOR(name, s) const acc_t name = 1 / (s.sum + s.lost);
#define RESULT(x, factor) ((x) * (factor))
#define RESULT_OF(x, factor) (exp(x) * (factor))
)";
constexpr const char* log_softmax_words = R"(
#define TERM(x) exp(x)
#define FACTOR(name, s) const acc_t name = log(s.sum) + s.lost / s.sum;
#define RESULT(x, factor) ((x) - (factor))
#define RESULT_OF(x, factor) ((x) - (factor))
)";

std::string joins_of(const Text& text, const Team& team, Dtype accumulator) {
  const auto join = text.columns ? column_join : team_join;
  const std::string_view type = compute_type(accumulator);
  std::string made = sum_functions;
  const bool shuffles = team.language == Language::cuda_cxx && !text.columns;
  if (shuffles) made += fmt::format(fmt::runtime(shuffled_sums), type);
  if (text.phase == Phase::held)
    return made + join("largest_of_team", team, {"acc_t", "larger", type}) +
           join("sum_of_team", team, {"sum_t", "join_sums", "sums"});
  made += online_functions;
  if (shuffles) made += fmt::format(fmt::runtime(shuffled_online), type);
  return made + join("join_of_team", team, {"online_t", "join_online", "online"});
}

KernelText make_text(const Operator& op, bool log, const Text& text, Language language) {
  constexpr const char* phases[] = {"held", "sums", "results"};
  const Dtype accumulator = accumulator_of(text.dtype);
  const Elements elements{text.dtype, text.dtype, accumulator, 1, text.small};
  const Team team{language, text.team, text.group};
  KernelText kernel;
  kernel.name = kernel_name(op, text.dtype,
                            fmt::format("{}_{}_{}", phases[static_cast<unsigned>(text.phase)],
                                        text.columns ? "columns" : "rows", text.team));
  kernel.num_memory = 3;
  kernel.values = plan_fields();
  for (const char* name : {"out_stride", "scratch", "blocks", "piece"})
    kernel.values.push_back({name});
  kernel.group_size = text.group;
  kernel.helpers = element_functions(elements) + pack_functions(elements, text.pack) +
                   team_words(team) + (text.columns ? columns_words : rows_words) +
                   fmt::format("#define STEPS {}\n#define AT_IN(i) {}\n#define AT_OUT(i) {}\n",
                               text.steps, text.pack > 1 ? "(i)" : "((i) * stride)",
                               text.pack > 1 ? "(i)" : "((i) * out_stride)") +
                   joins_of(text, team, accumulator) + (log ? log_softmax_words : softmax_words);
  kernel.body = place_of_line;
  kernel.body += text.phase == Phase::held   ? held_body
                 : text.phase == Phase::sums ? sums_body
                                             : results_body;
  return kernel;
}

// The narrowest team that holds a line; false if none does.
bool hold_row(const Invocation& invocation, std::int64_t count, unsigned most_steps, Text& text) {
  const std::int64_t packs = (count + text.pack - 1) / text.pack;
  if (packs <= std::int64_t{32} * most_steps) {
    text.team = power_of_two((packs + constants::loads_at_once - 1) / constants::loads_at_once, 32);
  } else {
    text.team = usual_group;
    while (packs > std::int64_t{text.team} * most_steps) text.team *= 2;
    if (text.team > constants::largest_group || !has_groups(invocation, text.team)) return false;
    text.group = text.team;
  }
  text.steps = power_of_two((packs + text.team - 1) / text.team, most_steps);
  return true;
}

bool hold_column(const Invocation& invocation, std::int64_t lines, std::int64_t count,
                 unsigned most_steps, Text& text) {
  for (const unsigned group : {usual_group, constants::largest_group}) {
    for (const unsigned across : {usual_group, 32u}) {
      text.team = power_of_two(lines, across);
      const std::int64_t down = group / text.team, steps = (count + down - 1) / down;
      if (steps > most_steps || !has_groups(invocation, group)) continue;
      text.group = group;
      text.steps = power_of_two(steps, most_steps);
      return true;
    }
  }
  return false;
}

Sharing share(const Invocation& invocation, const ReductionPlan& plan, Text text) {
  const std::int64_t lines = plan.kept.numel, count = plan.reduced.numel;
  const auto bytes = static_cast<unsigned>(itemsize(accumulator_of(text.dtype)));
  const unsigned most_steps = std::max(1u, constants::held_bytes / bytes / text.pack);
  Sharing sharing;
  sharing.piece = count;
  if (text.columns ? hold_column(invocation, lines, count, most_steps, text)
                   : hold_row(invocation, count, most_steps, text)) {
    const std::int64_t lines_of_group = text.columns ? text.team : text.group / text.team;
    sharing.blocks = (lines + lines_of_group - 1) / lines_of_group;
    sharing.text = text;
    return sharing;
  }
  text.group = usual_group;
  text.phase = Phase::sums;
  text.team = text.columns ? power_of_two(lines, 32) : usual_group;
  text.steps = constants::loads_at_once;
  const std::int64_t down = text.columns ? text.group / text.team : text.team * text.pack;
  sharing.blocks = text.columns ? (lines + text.team - 1) / text.team : lines;
  const std::int64_t wanted =
      std::min(busy_groups(invocation) / sharing.blocks, count / (down * text.steps));
  const std::int64_t parts = std::max<std::int64_t>(1, wanted);
  sharing.piece = ((count + parts - 1) / parts + down - 1) / down * down;
  sharing.parts = (count + sharing.piece - 1) / sharing.piece;
  sharing.text = text;
  return sharing;
}

Text text_of(const ReductionPlan& plan, const bp_tensor& in, const bp_tensor& out) {
  const ReductionSpace &kept = plan.kept, &line = plan.reduced;
  Text text;
  text.dtype = static_cast<Dtype>(in.dtype);
  text.small = plan.is_small();
  const auto step = [](const ReductionSpace& space, int side) {
    return space.inner() > 1 ? std::llabs(space.inner_stride(side)) : INT64_MAX;
  };
  text.columns = kept.numel > 1 && step(kept, 0) < step(line, 0) && step(kept, 1) < step(line, 1);
  if (!text.columns)
    text.pack = std::min(pack_of_lines(text.dtype, line, kept, 0, offset_of(in)),
                         pack_of_lines(text.dtype, line, kept, 1, offset_of(out)));
  return text;
}

}  // namespace

void softmax_in_groups(const Operator& op, bool log, Invocation& invocation,
                       const ReductionPlan& plan) {
  const bp_tensor &in = invocation.tensor(0), &out = invocation.output();
  const Sharing sharing = share(invocation, plan, text_of(plan, in, out));
  bp_region scratch{};
  scratch.handle = handle_of(out);
  Text text = sharing.text;
  if (text.phase == Phase::sums)
    scratch = invocation.scratch(3 * static_cast<std::uint64_t>(plan.kept.numel * sharing.parts) *
                                 itemsize(accumulator_of(text.dtype)));
  const auto launch = [&](Phase phase) {
    text.phase = phase;
    bp_function* function = invocation.function(
        text.variant(), [&] { return make_text(op, log, text, invocation.device.language()); });
    Values values =
        plan_values(plan, {offset_of(in), offset_of(out), plan.kept.numel, sharing.parts});
    values.add(plan.reduced.strides[1][0]).add(static_cast<std::int64_t>(scratch.offset));
    values.add(sharing.blocks).add(sharing.piece);
    invocation.launch(function, grid_of_groups(sharing.blocks * sharing.parts, text.group),
                      {handle_of(in), handle_of(out), scratch.handle}, values);
  };
  if (text.phase == Phase::held) return launch(Phase::held);
  launch(Phase::sums);
  launch(Phase::results);
}

}  // namespace bp::codegen
