#include "kinds/arg_reduction_text.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>

#include "constants.hpp"
#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

// A tile's extreme first, as vector code; where it is only if it beats those before. In tiles, a search
// from the front costs little: random elements beat the best so far ever more seldom.
constexpr const char* row_functions = R"(
DEVICE void search_run(best_t* best, GLOBAL u8* p, i64 stride, i64 count, i64 number) {
  i64 i = 0;
  for (; LANES > 1 && count - i >= TILE; i += TILE) {
    vec a0 = SPLAT(IDENTITY), a1 = a0, a2 = a0, a3 = a0;
    for (i64 k = i; k < i + TILE; k += 4 * LANES) {
      a0 = combine_vec(a0, take_vec(p, k));
      a1 = combine_vec(a1, take_vec(p, k + LANES));
      a2 = combine_vec(a2, take_vec(p, k + 2 * LANES));
      a3 = combine_vec(a3, take_vec(p, k + 3 * LANES));
    }
    const acc_t extreme = join_lanes(join_vec(join_vec(a0, a1), join_vec(a2, a3)));
    if (!IS_BETTER(extreme, best->value)) continue;
    i64 k = i;
    while (ALL(IS_BETTER(SPLAT(extreme), take_vec(p, k)))) k += LANES;
    while (IS_BETTER(extreme, take(p, k))) ++k;
    best->value = extreme;
    best->number = number + k;
  }
  for (; i < count; ++i) {
    const acc_t x = take(p, i * stride);
    if (!IS_BETTER(x, best->value)) continue;
    best->value = x;
    best->number = number + i;
  }
}
)";

constexpr const char* rows_body = R"(
  const i64 inner = v.reduced[v.reduced_rank - 1], stride = v.reduced_in[v.reduced_rank - 1];
  const i64 end = v.units * (item0 + 1) / items0;
  for (i64 unit = v.units * item0 / items0; unit < end; ++unit) {
    const i64 row = v.parts == 1 ? unit : unit / v.parts, part = unit - row * v.parts;
    const i64 first = v.count * part / v.parts, last = v.count * (part + 1) / v.parts;
    GLOBAL u8* p = m0 + v.from + IN_BYTES * place(row, v.kept, v.kept_in, v.kept_rank);
    best_t best;
    best.value = take(p, place(first, v.reduced, v.reduced_in, v.reduced_rank));
    best.number = first;
    for (i64 i = first; i < last;) {
      i64 count = inner - i % inner;
      if (count > last - i) count = last - i;
      search_run(&best, p + IN_BYTES * place(i, v.reduced, v.reduced_in, v.reduced_rank), stride,
                 count, i);
      i += count;
    }
    FINISH(best.value, best.number, row, part)
  }
)";

// Numbers are counted from the part's first row on, in lanes of 4 or 8 bytes. The last vector of a piece
// reaches back: what two vectors find is the same.
constexpr const char* columns_body = R"(
  const i64 line = v.kept[v.kept_rank - 1];
  const i64 blocks = (line + COLUMNS - 1) / COLUMNS, outer = v.outputs / line;
  const i64 end = v.units * (item0 + 1) / items0;
  for (i64 unit = v.units * item0 / items0; unit < end; ++unit) {
    const i64 column = unit % blocks * COLUMNS, rest = unit / blocks;
    const i64 first_row = rest % outer * line + column, part = rest / outer;
    const i64 width = line - column < COLUMNS ? line - column : COLUMNS;
    const i64 count = (width + LANES - 1) / LANES;
    const i64 first = v.count * part / v.parts, last = v.count * (part + 1) / v.parts;
    GLOBAL u8* p = m0 + v.from + IN_BYTES * place(first_row, v.kept, v.kept_in, v.kept_rank);
    vec value[VECTORS];
    numbers_t number[VECTORS];
    for (i64 j = 0; j < count; ++j) {
      const i64 at = place(first, v.reduced, v.reduced_in, v.reduced_rank);
      value[j] = take_vec(p, at + COLUMN(j));
      number[j] = NUMBERS(0);
    }
    for (i64 i = first + 1; i < last; ++i) {
      const i64 at = place(i, v.reduced, v.reduced_in, v.reduced_rank);
      const numbers_t row = NUMBERS(i - first);
      for (i64 j = 0; j < count; ++j) {
        const vec x = take_vec(p, at + COLUMN(j));
        const mask_t better = IS_BETTER(x, value[j]);
        value[j] = CHOOSE(value[j], x, better);
        number[j] = CHOOSE(number[j], row, MASK_OF_NUMBERS(better));
      }
    }
    for (i64 j = 0; j < count; ++j) {
      acc_t values[LANES];
      number_t numbers[LANES];
      spill(value[j], values);
      SPILL_NUMBERS(number[j], numbers)
      for (i64 k = 0; k < LANES; ++k)
        FINISH(values[k], first + numbers[k], first_row + COLUMN(j) + k, part)
    }
  }
)";

// Neighbours take neighbouring parts, each with every v.parts-th element.
constexpr const char* items_body = R"(
  if (item0 >= v.units) return;
  const i64 row = item0 / v.parts, part = item0 % v.parts;
  GLOBAL u8* p = m0 + v.from + IN_BYTES * place(row, v.kept, v.kept_in, v.kept_rank);
  acc_t value = take(p, place(part, v.reduced, v.reduced_in, v.reduced_rank));
  i64 number = part;
  for (i64 i = part + v.parts; i < v.count; i += v.parts) {
    const acc_t x = take(p, place(i, v.reduced, v.reduced_in, v.reduced_rank));
    const int better = IS_BETTER(x, value);
    value = better ? x : value;
    number = better ? i : number;
  }
  FINISH(value, number, row, part)
)";

// Parts may be interleaved: among equal values the lowest index counts.
constexpr const char* join_body = R"(
  const i64 end = v.outputs * (item0 + 1) / items0;
  for (i64 row = v.outputs * item0 / items0; row < end; ++row) {
    acc_t value = take_acc(m0 + v.from, row);
    i64 number = load_i64(m0 + v.numbers, row);
    for (i64 part = 1; part < v.parts; ++part) {
      const acc_t x = take_acc(m0 + v.from, part * v.outputs + row);
      const i64 at = load_i64(m0 + v.numbers, part * v.outputs + row);
      if (!(IS_BETTER(x, value) || (at < number && !IS_BETTER(value, x)))) continue;
      value = x;
      number = at;
    }
    FINISH(value, number, row, 0)
  }
)";

constexpr const char* finish_part = R"(
#define FINISH(x, at, row, part) { \
    put_acc(m1 + v.to, (part) * v.outputs + (row), x); \
    store_i64(m1 + v.numbers, (part) * v.outputs + (row), at); }
)";
constexpr const char* finish_output = R"(
#define FINISH(x, at, row, part) \
  store_i64(m1 + v.to, place(row, v.kept, v.kept_out, v.kept_rank), at);
)";

bool takes_smallest(const Operator& op) {
  return std::string_view(op.name()) == "argmin";
}

// As the row "max" or "min" has it, to find a tile's extreme.
Combine extreme(bool smallest) {
  static constexpr bp_expr_node largest_steps[] = {
      {BP_X_ACC, 0, 0, 0, 0}, {BP_X_ARG, 0, 0, 0, 0}, {BP_X_MAX, 0, 1, 0, 0}};
  static constexpr bp_expr_node smallest_steps[] = {
      {BP_X_ACC, 0, 0, 0, 0}, {BP_X_ARG, 0, 0, 0, 0}, {BP_X_MIN, 0, 1, 0, 0}};
  Combine combine;
  combine.element = smallest ? smallest_steps : largest_steps;
  std::copy(combine.element.begin(), combine.element.end(), combine.partial.begin());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  combine.identity = combine.initial = smallest ? infinity : -infinity;
  return combine;
}

std::string element_choice(unsigned lanes, Dtype accumulator) {
  if (lanes == 1)
    return "typedef i64 number_t;\ntypedef i64 numbers_t;\ntypedef int mask_t;\n"
           "#define NUMBERS(x) (x)\n#define MASK_OF_NUMBERS(x) (x)\n"
           "#define CHOOSE(no, yes, mask) ((mask) ? (yes) : (no))\n"
           "#define SPILL_NUMBERS(x, to) (to)[0] = x;\n#define ALL(x) (x)\n";
  const bool is_wide = itemsize(accumulator) == 8;
  constexpr std::string_view masks[] = {"i8", "i16", "i32", "i64"};
  return fmt::format(
      "typedef {0} number_t;\ntypedef {0}x{1} numbers_t;\ntypedef {2}x{1} mask_t;\n"
      "#define NUMBERS(x) ((numbers_t)(({0})(x)))\n#define MASK_OF_NUMBERS(x) {3}(x)\n"
      "#define CHOOSE(no, yes, mask) select(no, yes, mask)\n"
      "#define SPILL_NUMBERS(x, to) vstore{1}(x, 0, to);\n#define ALL(x) all(x)\n",
      is_wide ? "i64" : "i32", lanes, masks[std::countr_zero(itemsize(accumulator))],
      opencl_convert(is_wide ? "i64" : "i32", lanes));
}

}  // namespace

std::string better_words(const Operator& op, Dtype accumulator) {
  const char* sign = takes_smallest(op) ? "<" : ">";
  if (is_floating(accumulator))
    return fmt::format("#define IS_BETTER(x, y) (((x) {} (y)) | (((x) != (x)) & ((y) == (y))))\n",
                       sign);
  return fmt::format("#define IS_BETTER(x, y) ((x) {} (y))\n", sign);
}

std::string_view finish_words(bool to_parts) {
  return to_parts ? finish_part : finish_output;
}

KernelText arg_reduction_text(const Operator& op, const ArgText& text,
                              const Invocation& invocation) {
  if (text.groups) return group_arg_reduction_text(op, text, invocation);
  const Dtype accumulator = accumulator_of(text.dtype);
  const Elements elements{text.dtype, accumulator, accumulator, text.lanes};
  KernelText kernel;
  constexpr const char* names[] = {"rows", "strided_rows", "columns", "items", "join_parts"};
  kernel.name = kernel_name(op, text.dtype, names[static_cast<unsigned>(text.form)]);
  kernel.num_memory = 2;
  kernel.values = plan_fields();
  kernel.values.push_back({"numbers"});
  kernel.helpers = fmt::format(
      "{}{}{}{}#define TILE ({} * LANES)\n#define VECTORS {}\n#define COLUMNS (VECTORS * LANES)\n"
      "#define COLUMN(j) ((j) + 1 < count ? (j) * LANES : width - LANES)\n"
      "typedef struct {{ acc_t value; i64 number; }} best_t;\n",
      element_functions(elements), combine_functions(extreme(takes_smallest(op)), elements, true),
      element_choice(text.lanes, accumulator), better_words(op, accumulator),
      constants::argmax_tile_vectors, constants::argmax_vectors);
  kernel.helpers += finish_words(text.to_parts);
  switch (text.form) {
    case ArgForm::rows:
    case ArgForm::strided_rows:
      kernel.helpers += row_functions;
      kernel.body = rows_body;
      break;
    case ArgForm::columns: kernel.body = columns_body; break;
    case ArgForm::items: kernel.body = items_body; break;
    case ArgForm::join_parts: kernel.body = join_body; break;
  }
  return kernel;
}

}  // namespace bp::codegen
