// alone: its texts and their parts have the names that other kinds give to theirs
// The gradients of a normalization by weight and bias: sums over all rows, by columns. The rows are cut into chunks,
// of which each leaves its sums in scratch; these are added up in a second launch. How many chunks there are
// follows from sizes and the device, so that the same call gives the same bits.
#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/norm.hpp"
#include "kinds/team.hpp"

namespace bp::codegen {
namespace {

enum Form : std::uint64_t { runs = 2, neighbours, few_chunks, many_chunks };

std::uint64_t variant(const NormCall& call, Form form, unsigned width) {
  return std::uint64_t{form} << 40 | call.number() << 8 | width;
}

// The last vector of a piece reaches back: what two vectors compute is the same.
constexpr const char* runs_body = R"(
  const i64 blocks = (v.count + COLUMNS - 1) / COLUMNS, units = blocks * v.parts;
  const i64 end = units * (item0 + 1) / items0;
  for (i64 unit = units * item0 / items0; unit < end; ++unit) {
    const i64 chunk = unit / blocks, column = unit % blocks * COLUMNS;
    const i64 width = v.count - column < COLUMNS ? v.count - column : COLUMNS;
    const i64 vectors = (width + LANES - 1) / LANES;
    vec by_weight[VECTORS], by_bias[VECTORS];
    for (i64 j = 0; j < vectors; ++j) by_weight[j] = by_bias[j] = SPLAT(0);
    const i64 last = v.rows * (chunk + 1) / v.parts;
    for (i64 row = v.rows * chunk / v.parts; row < last; ++row) {
      const statistics_t s = take_statistics(MEANS, RSTDS, row);
      GLOBAL u8* const a = A(row);
      GLOBAL u8* const grad = GRAD(row);
      for (i64 j = 0; j < vectors; ++j) {
        const i64 at = column + (j + 1 < vectors ? j * LANES : width - LANES);
        const vec g = take_vec(grad, at);
        by_weight[j] += g * NORMALIZED(take_vec(a, at), s);
        by_bias[j] += g;
      }
    }
    for (i64 j = 0; j < vectors; ++j) {
      const i64 at = chunk * v.count + column + (j + 1 < vectors ? j * LANES : width - LANES);
      put_acc_vec(SCRATCH, at, by_weight[j]);
      if (HAS_BIAS) put_acc_vec(SCRATCH, v.parts * v.count + at, by_bias[j]);
    }
  }
)";

// Neighbours take neighbouring columns, and then neighbouring rows.
constexpr const char* neighbours_body = R"(
  const i64 packs = v.count / PACK, chunk = item0 / packs, column = (item0 - chunk * packs) * PACK;
  if (chunk >= v.parts) return;
  acc_t by_weight[PACK], by_bias[PACK];
  UNROLL for (int k = 0; k < PACK; ++k) by_weight[k] = by_bias[k] = 0;
  for (i64 row = chunk; row < v.rows; row += v.parts) {
    const statistics_t s = take_statistics(MEANS, RSTDS, row);
    acc_t a[PACK], g[PACK];
    take_pack(A(row), column, a);
    take_pack(GRAD(row), column, g);
    UNROLL for (int k = 0; k < PACK; ++k) {
      by_weight[k] += g[k] * NORMALIZED(a[k], s);
      by_bias[k] += g[k];
    }
  }
  UNROLL for (int k = 0; k < PACK; ++k) {
    put_acc(SCRATCH, chunk * v.count + column + k, by_weight[k]);
    if (HAS_BIAS) put_acc(SCRATCH, (v.parts + chunk) * v.count + column + k, by_bias[k]);
  }
)";

// Of one column's chunks, by one work-item.
constexpr const char* few_chunks_body = R"(
  const i64 blocks = (v.count + LANES - 1) / LANES, units = v.sums * blocks;
  const i64 end = units * (item0 + 1) / items0;
  for (i64 unit = units * item0 / items0; unit < end; ++unit) {
    const i64 sum = unit / blocks, column = unit % blocks;
    const i64 at = column + 1 < blocks ? column * LANES : v.count - LANES;
    vec total = SPLAT(0);
    for (i64 chunk = 0; chunk < v.chunks; ++chunk)
      total += take_vec(m0 + v.scratch, (sum * v.chunks + chunk) * v.count + at);
    put_vec(sum == 0 ? m1 + v.by_weight : m2 + v.by_bias, at, total);
  }
)";

// By a column of work-items.
constexpr const char* many_chunks_body = R"(
  LOCAL acc_t room[GROUP];
  const i64 own = group0 * TEAM + lane % TEAM, number = own < v.sums * v.count ? own : 0;
  const i64 sum = number / v.count, column = number - sum * v.count;
  acc_t total = 0;
  KEEP_LOOP for (i64 chunk = lane / TEAM; chunk < v.chunks; chunk += 4 * (GROUP / TEAM)) {
    acc_t x[4];
    UNROLL for (int k = 0; k < 4; ++k) {
      const i64 place = chunk + k * (GROUP / TEAM);
      x[k] = place < v.chunks ? take(m0 + v.scratch, (sum * v.chunks + place) * v.count + column) : 0;
    }
    total += (x[0] + x[1]) + (x[2] + x[3]);
  }
  total = join_column(total, lane, room);
  if (lane < TEAM && own < v.sums * v.count)
    put(sum == 0 ? m1 + v.by_weight : m2 + v.by_bias, column, total);
)";

KernelText runs_text(const NormCall& call, unsigned lanes) {
  KernelText kernel = norm_text(call, "columns", lanes);
  kernel.helpers +=
      fmt::format("#define VECTORS {}\n#define COLUMNS {}\n#define HAS_BIAS {}\n",
                  constants::norm_vectors, constants::norm_vectors * lanes, call.by_bias ? 1 : 0);
  kernel.body = runs_body;
  return kernel;
}

KernelText neighbours_text(const NormCall& call, unsigned pack) {
  KernelText kernel = norm_text(call, "neighbouring_columns");
  const Elements elements{call.dtype, call.dtype, call.accumulator()};
  kernel.helpers += pack_functions(elements, pack);
  kernel.helpers += fmt::format("#define HAS_BIAS {}\n", call.by_bias ? 1 : 0);
  kernel.body = neighbours_body;
  return kernel;
}

KernelText join_text(const NormCall& call, unsigned lanes, Language language, bool in_groups) {
  const Dtype accumulator = call.accumulator();
  const Elements elements{accumulator, call.dtype, accumulator, lanes};
  KernelText kernel;
  kernel.name = kernel_name(call.op, call.dtype, in_groups ? "many_chunks" : "few_chunks");
  kernel.num_memory = 3;
  for (const char* name : {"scratch", "by_weight", "by_bias", "chunks", "count", "sums"})
    kernel.values.push_back({name});
  kernel.helpers = element_functions(elements);
  kernel.body = few_chunks_body;
  if (!in_groups) return kernel;
  const Team team{language, constants::norm_columns_of_team, usual_group};
  kernel.group_size = usual_group;
  kernel.helpers += team_words(team);
  kernel.helpers += "DEVICE acc_t add(acc_t a, acc_t b) { return a + b; }\n";
  kernel.helpers += column_join("join_column", team, {"acc_t", "add", compute_type(accumulator)});
  kernel.body = many_chunks_body;
  return kernel;
}

// Rows lie one behind the other: a pack fits where it divides all that is read.
unsigned pack_of(const NormCall& call) {
  const auto bytes = static_cast<std::int64_t>(itemsize(call.dtype));
  std::int64_t pack = std::min<std::int64_t>(constants::pack_of_columns, 16 / bytes);
  const std::int64_t offsets = offset_of(*call.a) | offset_of(*call.other);
  while (call.count % pack != 0 || offsets % (pack * bytes) != 0) pack /= 2;
  return static_cast<unsigned>(pack);
}

bp_region scratch_for(Invocation& invocation, const NormCall& call, std::int64_t chunks) {
  const std::int64_t sums = call.by_bias ? 2 : 1;
  return invocation.scratch(static_cast<std::uint64_t>(sums * chunks * call.count) *
                            itemsize(call.accumulator()));
}

std::int64_t sum_runs(Invocation& invocation, const NormCall& call, NormLaunch& launch) {
  unsigned lanes = lanes_for(invocation, call.accumulator());
  if (call.count < lanes) lanes = 1;
  const auto items = static_cast<std::int64_t>(work_items(invocation, call.rows, call.a->numel));
  launch.parts = std::max(std::min(items, call.rows),
                          (call.rows + constants::chain_of_norm - 1) / constants::chain_of_norm);
  launch.scratch = scratch_for(invocation, call, launch.parts);
  bp_function* function =
      invocation.function(variant(call, runs, lanes), [&] { return runs_text(call, lanes); });
  Grid grid;
  grid.items[0] = static_cast<std::uint64_t>(items);
  launch_norm(invocation, call, function, grid, launch);
  return launch.parts;
}

std::int64_t sum_neighbours(Invocation& invocation, const NormCall& call, NormLaunch& launch) {
  const unsigned pack = pack_of(call);
  const std::int64_t packs = call.count / pack;
  const std::int64_t busy =
      busy_groups(invocation) / constants::fewer_groups_of_columns * usual_group;
  launch.parts =
      std::max({std::int64_t{1}, std::min(busy / packs, call.rows / constants::least_rows_of_norm),
                (call.rows + constants::chain_of_norm - 1) / constants::chain_of_norm});
  launch.scratch = scratch_for(invocation, call, launch.parts);
  bp_function* function = invocation.function(variant(call, neighbours, pack),
                                              [&] { return neighbours_text(call, pack); });
  Grid grid;
  grid.items[0] = static_cast<std::uint64_t>(packs * launch.parts);
  launch_norm(invocation, call, function, grid, launch);
  return launch.parts;
}

}  // namespace

void join_columns(Invocation& invocation, const NormCall& call, const bp_region& scratch,
                  std::int64_t chunks) {
  const bp_tensor &by_weight = *call.by_weight, &by_bias = call.by_bias ? *call.by_bias : by_weight;
  const std::int64_t sums = call.by_bias ? 2 : 1;
  const bool in_groups = has_groups(invocation);
  unsigned lanes = lanes_for(invocation, call.accumulator());
  if (call.count < lanes) lanes = 1;
  bp_function* function = invocation.function(
      variant(call, in_groups ? many_chunks : few_chunks, lanes),
      [&] { return join_text(call, lanes, invocation.device.language(), in_groups); });
  Values values;
  values.add(static_cast<std::int64_t>(scratch.offset)).add(offset_of(by_weight));
  values.add(offset_of(by_bias)).add(chunks).add(call.count).add(sums);
  const std::int64_t all = sums * call.count;
  Grid grid;
  if (in_groups)
    grid = grid_of_groups(
        (all + constants::norm_columns_of_team - 1) / constants::norm_columns_of_team, usual_group);
  else
    grid.items[0] = work_items(invocation, (all + lanes - 1) / lanes, all * chunks);
  invocation.launch(function, grid, {scratch.handle, handle_of(by_weight), handle_of(by_bias)},
                    values);
}

void norm_columns(Invocation& invocation, const NormCall& call) {
  NormLaunch launch;
  const std::int64_t chunks = invocation.for_cpu() ? sum_runs(invocation, call, launch)
                                                   : sum_neighbours(invocation, call, launch);
  join_columns(invocation, call, launch.scratch, chunks);
}

}  // namespace bp::codegen
