// alone: its texts and their parts have the names that other kinds give to theirs
// softmax and log_softmax along one dimension of any strides.
//
// Three passes over a line: the largest element; the exponentials' sum, while the next line comes into the
// cache; the result. Lines that lie in one run are taken as vectors; so are neighbouring lines across memory.
#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "dialect/helpers.hpp"
#include "kinds/group_softmax.hpp"
#include "kinds/kinds.hpp"
#include "kinds/reduction_space.hpp"
#include "kinds/reduction_text.hpp"
#include "kinds/sharing.hpp"

namespace bp::codegen {
namespace {

enum class Form : unsigned { lines, strided_lines, columns, streamed_lines };

struct Text {
  Dtype dtype = Dtype::f32;
  Form form = Form::lines;
  unsigned lanes = 1;

  std::uint64_t variant() const {
    return (index(dtype) * 4 + static_cast<unsigned>(form)) * 32 + lanes;
  }
};

// For x <= 0, or a NaN: 2^n * (1 + q), x = n * log(2) + r. On processors OpenCL's own takes twice as long
// (PoCL 3.1); here it is as much as memory leaves time for. What is less than 2^-125 is 0.
constexpr const char* exponential_of_vectors = R"(
DEVICE vec exponential(vec given) {
#pragma OPENCL FP_CONTRACT ON
  const vec x = select(given, SPLAT(-87.0f), given < -87.0f);
  const vec shifted = x * 0x1.715476p+0f + 0x1.8p23f, n = shifted - 0x1.8p23f;
  const vec r = n * -9.0580006145e-06f + (n * -6.9313812256e-01f + x);
  vec q = r * 0.001381453825160861f + 0.00836874544620514f;
  q = q * r + 0.04166838899254799f;
  q = q * r + 0.1666652113199234f;
  q = (r * r) * (q * r + 0.4999999403953552f) + r;
  const vec power = AS_VEC((AS_BITS(shifted) << 23) + 0x3f800000u);
  return select(power * q + power, SPLAT(0), given < -87.0f);
}
)";

// Sums of 8 terms are added up with what their rounding lost: equal terms are rounded to the same side again
// and again.
constexpr const char* shared_functions = R"(
#define ADD_EXACTLY(T, sum, lost, x) { \
    const T before_ = sum, with_ = before_ + (x), part_ = with_ - before_; \
    lost += (before_ - (with_ - part_)) + ((x) - part_); \
    sum = with_; }
DEVICE vec gather(GLOBAL u8* p, i64 i, i64 stride, i64 count) {
  acc_t lanes[LANES];
  for (i64 j = 0; j < LANES; ++j) lanes[j] = j < count ? take(p, (i + j) * stride) : -INFINITY;
  return fill(lanes);
}
DEVICE void scatter(GLOBAL u8* p, i64 i, i64 stride, i64 count, vec x) {
  acc_t lanes[LANES];
  spill(x, lanes);
  for (i64 j = 0; j < LANES && j < count; ++j) put(p, (i + j) * stride, lanes[j]);
}
)";

// A NaN is lost in fmax but not in the sum, which makes it of every result. What is left of a line after
// whole vectors is one more, filled up with -infinity: one exponential of a vector costs as much as that of
// an element.
constexpr const char* largest_function = R"(
DEVICE acc_t largest_of(GLOBAL u8* in, i64 stride, i64 count) {
  vec a0 = SPLAT(-INFINITY), a1 = a0, a2 = a0, a3 = a0;
  i64 i = 0;
  for (; count - i >= 4 * LANES; i += 4 * LANES) {
    a0 = larger(a0, TAKE_RUN(in, i));
    a1 = larger(a1, TAKE_RUN(in, i + LANES));
    a2 = larger(a2, TAKE_RUN(in, i + 2 * LANES));
    a3 = larger(a3, TAKE_RUN(in, i + 3 * LANES));
  }
  for (; count - i >= LANES; i += LANES) a0 = larger(a0, TAKE_RUN(in, i));
  if (i < count) a1 = larger(a1, gather(in, i, stride, count - i));
  return max_lanes(larger(larger(a0, a1), larger(a2, a3)));
}
)";

constexpr const char* line_functions = R"(
DEVICE void softmax_line(GLOBAL u8* in, i64 stride, GLOBAL u8* out, i64 out_stride, i64 count,
                         GLOBAL const u8* next) {
  const acc_t largest = largest_of(in, stride, count);
  vec sums = SPLAT(0), lost_of = SPLAT(0);
  i64 i = 0;
  while (count - i >= LANES) {
    vec terms = SPLAT(0);
    i64 steps = (count - i) / LANES;
    if (steps > 8) steps = 8;
    for (; steps > 1; steps -= 2, i += 2 * LANES) {
      const vec e0 = exponential(TAKE_RUN(in, i) - largest);
      const vec e1 = exponential(TAKE_RUN(in, i + LANES) - largest);
      FETCH(next, i)
      FETCH(next, i + LANES)
      KEEP_RUN(i, e0)
      KEEP_RUN(i + LANES, e1)
      terms += e0 + e1;
    }
    if (steps > 0) {
      const vec e = exponential(TAKE_RUN(in, i) - largest);
      KEEP_RUN(i, e)
      terms += e;
      i += LANES;
    }
    ADD_EXACTLY(vec, sums, lost_of, terms)
  }
  if (i < count) {
    const vec e = exponential(gather(in, i, stride, count - i) - largest);
    KEEP_REST(i, e)
    ADD_EXACTLY(vec, sums, lost_of, e)
  }
  const acc_t sum = sum_lanes(sums), lost = sum_lanes(lost_of);
  FACTOR(acc_t, factor, largest, sum, lost)
  for (i = 0; count - i >= LANES; i += LANES) PUT_RUN(out, i, RESULT_RUN(i))
  if (i < count) scatter(out, i, out_stride, count - i, RESULT_REST(i));
}
)";

constexpr const char* lines_body = R"(
  const i64 stride = v.reduced_in[0], out_stride = v.out_stride;
  const i64 end = v.units * (item0 + 1) / items0;
  i64 line = v.units * item0 / items0;
  GLOBAL u8* next = m0 + v.from + IN_BYTES * place(line, v.kept, v.kept_in, v.kept_rank);
  for (; line < end; ++line) {
    GLOBAL u8* const in = next;
    if (line + 1 < end)
      next = m0 + v.from + IN_BYTES * place(line + 1, v.kept, v.kept_in, v.kept_rank);
    softmax_line(in, stride, m1 + v.to + OUT_BYTES * place(line, v.kept, v.kept_out, v.kept_rank),
                 out_stride, v.count, v.count * IN_BYTES <= FETCHED_BYTES ? next : in);
  }
)";

// For large results, which go past the caches. What a line's results come from stays aside, and they are written while the
// next line's exponentials are computed and the largest element of the line after it is looked for, since such stores
// alone take as long as all of that; in two halves, since a processor fetches ahead within a page alone. PoCL 3.1, two
// cores of a Xeon, OpenCL C and SPIR-V: 33 and 33 GB/s; by whole lines 29 and 28; pass after pass, with what the next line
// needs fetched meanwhile, 34 and 23. A buffer of the application's may begin anywhere.
constexpr const char* streamed_functions = R"(
#define TAKE_AND_WRITE(i, e, a) \
  const vec x_##e = take_vec(in, i) - largest, next_##e = take_vec(next, i), e = exponential(x_##e); \
  if (is_aligned) { \
    STREAM_VEC(out, i, RESULT_OF_KEPT(kept[(i) / LANES], factor)); \
  } else if (has_kept) { \
    put_vec(out, i, RESULT_OF_KEPT(kept[(i) / LANES], factor)); \
  } \
  kept[(i) / LANES] = KEPT_OF(x_##e, e); \
  a = larger(a, next_##e);
)";
constexpr const char* streamed_body = R"(
  const i64 end = v.units * (item0 + 1) / items0, count = v.count;
  const i64 middle = count / (2 * LANES) * LANES;
  i64 line = v.units * item0 / items0;
  if (line >= end) return;
  vec kept[MOST_KEPT];
  GLOBAL u8 *out = m1, *next = m0 + v.from + IN_BYTES * place(line, v.kept, v.kept_in, v.kept_rank);
  acc_t next_largest = largest_of(next, 1, count), factor = 0;
  int has_kept = 0, is_aligned = 0;
  for (; line < end; ++line) {
    GLOBAL u8* const in = next;
    if (line + 1 < end)
      next = m0 + v.from + IN_BYTES * place(line + 1, v.kept, v.kept_in, v.kept_rank);
    const acc_t largest = next_largest;
    vec sums = SPLAT(0), lost_of = SPLAT(0), a0 = SPLAT(-INFINITY), a1 = a0;
    i64 i = 0;
    while (i < middle) {
      vec terms = SPLAT(0);
      i64 steps = (middle - i) / LANES;
      if (steps > 4) steps = 4;
      for (; steps > 0; --steps, i += LANES) {
        TAKE_AND_WRITE(i, e0, a0)
        TAKE_AND_WRITE(i + middle, e1, a1)
        terms += e0 + e1;
      }
      ADD_EXACTLY(vec, sums, lost_of, terms)
    }
    i += middle;
    if (count - i >= LANES) {
      TAKE_AND_WRITE(i, e, a0)
      ADD_EXACTLY(vec, sums, lost_of, e)
      i += LANES;
    }
    if (i < count) {
      const vec x = gather(in, i, 1, count - i) - largest, e = exponential(x);
      if (has_kept) scatter(out, i, 1, count - i, RESULT_OF_KEPT(kept[i / LANES], factor));
      kept[i / LANES] = KEPT_OF(x, e);
      a0 = larger(a0, gather(next, i, 1, count - i));
      ADD_EXACTLY(vec, sums, lost_of, e)
    }
    const acc_t sum = sum_lanes(sums), lost = sum_lanes(lost_of);
    FACTOR(acc_t, of_line, largest, sum, lost)
    factor = of_line;
    next_largest = max_lanes(larger(a0, a1));
    out = m1 + v.to + OUT_BYTES * place(line, v.kept, v.kept_out, v.kept_rank);
    has_kept = 1;
    is_aligned = (size_t)out % (LANES * OUT_BYTES) == 0;
  }
  i64 i = 0;
  for (; count - i >= LANES; i += LANES) put_vec(out, i, RESULT_OF_KEPT(kept[i / LANES], factor));
  if (i < count) scatter(out, i, 1, count - i, RESULT_OF_KEPT(kept[i / LANES], factor));
)";

// Longer lines leave the cache before their turn comes. Modules of SPIR-V have no word for it that PoCL listens to: a load
// that nobody may leave out does most of the same.
constexpr const char* fetches = R"(
#if defined(__clang__) && defined(__x86_64__)
#define FETCH(p, i) __builtin_prefetch((const __private void*)(size_t)((p) + (i) * IN_BYTES));
#elif defined(__SPIR__)
#define FETCH(p, i) (void)*(volatile GLOBAL const u8*)((p) + (i) * IN_BYTES);
#else
#define FETCH(p, i)
#endif
)";
constexpr const char* no_fetches = R"(
#define FETCH(p, i)
)";

// The last vector of a piece reaches back: what two vectors compute is the same.
constexpr const char* columns_body = R"(
  const i64 width_of_all = v.kept[v.kept_rank - 1];
  const i64 blocks = (width_of_all + COLUMNS - 1) / COLUMNS;
  const i64 stride = v.reduced_in[0], out_stride = v.out_stride;
  const i64 end = v.units * (item0 + 1) / items0;
  for (i64 unit = v.units * item0 / items0; unit < end; ++unit) {
    const i64 column = unit % blocks * COLUMNS;
    const i64 line = unit / blocks * width_of_all + column;
    const i64 width = width_of_all - column < COLUMNS ? width_of_all - column : COLUMNS;
    const i64 count = (width + LANES - 1) / LANES;
    GLOBAL u8* in = m0 + v.from + IN_BYTES * place(line, v.kept, v.kept_in, v.kept_rank);
    GLOBAL u8* out = m1 + v.to + OUT_BYTES * place(line, v.kept, v.kept_out, v.kept_rank);
    vec largest[VECTORS], sum[VECTORS], lost[VECTORS];
    for (i64 j = 0; j < count; ++j) {
      largest[j] = SPLAT(-INFINITY);
      sum[j] = SPLAT(0);
      lost[j] = SPLAT(0);
    }
    for (i64 i = 0; i < v.count; ++i)
      for (i64 j = 0; j < count; ++j)
        largest[j] = larger(largest[j], take_vec(in, i * stride + COLUMN(j)));
    for (i64 i = 0; i < v.count; ++i)
      for (i64 j = 0; j < count; ++j) {
        const vec e = exponential(take_vec(in, i * stride + COLUMN(j)) - largest[j]);
        ADD_EXACTLY(vec, sum[j], lost[j], e)
      }
    for (i64 j = 0; j < count; ++j) {
      FACTOR(vec, factor, largest[j], sum[j], lost[j])
      sum[j] = factor;
    }
    for (i64 i = 0; i < v.count; ++i)
      for (i64 j = 0; j < count; ++j) {
        const vec x = take_vec(in, i * stride + COLUMN(j)) - largest[j];
        put_vec(out, i * out_stride + COLUMN(j), RESULT_OF(x, sum[j]));
      }
  }
)";

// How a result comes from the shifted element x and what its line gives.
constexpr const char* softmax_macros = R"(
#define FACTOR(T, name, largest, sum, lost) const T name = 1 / (sum + lost);
#define RESULT_OF(x, factor) (exponential(x) * (factor))
#define KEPT_OF(x, exponential) (exponential)
#define RESULT_OF_KEPT(kept, factor) ((kept) * (factor))
)";
constexpr const char* log_softmax_macros = R"(
#define FACTOR(T, name, largest, sum, lost) const T name = log(sum) + lost / sum;
#define RESULT_OF(x, factor) ((x) - (factor))
#define KEPT_OF(x, exponential) (x)
#define RESULT_OF_KEPT(kept, factor) ((kept) - (factor))
)";

// Exponentials that the output can hold as they are computed once.
constexpr const char* kept_exponentials = R"(
#define KEEP_RUN(i, e) PUT_RUN(out, i, e)
#define KEEP_REST(i, e) scatter(out, i, out_stride, count - (i), e);
#define RESULT_RUN(i) (TAKE_OWN(out, i) * factor)
#define RESULT_REST(i) (gather(out, i, out_stride, count - (i)) * factor)
)";
constexpr const char* no_kept_exponentials = R"(
#define KEEP_RUN(i, e)
#define KEEP_REST(i, e)
#define RESULT_RUN(i) RESULT_OF(TAKE_RUN(in, i) - largest, factor)
#define RESULT_REST(i) RESULT_OF(gather(in, i, stride, count - (i)) - largest, factor)
)";

constexpr const char* neighbours = R"(
#define TAKE_RUN(p, i) take_vec(p, i)
#define TAKE_OWN(p, i) take_vec(p, i)
#define PUT_RUN(p, i, x) put_vec(p, i, x);
)";
constexpr const char* with_strides = R"(
#define TAKE_RUN(p, i) gather(p, i, stride, LANES)
#define TAKE_OWN(p, i) gather(p, i, out_stride, LANES)
#define PUT_RUN(p, i, x) scatter(p, i, out_stride, LANES, x);
)";

// The words of vectors of the accumulator's type: the functions of a single lane are C's own.
std::string vector_words(Dtype accumulator, unsigned lanes) {
  if (lanes == 1) return "#define exponential exp\n#define larger fmax\n";
  // A NaN may be lost or not.
  std::string text = "#define larger(x, y) select(y, x, (x) > (y))\n";
  if (accumulator != Dtype::f32) return text + "#define exponential exp\n";
  text += fmt::format("#define AS_VEC(x) as_{}(x)\n#define AS_BITS(x) as_{}(x)\n",
                      opencl_type("f32", lanes), opencl_type("u32", lanes));
  return text + exponential_of_vectors;
}

KernelText make_text(const Operator& op, bool log, const Text& text) {
  const Dtype accumulator = accumulator_of(text.dtype);
  const Elements elements{text.dtype, text.dtype, accumulator, text.lanes};
  KernelText kernel;
  constexpr const char* names[] = {"lines", "strided_lines", "columns", "streamed_lines"};
  kernel.name = kernel_name(op, text.dtype, names[static_cast<unsigned>(text.form)]);
  kernel.num_memory = 2;
  kernel.values = plan_fields();
  kernel.values.push_back({"out_stride"});
  kernel.helpers = element_functions(elements);
  kernel.helpers += fold_lanes("sum_lanes", "x + y", text.lanes);
  kernel.helpers += fold_lanes("max_lanes", "fmax(x, y)", text.lanes);
  kernel.helpers += vector_words(accumulator, text.lanes);
  kernel.helpers += shared_functions;
  kernel.helpers += log ? log_softmax_macros : softmax_macros;
  if (text.form == Form::columns) {
    kernel.helpers += fmt::format(
        "#define VECTORS {}\n#define COLUMNS {}\n"
        "#define COLUMN(j) ((j) + 1 < count ? (j) * LANES : width - LANES)\n",
        constants::softmax_vectors, constants::softmax_vectors * text.lanes);
    kernel.body = columns_body;
    return kernel;
  }
  kernel.helpers += text.form == Form::strided_lines ? with_strides : neighbours;
  kernel.helpers += largest_function;
  if (text.form == Form::streamed_lines) {
    kernel.helpers += fmt::format(
        "#define MOST_KEPT {}\n#define STREAM_VEC stream_{}x{}\n",
        constants::softmax_kept_bytes / (std::int64_t{text.lanes} * itemsize(accumulator)),
        suffix(text.dtype), text.lanes);
    kernel.helpers += streamed_functions;
    kernel.body = streamed_body;
    return kernel;
  }
  kernel.helpers += !log && text.dtype == accumulator ? kept_exponentials : no_kept_exponentials;
  const bool fetches_next = text.form == Form::lines && text.lanes > 1;
  kernel.helpers += fmt::format("\n#define FETCHED_BYTES {}",
                                fetches_next ? constants::softmax_fetched_bytes : 0);
  kernel.helpers += fetches_next ? fetches : no_fetches;
  kernel.helpers += line_functions;
  kernel.body = lines_body;
  return kernel;
}

class Softmax final : public GeneratedKernel {
 public:
  explicit Softmax(const Operator& op)
      : op_(op), log_(std::string_view(op.name()) == "log_softmax") {
    places = strided_places(op, op.dtypes);
    uses_scratch = true;
  }

  void run(Invocation& invocation) const override {
    const bp_tensor &in = invocation.tensor(0), &out = invocation.output();
    const auto dtype = static_cast<Dtype>(in.dtype);
    invocation.require(dtype);
    ReductionPlan plan(in, out, invocation.arg(1));
    if (has_groups(invocation)) return softmax_in_groups(op_, log_, invocation, plan);
    const ReductionSpace &kept = plan.kept, &line = plan.reduced;
    Text text;
    text.dtype = dtype;
    const unsigned lanes = lanes_for(invocation, accumulator_of(dtype));
    std::int64_t units = kept.numel;
    if (line.strides[0][0] == 1 && line.strides[1][0] == 1) {
      text.lanes = lanes;
      if (lanes > 1 && line.numel >= std::int64_t{2} * lanes && is_streamed(invocation, out) &&
          std::int64_t{lanes} * itemsize(dtype) >= line_bytes &&
          line.numel * std::int64_t{itemsize(accumulator_of(dtype))} <=
              constants::softmax_kept_bytes)
        text.form = Form::streamed_lines;
    } else if (lanes > 1 && kept.inner_stride(0) == 1 && kept.inner_stride(1) == 1 &&
               kept.inner() >= lanes) {
      text.form = Form::columns;
      text.lanes = lanes;
      const std::int64_t width = std::int64_t{constants::softmax_vectors} * lanes;
      units = kept.numel / kept.inner() * ((kept.inner() + width - 1) / width);
    } else {
      text.form = Form::strided_lines;
      text.lanes = lanes;
    }
    bp_function* function =
        invocation.function(text.variant(), [&] { return make_text(op_, log_, text); });
    Values values = plan_values(plan, {offset_of(in), offset_of(out), units, 1});
    values.add(line.strides[1][0]);
    Grid grid;
    grid.items[0] = work_items(invocation, units, in.numel);
    invocation.launch(function, grid, {handle_of(in), handle_of(out)}, values);
  }

 private:
  const Operator& op_;
  bool log_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_softmax(const Operator& op) {
  return std::make_unique<Softmax>(op);
}

}  // namespace bp::codegen
