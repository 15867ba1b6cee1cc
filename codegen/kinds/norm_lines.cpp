// alone: its texts and their parts have the names that other kinds give to theirs
// Rows of a normalization on devices without groups: each is one work-item's, which goes over it two or three
// times, while the cache has it.
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/norm.hpp"

namespace bp::codegen {
namespace {

// A function that adds up two numbers of each element: `STEP(T, TAKE, i, x, y)` adds those of the elements of a T
// from number i on, which TAKE(p, i) takes.
std::string sums_of_row(std::string_view name, std::string_view step) {
  return fmt::format(R"(
DEVICE sums_t {0}(GLOBAL u8* a, GLOBAL u8* weight, GLOBAL u8* grad, statistics_t s, i64 count) {{
  vec x = SPLAT(0), y = SPLAT(0);
  i64 i = 0;
  while (count - i >= 2 * LANES) {{
    vec x0 = SPLAT(0), y0 = SPLAT(0), x1 = SPLAT(0), y1 = SPLAT(0);
    i64 pairs = (count - i) / (2 * LANES);
    if (pairs > {2}) pairs = {2};
    for (; pairs > 0; --pairs, i += 2 * LANES) {{
      {1}(vec, take_vec, i, x0, y0)
      {1}(vec, take_vec, i + LANES, x1, y1)
    }}
    x += x0 + x1;
    y += y0 + y1;
  }}
  for (; count - i >= LANES; i += LANES) {1}(vec, take_vec, i, x, y)
  sums_t sums = {{ sum_lanes(x), sum_lanes(y) }};
  for (; i < count; ++i) {1}(acc_t, take, i, sums.x, sums.y)
  return sums;
}}
)",
                     name, step, constants::block_of_norm);
}

constexpr const char* steps = R"(
#define SUM(T, TAKE, i, x, y) { x += TAKE(a, i); }
#define SPREAD(T, TAKE, i, x, y) { const T d = TAKE(a, i) - s.mean; x += d; y += d * d; }
#define SQUARES(T, TAKE, i, x, y) { const T d = TAKE(a, i); y += d * d; }
#define PRODUCTS(T, TAKE, i, x, y) { \
    const T g = WEIGHTED(TAKE(grad, i), TAKE(weight, i)); \
    x += g; \
    y += g * NORMALIZED(TAKE(a, i), s); }
)";

constexpr const char* rows_begin = R"(
  const i64 end = v.rows * (item0 + 1) / items0;
  for (i64 row = v.rows * item0 / items0; row < end; ++row) {
    GLOBAL u8* const a = A(row);
    GLOBAL u8* const out = OUT(row);
    GLOBAL u8* const weight = WEIGHT;
    const acc_t count = (acc_t)v.count;
)";

constexpr const char* centered_statistics = R"(
    statistics_t s = { 0, 0, 1 };
    s.mean = sum_of_row(a, weight, a, s, v.count).x / count;
    s = statistics_of(s.mean, spread_of_row(a, weight, a, s, v.count), count, EPS);
)";
constexpr const char* uncentered_statistics = R"(
    statistics_t s = { 0, 0, 1 };
    s = statistics_of(0, squares_of_row(a, weight, a, s, v.count), count, EPS);
)";
constexpr const char* forward_end = R"(
    GLOBAL u8* const bias = BIAS;
    put_statistics(MEANS, RSTDS, row, s);
#define RESULT(T, TAKE, i) \
    SHIFTED(WEIGHTED(NORMALIZED(TAKE(a, i), s), TAKE(weight, i)), TAKE(bias, i))
)";
constexpr const char* backward_end = R"(
    GLOBAL u8* const grad = GRAD(row);
    const statistics_t s = take_statistics(MEANS, RSTDS, row);
    sums_t sums = products_of_row(a, weight, grad, s, v.count);
    sums.x /= count;
    sums.y /= count;
#define RESULT(T, TAKE, i) \
    GRADIENT(WEIGHTED(TAKE(grad, i), TAKE(weight, i)), NORMALIZED(TAKE(a, i), s), s, sums)
)";
constexpr const char* rows_end = R"(
    i64 i = 0;
    for (; v.count - i >= LANES; i += LANES) put_vec(out, i, RESULT(vec, take_vec, i));
    for (; i < v.count; ++i) put(out, i, RESULT(acc_t, take, i));
  }
)";

KernelText make_text(const NormCall& call, unsigned lanes) {
  KernelText kernel = norm_text(call, "lines", lanes);
  kernel.helpers += fold_lanes("sum_lanes", "x + y", lanes);
  kernel.helpers += steps;
  kernel.body = rows_begin;
  if (call.is_backward) {
    kernel.helpers += sums_of_row("products_of_row", "PRODUCTS");
    kernel.body += backward_end;
  } else if (call.centers) {
    kernel.helpers += sums_of_row("sum_of_row", "SUM") + sums_of_row("spread_of_row", "SPREAD");
    kernel.body = kernel.body + centered_statistics + forward_end;
  } else {
    kernel.helpers += sums_of_row("squares_of_row", "SQUARES");
    kernel.body = kernel.body + uncentered_statistics + forward_end;
  }
  kernel.body += rows_end;
  return kernel;
}

}  // namespace

void norm_of_lines(Invocation& invocation, const NormCall& call) {
  const unsigned lanes = lanes_for(invocation, call.accumulator());
  bp_function* function = invocation.function(std::uint64_t{1} << 40 | call.number() << 8 | lanes,
                                              [&] { return make_text(call, lanes); });
  Grid grid;
  grid.items[0] = work_items(invocation, call.rows, call.a->numel);
  launch_norm(invocation, call, function, grid, {});
}

}  // namespace bp::codegen
