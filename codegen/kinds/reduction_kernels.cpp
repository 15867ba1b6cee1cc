#include "kinds/reduction_kernels.hpp"

#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/reduction_space.hpp"

namespace bp::codegen {
namespace {

// A long run is read at four places at once: one stream leaves a processor's memory idle (3.4 against 4.8 ms
// for 64 MiB on PoCL). In short ones the fetching ahead would stop too often.
constexpr const char* row_functions = R"(
DEVICE acc_t reduce_run(GLOBAL u8* p, i64 stride, i64 count) {
  acc_t total = IDENTITY;
  i64 i = 0;
  if (count >= LANES) {
    vec t0 = SPLAT(IDENTITY), t1 = t0, t2 = t0, t3 = t0;
    i64 steps = count / (4 * LANES);
    const i64 apart = count >= FAR ? steps * LANES : LANES, by = count >= FAR ? LANES : 4 * LANES;
    const i64 taken = 4 * LANES * steps;
    while (steps > 0) {
      vec a0 = SPLAT(IDENTITY), a1 = a0, a2 = a0, a3 = a0;
      const i64 rest = steps > BLOCK ? steps - BLOCK : 0;
      for (; steps > rest; --steps, i += by) {
        a0 = combine_vec(a0, TAKE_RUN(p, i));
        a1 = combine_vec(a1, TAKE_RUN(p, i + apart));
        a2 = combine_vec(a2, TAKE_RUN(p, i + 2 * apart));
        a3 = combine_vec(a3, TAKE_RUN(p, i + 3 * apart));
      }
      t0 = join_vec(t0, a0);
      t1 = join_vec(t1, a1);
      t2 = join_vec(t2, a2);
      t3 = join_vec(t3, a3);
    }
    for (i = taken; count - i >= LANES; i += LANES) t0 = combine_vec(t0, TAKE_RUN(p, i));
    total = join_lanes(join_vec(join_vec(t0, t1), join_vec(t2, t3)));
  }
  for (; i < count; ++i) total = combine(total, take(p, i * stride));
  return total;
}
DEVICE acc_t reduce_range(GLOBAL u8* p, i64 first, i64 last, const i64* sizes, const i64* strides,
                          i64 rank) {
  const i64 inner = sizes[rank - 1], stride = strides[rank - 1];
  if (rank == 1) return reduce_run(p + IN_BYTES * first * stride, stride, last - first);
  acc_t total = IDENTITY, now = IDENTITY;
  i64 runs = 0;
  while (first < last) {
    i64 count = inner - first % inner;
    if (count > last - first) count = last - first;
    now = join(now, reduce_run(p + IN_BYTES * place(first, sizes, strides, rank), stride, count));
    first += count;
    if (++runs % BLOCK == 0) {
      total = join(total, now);
      now = IDENTITY;
    }
  }
  return join(total, now);
}
)";

constexpr const char* rows_body = R"(
  const i64 end = v.units * (item0 + 1) / items0;
  for (i64 unit = v.units * item0 / items0; unit < end; ++unit) {
    const i64 row = v.parts == 1 ? unit : unit / v.parts, part = unit - row * v.parts;
    const i64 first = part == 0 ? 0 : v.count * part / v.parts;
    const i64 last = v.parts == 1 ? v.count : v.count * (part + 1) / v.parts;
    GLOBAL u8* p = m0 + v.from + IN_BYTES * place(row, v.kept, v.kept_in, v.kept_rank);
    const acc_t total = reduce_range(p, first, last, v.reduced, v.reduced_in, v.reduced_rank);
    FINISH(total, row, part)
  }
)";

// The last vector of a piece reaches back, so that there are no single elements: what two vectors compute
// is the same.
constexpr const char* column_functions = R"(
#define COLUMN(j) ((j) + 1 < count ? (j) * LANES : width - LANES)
DEVICE void take_rows(vec* sums, GLOBAL u8* p, i64 stride, i64 rows, i64 width, i64 count) {
  i64 row = 0;
  for (; row + 4 <= rows; row += 4) {
    const i64 at = row * stride;
    for (i64 j = 0; j < count; ++j) {
      const i64 i = at + COLUMN(j);
      vec sum = combine_vec(sums[j], take_vec(p, i));
      sum = combine_vec(sum, take_vec(p, i + stride));
      sum = combine_vec(sum, take_vec(p, i + 2 * stride));
      sums[j] = combine_vec(sum, take_vec(p, i + 3 * stride));
    }
  }
  for (; row < rows; ++row)
    for (i64 j = 0; j < count; ++j)
      sums[j] = combine_vec(sums[j], take_vec(p, row * stride + COLUMN(j)));
}
)";

constexpr const char* columns_body = R"(
  const i64 line = v.kept[v.kept_rank - 1], line_out = v.kept_out[v.kept_rank - 1];
  const i64 blocks = (line + COLUMNS - 1) / COLUMNS, outer = v.outputs / line;
  const i64 inner = v.reduced[v.reduced_rank - 1], stride = v.reduced_in[v.reduced_rank - 1];
  const i64 end = v.units * (item0 + 1) / items0;
  for (i64 unit = v.units * item0 / items0; unit < end; ++unit) {
    const i64 column = unit % blocks * COLUMNS, rest = unit / blocks;
    const i64 first_row = rest % outer * line, part = rest / outer;
    const i64 width = line - column < COLUMNS ? line - column : COLUMNS;
    const i64 count = (width + LANES - 1) / LANES;
    const i64 last = v.count * (part + 1) / v.parts;
    GLOBAL u8* p = m0 + v.from +
                   IN_BYTES * (place(first_row, v.kept, v.kept_in, v.kept_rank) + column);
    vec total[VECTORS], now[VECTORS];
    for (i64 j = 0; j < count; ++j) total[j] = SPLAT(IDENTITY);
    for (i64 i = v.count * part / v.parts; i < last;) {
      i64 rows = inner - i % inner;
      if (rows > last - i) rows = last - i;
      if (rows > BLOCK) rows = BLOCK;
      for (i64 j = 0; j < count; ++j) now[j] = SPLAT(IDENTITY);
      take_rows(now, p + IN_BYTES * place(i, v.reduced, v.reduced_in, v.reduced_rank), stride, rows,
                width, count);
      for (i64 j = 0; j < count; ++j) total[j] = join_vec(total[j], now[j]);
      i += rows;
    }
    FINISH_COLUMNS
  }
)";

constexpr const char* columns_to_partials = R"(
#define FINISH_COLUMNS \
  for (i64 j = 0; j < count; ++j) \
    put_acc_vec(m1 + v.to, part * v.outputs + first_row + column + COLUMN(j), total[j]);
)";

constexpr const char* columns_to_output = R"(
#define FINISH_COLUMNS \
  GLOBAL u8* q = m1 + v.to + OUT_BYTES * (place(first_row, v.kept, v.kept_out, v.kept_rank) + \
                                          column * line_out); \
  for (i64 j = 0; j < count; ++j) { \
    const vec sum = join_vec(SPLAT(INITIAL), total[j]); \
    if (line_out == 1) { \
      put_vec(q, COLUMN(j), sum); \
    } else { \
      acc_t lanes[LANES]; \
      spill(sum, lanes); \
      for (i64 k = 0; k < LANES; ++k) put(q, (COLUMN(j) + k) * line_out, lanes[k]); \
    } \
  }
)";

constexpr const char* item_body = R"(
  if (item0 >= v.units) return;
  SHARE_OUT
  GLOBAL u8* p = m0 + v.from + IN_BYTES * place(row, v.kept, v.kept_in, v.kept_rank);
  acc_t total = IDENTITY;
  for (i64 i = part; i < v.count;) {
    acc_t now = IDENTITY;
    for (i64 step = 0; step < BLOCK && i < v.count; ++step, i += v.parts)
      now = combine(now, take(p, place(i, v.reduced, v.reduced_in, v.reduced_rank)));
    total = join(total, now);
  }
  FINISH(total, row, part)
)";

constexpr const char* neighbours_take_parts =
    "#define SHARE_OUT const i64 row = item0 / v.parts, part = item0 % v.parts;\n";
constexpr const char* neighbours_take_outputs =
    "#define SHARE_OUT const i64 row = item0 % v.outputs, part = item0 / v.outputs;\n";

constexpr const char* finish_partial =
    "#define FINISH(total, row, part) put_acc(m1 + v.to, part * v.outputs + row, total);\n";
constexpr const char* finish_output =
    "#define FINISH(total, row, part) \\\n"
    "  put(m1 + v.to, place(row, v.kept, v.kept_out, v.kept_rank), join(INITIAL, total));\n";

std::string form_functions(const ReductionText& text) {
  switch (text.form) {
    case ReductionForm::rows:
      return fmt::format("#define TAKE_RUN(p, i) take_vec(p, i)\n{}", row_functions);
    case ReductionForm::strided_rows:
      return fmt::format("#define TAKE_RUN(p, i) take(p, (i) * stride)\n{}", row_functions);
    case ReductionForm::columns:
      return fmt::format("#define VECTORS {}\n#define COLUMNS {}\n{}{}",
                         constants::reduction_vectors, columns_of(text), column_functions,
                         text.to_partials ? columns_to_partials : columns_to_output);
    case ReductionForm::item_of_part: return neighbours_take_parts;
    case ReductionForm::item_of_output: return neighbours_take_outputs;
  }
  return {};
}

const char* body_of(ReductionForm form) {
  switch (form) {
    case ReductionForm::rows:
    case ReductionForm::strided_rows: return rows_body;
    case ReductionForm::columns: return columns_body;
    default: return item_body;
  }
}

const char* name_of(ReductionForm form) {
  constexpr const char* names[] = {"rows", "strided_rows", "columns", "parts", "outputs"};
  return names[static_cast<unsigned>(form)];
}

}  // namespace

std::uint64_t ReductionText::variant() const {
  const std::uint64_t flags = (of_partials ? 2 : 0) | (to_partials ? 1 : 0);
  std::uint64_t number = index(dtype);
  if (groups) return 1ull << 40 | (groups->number() * 32 + number) << 2 | flags;
  number = number * 8 + static_cast<unsigned>(form);
  number = number * 32 + lanes;
  return number * 4 + flags;
}

std::int64_t columns_of(const ReductionText& text) {
  return std::int64_t{constants::reduction_vectors} * text.lanes;
}

namespace {

// Where groups share the work: see group_loops().
constexpr const char* group_states = R"(
typedef acc_t state_t;
#define STATES PACK
#define START(p, at, number) IDENTITY
#define START_WITH(x, number) IDENTITY
#define visit(state, x, number) combine(state, x)
#define join_states join
#define FINISH_STATE FINISH
)";

KernelText group_text(const Operator& op, const Combine& combine, const ReductionText& text,
                      const Invocation& invocation) {
  const Dtype accumulator = accumulator_of(text.dtype);
  const Elements elements{text.of_partials ? accumulator : text.dtype, text.dtype, accumulator, 1,
                          text.groups->small};
  constexpr const char* names[] = {"group_rows", "group_short_rows", "group_columns"};
  const GroupLoops loops = group_loops(invocation, *text.groups, compute_type(accumulator));
  KernelText kernel;
  kernel.name = kernel_name(
      op, text.dtype,
      fmt::format("{}{}{}", names[static_cast<unsigned>(text.groups->form)],
                  text.of_partials ? "_of_partials" : "", text.to_partials ? "_to_partials" : ""));
  kernel.num_memory = 2;
  kernel.values = plan_fields();
  kernel.values.push_back({"piece"});
  kernel.group_size = usual_group;
  kernel.helpers = fmt::format(
      "{}{}{}{}{}{}", element_functions(elements), pack_functions(elements, text.groups->pack),
      combine_functions(combine, elements, text.of_partials),
      text.to_partials ? finish_partial : finish_output, group_states, loops.helpers);
  kernel.body = loops.body;
  return kernel;
}

}  // namespace

KernelText reduction_text(const Operator& op, const Combine& combine, const ReductionText& text,
                          const Invocation& invocation) {
  if (text.groups) return group_text(op, combine, text, invocation);
  const Dtype accumulator = accumulator_of(text.dtype);
  const Elements elements{text.of_partials ? accumulator : text.dtype, text.dtype, accumulator,
                          text.lanes};
  KernelText kernel;
  kernel.name =
      kernel_name(op, text.dtype,
                  fmt::format("{}{}{}", name_of(text.form), text.of_partials ? "_of_partials" : "",
                              text.to_partials ? "_to_partials" : ""));
  kernel.num_memory = 2;
  kernel.values = plan_fields();
  kernel.helpers =
      fmt::format("#define BLOCK {}\n#define FAR {}\n{}{}{}{}", constants::block_of_sum,
                  constants::far_elements, element_functions(elements),
                  combine_functions(combine, elements, text.of_partials),
                  text.to_partials ? finish_partial : finish_output, form_functions(text));
  kernel.body = body_of(text.form);
  return kernel;
}

}  // namespace bp::codegen
