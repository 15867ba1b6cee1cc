// alone: its words have the names that other kinds give to theirs
#include "kinds/norm.hpp"

#include <fmt/format.h>
#include <string_view>

#include "kinds/kinds.hpp"
#include "kinds/numbers.hpp"
#include "kinds/team.hpp"

namespace bp::codegen {
namespace {

const bp_tensor* tensor_at(const Invocation& invocation, std::uint32_t place) {
  const bp_value& value = invocation.arg(place);
  return value.tag == BP_TENSOR ? value.u.tensor : nullptr;
}

// The result's first byte is never asked for where there is none.
bp_handle handle_of(const bp_tensor* tensor, const bp_tensor* instead) {
  return codegen::handle_of(tensor ? *tensor : *instead);
}
std::int64_t offset_of(const bp_tensor* tensor) {
  return tensor ? codegen::offset_of(*tensor) : 0;
}

constexpr const char* shared_words = R"(
#define A(row) (m0 + (v.a + IN_BYTES * (row) * v.count))
#define OUT(row) (m1 + (v.out + OUT_BYTES * (row) * v.count))
#define MEANS (m2 + v.means)
#define RSTDS (m3 + v.rstds)
#define WEIGHT (m4 + v.weight)
#define BIAS (m5 + v.other)
#define GRAD(row) (m5 + (v.other + IN_BYTES * (row) * v.count))
#define SCRATCH (m6 + v.scratch)
typedef struct { acc_t x, y; } sums_t;
typedef struct { acc_t mean, lost, rstd; } statistics_t;
DEVICE acc_t add(acc_t a, acc_t b) { return a + b; }
DEVICE sums_t add_sums(sums_t a, sums_t b) {
  const sums_t s = { a.x + b.x, a.y + b.y };
  return s;
}
DEVICE statistics_t statistics_of(acc_t mean, sums_t sums, acc_t count, acc_t eps) {
  statistics_t s;
  s.mean = mean;
  s.lost = sums.x / count;
  const acc_t variance = sums.y / count - s.lost * s.lost;
  s.rstd = 1 / sqrt((variance < 0 ? 0 : variance) + eps);
  return s;
}
)";

// A row with an infinite element has an infinite mean, which has lost NaN.
constexpr const char* centered_words = R"(
#define NORMALIZED(x, s) (((x) - s.mean - s.lost) * s.rstd)
#define GRADIENT(g, flat, s, sums) (((g) - sums.x - (flat) * sums.y) * s.rstd)
DEVICE void put_statistics(GLOBAL u8* means, GLOBAL u8* rstds, i64 row, statistics_t s) {
  put_acc(means, row, s.lost == s.lost ? s.mean + s.lost : s.mean);
  put_acc(rstds, row, s.rstd);
}
DEVICE statistics_t take_statistics(GLOBAL u8* means, GLOBAL u8* rstds, i64 row) {
  const statistics_t s = { take_acc(means, row), 0, take_acc(rstds, row) };
  return s;
}
)";
constexpr const char* uncentered_words = R"(
#define NORMALIZED(x, s) ((x) * s.rstd)
#define GRADIENT(g, flat, s, sums) (((g) - (flat) * sums.y) * s.rstd)
DEVICE void put_statistics(GLOBAL u8* means, GLOBAL u8* rstds, i64 row, statistics_t s) {
  put_acc(rstds, row, s.rstd);
}
DEVICE statistics_t take_statistics(GLOBAL u8* means, GLOBAL u8* rstds, i64 row) {
  const statistics_t s = { 0, 0, take_acc(rstds, row) };
  return s;
}
)";

// native_layer_norm, native_rms_norm and norm_backward, norm_weight_backward, norm_gradients.
class Norm final : public GeneratedKernel {
 public:
  explicit Norm(const Operator& op) : op_(op) {
    places = strided_places(op, op.dtypes);
    for (bp_arg& place : places)
      if (place.layouts) place.layouts = BP_LAYOUT_CONTIGUOUS;
    uses_scratch = true;
  }

  void run(Invocation& invocation) const override {
    const NormCall call(op_, invocation);
    invocation.require(call.dtype);
    const bool in_groups = has_groups(invocation);
    if (call.by_weight && call.out && in_groups && norm_gradients_in_groups(invocation, call))
      return;
    if (call.out) in_groups ? norm_in_groups(invocation, call) : norm_of_lines(invocation, call);
    if (call.by_weight) norm_columns(invocation, call);
  }

 private:
  const Operator& op_;
};

}  // namespace

NormCall::NormCall(const Operator& of, const Invocation& invocation)
    : op(of), is_backward(std::string_view(of.name()).starts_with("norm_")) {
  const std::string_view name = op.name();
  const std::uint32_t first = is_backward;  // behind the gradient by the result
  a = tensor_at(invocation, first);
  dtype = static_cast<Dtype>(a->dtype);
  const bp_value& shape = invocation.arg(first + 1);
  for (std::uint32_t i = 0; i < shape.aux; ++i)
    count *= static_cast<const std::int64_t*>(shape.u.ptr)[i];
  rows = a->numel / count;
  if (!is_backward) {
    centers = name == "native_layer_norm";
    weight = tensor_at(invocation, 2);
    if (centers) other = tensor_at(invocation, 3);
    eps = invocation.arg(centers ? 4 : 3);
    out = &invocation.output(0);
    if (centers) mean = &invocation.output(1);
    rstd = &invocation.output(centers ? 2 : 1);
    return;
  }
  other = tensor_at(invocation, 0);
  mean = tensor_at(invocation, 3);
  rstd = tensor_at(invocation, 4);
  centers = mean;
  const bool is_weights_alone = name == "norm_weight_backward";
  if (!is_weights_alone) {
    weight = tensor_at(invocation, 5);
    out = &invocation.output(0);
  }
  if (name != "norm_backward") by_weight = &invocation.output(is_weights_alone ? 0 : 1);
  if (name == "norm_gradients" && centers) by_bias = &invocation.output(2);
}

std::uint64_t NormCall::number() const {
  return index(dtype) << 4 | static_cast<std::uint64_t>(centers) << 3 |
         static_cast<std::uint64_t>(weight != nullptr) << 2 |
         static_cast<std::uint64_t>(other != nullptr) << 1 |
         static_cast<std::uint64_t>(by_bias != nullptr);
}

void launch_norm(Invocation& invocation, const NormCall& call, bp_function* function,
                 const Grid& grid, const NormLaunch& launch) {
  Values values;
  for (const bp_tensor* each : {call.a, call.out, call.mean, call.rstd, call.weight, call.other})
    values.add(offset_of(each));
  values.add(static_cast<std::int64_t>(launch.scratch.offset));
  values.add(call.rows).add(call.count).add(launch.parts).add(launch.piece);
  add_number(values, call.eps, call.accumulator());
  const bp_handle a = codegen::handle_of(*call.a);
  invocation.launch(
      function, grid,
      {a, handle_of(call.out, call.a), handle_of(call.mean, call.a), handle_of(call.rstd, call.a),
       handle_of(call.weight, call.a), handle_of(call.other, call.a),
       launch.scratch.bytes ? launch.scratch.handle : a},
      values);
}

KernelText norm_text(const NormCall& call, std::string_view what, unsigned lanes) {
  const Elements elements{call.dtype, call.dtype, call.accumulator(), lanes};
  KernelText kernel;
  kernel.name = kernel_name(call.op, call.dtype, what);
  kernel.num_memory = 7;
  for (const char* name : {"a", "out", "means", "rstds", "weight", "other", "scratch", "rows",
                           "count", "parts", "piece"})
    kernel.values.push_back({name});
  kernel.values.push_back(number_field("eps", call.accumulator()));
  kernel.helpers = element_functions(elements);
  kernel.helpers += shared_words;
  kernel.helpers += call.centers ? centered_words : uncentered_words;
  kernel.helpers +=
      fmt::format("#define EPS {}\n#define WEIGHTED(x, w) {}\n#define SHIFTED(x, b) {}\n",
                  number_text("v.eps", call.accumulator()), call.weight ? "((x) * (w))" : "(x)",
                  call.other && !call.is_backward ? "((x) + (b))" : "(x)");
  return kernel;
}

std::unique_ptr<GeneratedKernel> make_norm(const Operator& op) {
  return std::make_unique<Norm>(op);
}

}  // namespace bp::codegen
