// alone: its texts and their parts have the names that other kinds give to theirs
#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/group_norm.hpp"

namespace bp::codegen {
namespace {

constexpr const char* shuffled_sums =
    "DEVICE sums_t shuffle_xor_sums(sums_t s, i32 by) {{\n"
    "  sums_t t; t.x = shuffle_xor_{0}(s.x, by); t.y = shuffle_xor_{0}(s.y, by);\n"
    "  return t;\n}}\n";

constexpr const char* backward_functions = R"(
DEVICE sums_t products_of(acc_t* x, acc_t* g, statistics_t s, GLOBAL u8* weight, i64 at) {
  acc_t w[PACK];
  if (HAS_WEIGHT) take_pack(weight, at, w);
  sums_t sums = { 0, 0 };
  UNROLL for (int k = 0; k < PACK; ++k) {
    x[k] = NORMALIZED(x[k], s);
    g[k] = WEIGHTED(g[k], w[k]);
    if (CENTERS) sums.x += g[k];
    sums.y += g[k] * x[k];
  }
  return sums;
}
DEVICE void put_gradient(GLOBAL u8* out, i64 at, acc_t* x, const acc_t* g, statistics_t s,
                         sums_t sums) {
  UNROLL for (int k = 0; k < PACK; ++k) x[k] = GRADIENT(g[k], x[k], s, sums);
  put_pack(out, at, x);
}
)";

}  // namespace

unsigned pack_of_rows(const NormCall& call) {
  const auto bytes = static_cast<std::int64_t>(itemsize(call.dtype));
  std::int64_t pack = 16 / bytes, offsets = 0;
  for (const bp_tensor* each : {call.a, call.out, call.weight, call.other})
    if (each) offsets |= offset_of(*each);
  while (call.count % pack != 0 || offsets % (pack * bytes) != 0) pack /= 2;
  return static_cast<unsigned>(pack);
}

std::optional<TeamOfRow> team_that_holds(const Invocation& invocation, const NormCall& call,
                                         unsigned most_bytes) {
  TeamOfRow row;
  row.pack = pack_of_rows(call);
  const auto bytes = static_cast<unsigned>(itemsize(call.accumulator()));
  const unsigned most_steps = std::max(1u, most_bytes / bytes / row.pack);
  const std::int64_t packs = call.count / row.pack;
  if (packs <= std::int64_t{32} * most_steps) {
    const unsigned loads = std::min(constants::loads_at_once, most_steps);
    row.team = power_of_two((packs + loads - 1) / loads, 32);
  } else {
    row.team = usual_group;
    while (packs > std::int64_t{row.team} * most_steps) row.team *= 2;
    if (row.team > constants::largest_group || !has_groups(invocation, row.team)) return {};
    row.group = row.team;
  }
  row.steps = power_of_two((packs + row.team - 1) / row.team, most_steps);
  return row;
}

std::string text_of_team(const NormCall& call, const TeamOfRow& row, Language language) {
  const Dtype accumulator = call.accumulator();
  const Team team{language, row.team, row.group};
  std::string text = fmt::format(
      "#define CENTERS {}\n#define HAS_WEIGHT {}\n#define HAS_BIAS {}\n#define STEPS {}\n"
      "#define BY (TEAM * PACK)\n#define AT(s) ((me + (s) * TEAM) * PACK)\n",
      call.centers ? 1 : 0, call.weight ? 1 : 0, call.other && !call.is_backward ? 1 : 0,
      row.steps);
  text += team_words(team);
  text += pack_functions({call.dtype, call.dtype, accumulator}, row.pack);
  if (language == Language::cuda_cxx)
    text += fmt::format(fmt::runtime(shuffled_sums), compute_type(accumulator));
  text += team_join("join_of_team", team, {"sums_t", "add_sums", "sums"});
  if (call.is_backward) text += backward_functions;
  return text;
}

}  // namespace bp::codegen
