// alone: its texts and their parts have the names that other kinds give to theirs
// Rows that accumulate along a dimension and keep every step.
//
// Lines are independent. Where there are few of them they are cut into chunks, whose number follows from
// the sizes: first each chunk's total, then what comes before each chunk, then the steps.
#include <algorithm>
#include <fmt/format.h>

#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "kinds/group_scan.hpp"
#include "kinds/kinds.hpp"
#include "kinds/reduction_space.hpp"
#include "kinds/reduction_text.hpp"

namespace bp::codegen {
namespace {

enum class Form : unsigned { lines, strided_lines, columns };
enum class Phase : unsigned { whole, totals, before, steps };

struct Text {
  Dtype dtype = Dtype::f32, accumulator = Dtype::f32;
  Form form = Form::lines;
  Phase phase = Phase::whole;
  unsigned lanes = 1;

  std::uint64_t variant() const {
    const auto shape = static_cast<unsigned>(form) * 4 + static_cast<unsigned>(phase);
    return (index(dtype) * 16 + shape) * 32 + lanes;
  }
};

// Work is shared out as pieces: a chunk of a line, or of up to COLUMNS neighbouring lines.
constexpr const char* pieces = R"(
  const i64 stride = v.reduced_in[0], out_stride = v.out_stride;
  const i64 end = v.units * (item0 + 1) / items0;
  for (i64 unit = v.units * item0 / items0; unit < end; ++unit) {
    PIECE
    const i64 first = v.count * chunk / v.parts, last = v.count * (chunk + 1) / v.parts;
    GLOBAL u8* in = m0 + v.from + IN_BYTES * place(line, v.kept, v.kept_in, v.kept_rank);
    GLOBAL u8* out = m1 + v.to + OUT_BYTES * place(line, v.kept, v.kept_out, v.kept_rank);
    (void)out; (void)out_stride;
    WORK
  }
)";

constexpr const char* piece_of_line =
    "#define PIECE const i64 line = unit % v.outputs, chunk = unit / v.outputs;\n";
// The last vector of a piece reaches back: what two vectors compute is the same.
constexpr const char* piece_of_columns = R"(
#define COLUMN(j) ((j) + 1 < count ? (j) * LANES : width - LANES)
#define PIECE \
    const i64 all = v.kept[v.kept_rank - 1], pieces = (all + COLUMNS - 1) / COLUMNS; \
    const i64 rest = unit / pieces, outer = v.outputs / all, column = unit % pieces * COLUMNS; \
    const i64 width = all - column < COLUMNS ? all - column : COLUMNS; \
    const i64 count = (width + LANES - 1) / LANES; \
    const i64 line = rest % outer * all + column, chunk = rest / outer;
)";

constexpr const char* total_of_line = R"(
#define WORK \
    acc_t total = IDENTITY; \
    i64 i = first; \
    if (VECTORS_IN_LINE) { \
      vec a0 = SPLAT(IDENTITY), a1 = a0; \
      for (; last - i >= 2 * LANES; i += 2 * LANES) { \
        a0 = combine_vec(a0, take_vec(in, i)); \
        a1 = combine_vec(a1, take_vec(in, i + LANES)); \
      } \
      total = join_lanes(join_vec(a0, a1)); \
    } \
    for (; i < last; ++i) total = combine(total, take(in, i * stride)); \
    put_acc(m2 + v.scratch, chunk * v.outputs + line, total);
)";
constexpr const char* total_of_columns = R"(
#define WORK \
    vec total[VECTORS]; \
    for (i64 j = 0; j < count; ++j) total[j] = SPLAT(IDENTITY); \
    for (i64 i = first; i < last; ++i) \
      for (i64 j = 0; j < count; ++j) \
        total[j] = combine_vec(total[j], take_vec(in, i * stride + COLUMN(j))); \
    for (i64 j = 0; j < count; ++j) \
      put_acc_vec(m2 + v.scratch, chunk * v.outputs + line + COLUMN(j), total[j]);
)";

// Within a vector, each lane first takes in those before it.
constexpr const char* steps_of_line = R"(
#define WORK \
    acc_t total = BEFORE; \
    i64 i = first; \
    for (; VECTORS_IN_LINE && last - i >= LANES; i += LANES) { \
      const vec x = join_vec(SPLAT(total), scan_lanes(combine_vec(SPLAT(IDENTITY), take_vec(in, i)))); \
      put_vec(out, i, x); \
      total = LAST_LANE(x); \
    } \
    for (; i < last; ++i) { \
      total = combine(total, take(in, i * stride)); \
      put(out, i * out_stride, total); \
    }
)";
constexpr const char* steps_of_columns = R"(
#define WORK \
    vec total[VECTORS]; \
    for (i64 j = 0; j < count; ++j) total[j] = BEFORE_VEC(COLUMN(j)); \
    for (i64 i = first; i < last; ++i) \
      for (i64 j = 0; j < count; ++j) { \
        const i64 at = COLUMN(j); \
        total[j] = combine_vec(total[j], take_vec(in, i * stride + at)); \
        put_vec(out, i * out_stride + at, total[j]); \
      }
)";

constexpr const char* before_body = R"(
  const i64 end = v.outputs * (item0 + 1) / items0;
  for (i64 line = v.outputs * item0 / items0; line < end; ++line) {
    acc_t before = INITIAL;
    for (i64 chunk = 0; chunk < v.parts; ++chunk) {
      const acc_t total = take_acc(m2 + v.scratch, chunk * v.outputs + line);
      put_acc(m2 + v.scratch, chunk * v.outputs + line, before);
      before = join(before, total);
    }
  }
)";

// Lanes moved up by 1, 2, 4 ...: x = join_vec((vec)(IDENTITY, x.s0, x.s1, x.s2), x).
std::string scan_lanes(unsigned lanes) {
  if (lanes == 1)
    return "#define VECTORS_IN_LINE 0\n#define LAST_LANE(x) (x)\n"
           "DEVICE vec scan_lanes(vec x) { return x; }\n";
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = fmt::format(
      "#define VECTORS_IN_LINE 1\n#define LAST_LANE(x) ((x).s{})\n"
      "DEVICE vec scan_lanes(vec x) {{\n",
      digits[lanes - 1]);
  for (unsigned by = 1; by < lanes; by *= 2) {
    std::string moved;
    for (unsigned lane = 0; lane < lanes; ++lane)
      moved += (lane ? ", " : "") +
               (lane < by ? std::string("IDENTITY") : fmt::format("x.s{}", digits[lane - by]));
    text += fmt::format("  x = join_vec((vec)({}), x);\n", moved);
  }
  return text + "  return x;\n}\n";
}

std::string before(const Text& text) {
  if (text.phase == Phase::steps)
    return fmt::format(
        "#define BEFORE take_acc(m2 + v.scratch, chunk * v.outputs + line)\n"
        "#define BEFORE_VEC(at) load_{}{}(m2 + v.scratch, chunk * v.outputs + line + (at))\n",
        suffix(text.accumulator), text.lanes > 1 ? fmt::format("x{}", text.lanes) : "");
  return "#define BEFORE INITIAL\n#define BEFORE_VEC(at) SPLAT(INITIAL)\n";
}

KernelText make_text(const Operator& op, const Combine& combine, const Text& text) {
  const Elements elements{text.dtype, text.dtype, text.accumulator, text.lanes};
  constexpr const char* forms[] = {"lines", "strided_lines", "columns"};
  constexpr const char* phases[] = {"", "_totals", "_before", "_steps"};
  KernelText kernel;
  kernel.name = kernel_name(op, text.dtype,
                            fmt::format("{}{}", forms[static_cast<unsigned>(text.form)],
                                        phases[static_cast<unsigned>(text.phase)]));
  kernel.num_memory = 3;
  kernel.values = plan_fields();
  kernel.values.push_back({"out_stride"});
  kernel.values.push_back({"scratch"});
  kernel.helpers = element_functions(elements) + combine_functions(combine, elements, false);
  if (text.phase == Phase::before) {
    kernel.body = before_body;
    return kernel;
  }
  const bool is_columns = text.form == Form::columns;
  const bool is_total = text.phase == Phase::totals;
  kernel.helpers += scan_lanes(text.lanes);
  kernel.helpers += before(text);
  kernel.helpers +=
      fmt::format("#define VECTORS {}\n#define COLUMNS (VECTORS * LANES)\n{}",
                  constants::scan_vectors, is_columns ? piece_of_columns : piece_of_line);
  if (is_total)
    kernel.helpers += is_columns ? total_of_columns : total_of_line;
  else
    kernel.helpers += is_columns ? steps_of_columns : steps_of_line;
  kernel.body = pieces;
  return kernel;
}

class Run {
 public:
  Run(const Operator& op, const Combine& combine, Invocation& invocation)
      : op_(op), combine_(combine), invocation_(invocation),
        plan_(invocation.tensor(0), invocation.output(), invocation.arg(1)) {}

  void operator()() {
    const bp_tensor &in = invocation_.tensor(0), &out = invocation_.output();
    const auto dtype = static_cast<Dtype>(out.dtype);
    if (in.dtype != out.dtype)
      throw_error(ErrorClass::unsupported,
                  fmt::format("{}: the kernel keeps the dtype; got {} for an output of {}",
                              op_.name(), name(static_cast<Dtype>(in.dtype)), name(dtype)));
    invocation_.require(dtype);
    text_.dtype = dtype;
    text_.accumulator = wide_accumulator(dtype);
    if (has_groups(invocation_))
      return scan_in_groups(op_, combine_, text_.accumulator, invocation_, plan_);
    choose();
    if (chunks_ == 1) return launch(Phase::whole, handle_of(out), 0);
    const bp_region scratch = invocation_.scratch(
        static_cast<std::uint64_t>(plan_.kept.numel * chunks_) * itemsize(text_.accumulator));
    const auto offset = static_cast<std::int64_t>(scratch.offset);
    for (Phase phase : {Phase::totals, Phase::before, Phase::steps})
      launch(phase, scratch.handle, offset);
  }

 private:
  // f32 sums are kept in f64 where the device has it: a long line loses nothing that way.
  Dtype wide_accumulator(Dtype dtype) const {
    const bool has_f64 = invocation_.info().compute_dtypes >> BP_F64 & 1u;
    if (dtype == Dtype::f32 && has_f64) return Dtype::f64;
    if (dtype == Dtype::complex64 && has_f64) return Dtype::complex128;
    return accumulator_of(dtype);
  }

  void choose() {
    const ReductionSpace &kept = plan_.kept, &line = plan_.reduced;
    const unsigned lanes = lanes_for(invocation_, text_.accumulator);
    units_ = kept.numel;
    std::int64_t of_unit = line.numel;
    if (line.strides[0][0] == 1 && line.strides[1][0] == 1) {
      text_.lanes = lanes;
    } else if (lanes > 1 && kept.inner_stride(0) == 1 && kept.inner_stride(1) == 1 &&
               kept.inner() >= lanes) {
      text_.form = Form::columns;
      text_.lanes = lanes;
      const std::int64_t width = constants::scan_vectors * lanes;
      units_ = kept.numel / kept.inner() * ((kept.inner() + width - 1) / width);
      of_unit *= std::min(width, kept.inner());
    } else {
      text_.form = Form::strided_lines;
    }
    const bool is_cpu = invocation_.for_cpu();
    const std::int64_t most = (is_cpu ? constants::cpu_scans : constants::gpu_scans) / units_;
    const std::int64_t worth = of_unit / (is_cpu ? constants::cpu_scanned : constants::gpu_scanned);
    chunks_ = std::max<std::int64_t>(
        1, std::min({most, worth, line.numel, constants::most_chunks_of_scan}));
  }

  void launch(Phase phase, bp_handle scratch, std::int64_t scratch_offset) {
    const bp_tensor &in = invocation_.tensor(0), &out = invocation_.output();
    Text text = text_;
    text.phase = phase;
    if (phase == Phase::before) text.form = Form::strided_lines, text.lanes = 1;
    bp_function* function =
        invocation_.function(text.variant(), [&] { return make_text(op_, combine_, text); });
    Values values = plan_values(plan_, {offset_of(in), offset_of(out), units_, chunks_});
    values.add(plan_.reduced.strides[1][0]).add(scratch_offset);
    Grid grid;
    grid.items[0] = phase == Phase::before
                        ? work_items(invocation_, plan_.kept.numel, plan_.kept.numel * chunks_)
                        : work_items(invocation_, units_ * chunks_, in.numel);
    invocation_.launch(function, grid, {handle_of(in), handle_of(out), scratch}, values);
  }

  const Operator& op_;
  const Combine& combine_;
  Invocation& invocation_;
  ReductionPlan plan_;
  Text text_;
  std::int64_t units_ = 1, chunks_ = 1;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_scan(const Operator& op) {
  return make_accumulating<Run>(op);
}

}  // namespace bp::codegen
