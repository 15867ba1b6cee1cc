#include "kinds/reduction_text.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <limits>

#include "constants.hpp"
#include "dialect/expression_text.hpp"
#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

bool is_accumulator(const Operator& op, std::uint16_t step) {
  return op.nodes[step].code == BP_X_ACC;
}

std::optional<double> identity_of(std::uint16_t code) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (code) {
    case BP_X_ADD:
    case BP_X_OR: return 0.0;
    case BP_X_MUL:
    case BP_X_AND: return 1.0;
    case BP_X_MAX: return -infinity;
    case BP_X_MIN: return infinity;
    default: return {};
  }
}

// The element's part must not look at the accumulator, nor at other arguments.
bool is_of_element_alone(const Operator& op) {
  for (std::uint32_t i = 0; i + 1 < op.num_nodes; ++i) {
    const bp_expr_node& node = op.nodes[i];
    if (node.code == BP_X_ARG && node.a != 0) return false;
    for (const std::uint16_t step : steps_read_by(node))
      if (is_accumulator(op, step)) return false;
  }
  return true;
}

// `value` of type `from` as `to`; both computing types.
std::string converted(std::string_view value, Dtype from, Dtype to) {
  if (compute_type(from) == compute_type(to)) return std::string(value);
  if (!is_complex(to)) return fmt::format("({})({})", compute_type(to), value);
  const char* part = to == Dtype::complex64 ? "f32" : "f64";
  return fmt::format("make_{0}(({1})({2}).re, ({1})({2}).im)", compute_type(to), part, value);
}

std::string scalar_functions(const Elements& e) {
  const std::string put = converted("x", e.accumulator, e.out);
  std::string text = fmt::format(
      "typedef {} acc_t;\n#define IN_BYTES {}\n#define OUT_BYTES {}\n#define ACC_BYTES {}\n"
      "#define LANES {}\n",
      compute_type(e.accumulator), itemsize(e.in), itemsize(e.out), itemsize(e.accumulator),
      e.lanes);
  text += fmt::format("DEVICE acc_t take(GLOBAL u8* p, i64 i) {{ return {}; }}\n",
                      converted(fmt::format("load_{}(p, i)", suffix(e.in)), e.in, e.accumulator));
  text += fmt::format("DEVICE void put(GLOBAL u8* p, i64 i, acc_t x) {{ store_{}(p, i, {}); }}\n",
                      suffix(e.out), put);
  text += fmt::format("DEVICE acc_t take_acc(GLOBAL u8* p, i64 i) {{ return load_{}(p, i); }}\n",
                      suffix(e.accumulator));
  text +=
      fmt::format("DEVICE void put_acc(GLOBAL u8* p, i64 i, acc_t x) {{ store_{}(p, i, x); }}\n",
                  suffix(e.accumulator));
  return text;
}

constexpr const char* single_lane = R"(
typedef acc_t vec;
#define SPLAT(x) (x)
#define take_vec take
#define put_vec put
#define put_acc_vec put_acc
DEVICE void spill(vec x, acc_t* lanes) { lanes[0] = x; }
DEVICE vec fill(const acc_t* lanes) { return lanes[0]; }
)";

// `value`, LANES of computing type `from`, as `to`.
std::string converted_vector(std::string_view value, Dtype from, Dtype to, unsigned lanes) {
  if (compute_type(from) == compute_type(to)) return std::string(value);
  return fmt::format("{}({})", opencl_convert(compute_type(to), lanes), value);
}

std::string vector_functions(const Elements& e) {
  std::string text = fmt::format("typedef {}x{} vec;\n#define SPLAT(x) ((vec)(x))\n",
                                 compute_type(e.accumulator), e.lanes);
  const std::string load = fmt::format("load_{}x{}(p, i)", suffix(e.in), e.lanes);
  text += fmt::format("DEVICE vec take_vec(GLOBAL u8* p, i64 i) {{ return {}; }}\n",
                      converted_vector(load, e.in, e.accumulator, e.lanes));
  text +=
      fmt::format("DEVICE void put_vec(GLOBAL u8* p, i64 i, vec x) {{ store_{}x{}(p, i, {}); }}\n",
                  suffix(e.out), e.lanes, converted_vector("x", e.accumulator, e.out, e.lanes));
  text += fmt::format(
      "DEVICE void put_acc_vec(GLOBAL u8* p, i64 i, vec x) {{ store_{}x{}(p, i, x); }}\n",
      suffix(e.accumulator), e.lanes);
  text += fmt::format(
      "DEVICE void spill(vec x, acc_t* lanes) {{ vstore{0}(x, 0, lanes); }}\n"
      "DEVICE vec fill(const acc_t* lanes) {{ return vload{0}(0, lanes); }}\n",
      e.lanes);
  return text;
}

constexpr const char* place_function = R"(
DEVICE i64 place(i64 number, const i64* sizes, const i64* strides, i64 rank) {
  i64 at = 0;
  index_t rest = (index_t)number;
  KEEP_LOOP for (i64 d = rank - 1; d > 0; --d) {
    const index_t size = (index_t)sizes[d], outer = rest / size;
    at += (i64)(rest - outer * size) * strides[d];
    rest = outer;
  }
  return at + (i64)rest * strides[0];
}
)";

std::string function_of(std::string_view name, std::string_view type,
                        std::span<const bp_expr_node> nodes, Dtype dtype, unsigned lanes) {
  Operands operands;
  operands.argument = [](std::uint32_t) { return std::string("element"); };
  operands.accumulated = "so_far";
  std::string statements;
  const std::string result = emit_expression(nodes, dtype, lanes, operands, statements);
  return fmt::format("DEVICE {0} {1}({0} so_far, {0} element) {{\n{2}  return {3};\n}}\n", type,
                     name, statements, result);
}

}  // namespace

std::optional<Combine> find_combine(const Operator& op) {
  if (op.num_nodes < 3) return {};
  const bp_expr_node& last = op.nodes[op.num_nodes - 1];
  const std::optional<double> identity = identity_of(last.code);
  if (!identity || is_accumulator(op, last.a) == is_accumulator(op, last.b)) return {};
  if (!is_of_element_alone(op)) return {};
  Combine combine;
  combine.element = {op.nodes, op.num_nodes};
  combine.partial[0].code = BP_X_ACC;
  combine.partial[1].code = BP_X_ARG;
  combine.partial[2].code = last.code;
  combine.partial[2].a = is_accumulator(op, last.a) ? 0 : 1;
  combine.partial[2].b = is_accumulator(op, last.a) ? 1 : 0;
  combine.identity = *identity;
  combine.initial = op.initial;
  return combine;
}

Dtype accumulator_of(Dtype dtype) {
  return compute_type(dtype) == "f32" ? Dtype::f32 : dtype;
}

unsigned lanes_for(const Invocation& invocation, Dtype accumulator) {
  if (!invocation.for_cpu() || invocation.device.language() != Language::opencl_c ||
      !has_vector_form(accumulator))
    return 1;
  const unsigned bytes = invocation.info().vector_bytes ? invocation.info().vector_bytes : 64;
  return std::clamp(bytes / static_cast<unsigned>(itemsize(accumulator)), 4u, 16u);
}

std::string element_functions(const Elements& elements) {
  return scalar_functions(elements) +
         (elements.small ? "typedef u32 index_t;\n" : "typedef i64 index_t;\n") +
         (elements.lanes > 1 ? vector_functions(elements) : std::string(single_lane)) +
         place_function;
}

std::string pack_functions(const Elements& e, unsigned pack) {
  std::string text = fmt::format("#define PACK {}\n", pack);
  if (pack == 1)
    return text +
           "DEVICE void take_pack(GLOBAL u8* p, i64 i, acc_t* x) { x[0] = take(p, i); }\n"
           "DEVICE void put_pack(GLOBAL u8* p, i64 i, const acc_t* x) { put(p, i, x[0]); }\n";
  text += fmt::format(
      "DEVICE void take_pack(GLOBAL u8* p, i64 i, acc_t* x) {{\n  {} raw[{}];\n"
      "  loads_{}_{}(p, i, raw);\n  UNROLL for (int k = 0; k < {}; ++k) x[k] = {};\n}}\n",
      compute_type(e.in), pack, suffix(e.in), pack, pack, converted("raw[k]", e.in, e.accumulator));
  return text +
         fmt::format(
             "DEVICE void put_pack(GLOBAL u8* p, i64 i, const acc_t* x) {{\n  {} raw[{}];\n"
             "  UNROLL for (int k = 0; k < {}; ++k) raw[k] = {};\n  stores_{}_{}(p, i, raw);\n}}\n",
             compute_type(e.out), pack, pack, converted("x[k]", e.accumulator, e.out),
             suffix(e.out), pack);
}

std::string combine_functions(const Combine& combine, const Elements& elements, bool of_partials) {
  const Dtype dtype = elements.accumulator;
  const std::span<const bp_expr_node> partial = combine.partial;
  const std::span<const bp_expr_node> element = of_partials ? partial : combine.element;
  std::string text = fmt::format("#define IDENTITY {}\n#define INITIAL {}\n",
                                 literal(combine.identity, dtype), literal(combine.initial, dtype));
  text += function_of("combine", "acc_t", element, dtype, 1);
  text += function_of("join", "acc_t", partial, dtype, 1);
  if (elements.lanes > 1) {
    text += function_of("combine_vec", "vec", element, dtype, elements.lanes);
    text += function_of("join_vec", "vec", partial, dtype, elements.lanes);
  } else {
    text += "#define combine_vec combine\n#define join_vec join\n";
  }
  return text + fold_lanes("join_lanes", "join_vec(x, y)", elements.lanes);
}

// By halves: y = x.s23232323, x = joined, and so on; the result is in the first lane.
std::string fold_lanes(std::string_view name, std::string_view joined, unsigned lanes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = fmt::format("DEVICE acc_t {}(vec x) {{\n", name);
  for (unsigned half = lanes / 2; half > 0; half /= 2) {
    std::string upper;
    for (unsigned lane = 0; lane < lanes; ++lane) upper += digits[half + lane % half];
    text += fmt::format("  {{ const vec y = x.s{}; x = {}; }}\n", upper, joined);
  }
  return text + (lanes > 1 ? "  return x.s0;\n}\n" : "  return x;\n}\n");
}

std::string kernel_name(const Operator& op, Dtype dtype, std::string_view what) {
  std::string name = fmt::format("{}_{}_{}", op.name(), suffix(dtype), what);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::uint64_t work_items(const Invocation& invocation, std::int64_t units, std::int64_t elements) {
  if (!invocation.for_cpu()) return static_cast<std::uint64_t>(units);
  const std::int64_t most = std::min(units, std::int64_t{constants::items_per_core} *
                                                std::max(1u, invocation.info().compute_units));
  return static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(elements / constants::line_elements, 1, most));
}

}  // namespace bp::codegen
