#include "dialect/expression_text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <vector>

#include <backplane/generated/steps.h>
#include <backplane/tensor/error.hpp>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

const bp_step_facts& facts_of(std::uint16_t code) {
  return bp_steps[code < BP_NUM_X ? code : 0];
}
int num_operands(std::uint16_t code) {
  return facts_of(code).num_operands;
}
bool is_comparison(std::uint16_t code) {
  return facts_of(code).kind == BP_STEP_COMPARISON;
}
bool is_logic(std::uint16_t code) {
  return facts_of(code).kind == BP_STEP_LOGIC;
}
bool is_bitwise(std::uint16_t code) {
  return facts_of(code).kind == BP_STEP_BITWISE;
}

std::vector<bool> find_masks(std::span<const bp_expr_node> nodes) {
  const std::uint64_t arguments = mask_arguments(nodes);
  std::vector<bool> is_mask(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bp_expr_node& node = nodes[i];
    if (node.code == BP_X_ARG)
      is_mask[i] = node.a < 64 && (arguments >> node.a & 1u);
    else if (node.code == BP_X_SELECT)
      is_mask[i] = is_mask[node.b] && is_mask[node.c];
    else
      is_mask[i] = is_comparison(node.code) || is_logic(node.code);
  }
  return is_mask;
}

// As functions of the dialect are called, and messages.
const char* step_name(std::uint16_t code) {
  return is_bitwise(code) && facts_of(code).symbol ? facts_of(code).symbol : facts_of(code).name;
}

struct Value {
  std::string text;
  bool is_mask = false;
};

// A mask is a u8, 0 or 1; of vectors, -1 or 0 in the signed integer of the computing type's size, as
// comparisons give it. Of bool all values are masks of u8.
class Emitter {
 public:
  Emitter(std::span<const bp_expr_node> nodes, Dtype dtype, unsigned width,
          const Operands& operands, std::string& statements)
      : nodes_(nodes), dtype_(dtype), width_(width), operands_(operands), statements_(statements),
        is_bool_(dtype == Dtype::boolean), type_(compute_type(dtype)),
        mask_(is_bool_ || width == 1 ? "u8" : signed_of(type_)), is_mask_(find_masks(nodes)),
        values_(nodes.size()) {
    if (width > 1 && !has_vector_form(dtype)) refuse("a vector", dtype);
  }

  std::string emit() {
    const std::size_t last = nodes_.size() - 1;
    const Value result = value_of(last);
    if (!is_mask_[last]) return as_number(result);
    std::string mask = as_mask(result);
    if (is_bool_ || width_ == 1) return mask;
    return keep("u8",
                fmt::format("{}({} & ({})(1))", opencl_convert("u8", width_), mask, wide(mask_)));
  }

 private:
  [[noreturn]] static void refuse(std::string_view step, Dtype dtype) {
    throw_error(ErrorClass::unsupported,
                fmt::format("codegen: no step '{}' of {}; cast the arguments to another dtype",
                            step, name(dtype)));
  }

  std::string wide(std::string_view element) const {
    return width_ == 1 ? std::string(element) : fmt::format("{}x{}", element, width_);
  }

  // Names are told apart by where in the statements they are made.
  std::string keep(std::string_view element, std::string_view value) {
    std::string name = fmt::format("x{}_{}", statements_.size(), width_);
    statements_ += fmt::format("  const {} {} = {};\n", wide(element), name, value);
    return name;
  }
  Value number(std::string_view value) { return {keep(type_, value), is_bool_}; }
  Value mask(std::string_view value) { return {keep(mask_, value), true}; }

  // From the result down, so that what nobody uses is not computed.
  Value value_of(std::size_t index) {
    Value& value = values_[index];
    if (value.text.empty()) value = make(nodes_[index], is_mask_[index]);
    return value;
  }

  Value make(const bp_expr_node& node, bool is_mask) {
    switch (node.code) {
      case BP_X_ARG: return argument(node.a, is_mask);
      case BP_X_ACC: return number(operands_.accumulated);
      case BP_X_CONST: return number(constant(node.imm));
      case BP_X_SELECT: return select(node, is_mask);
      default: break;
    }
    const Value a = value_of(node.a);
    const Value b = num_operands(node.code) > 1 ? value_of(node.b) : Value{};
    if (is_logic(node.code)) return logic(node.code, as_mask(a), b.text.empty() ? "" : as_mask(b));
    if (is_bitwise(node.code))
      return bitwise(node.code, as_number(a), b.text.empty() ? "" : as_number(b));
    if (num_operands(node.code) == 1) return unary(node.code, as_number(a));
    if (is_comparison(node.code)) return compare(node.code, as_number(a), as_number(b));
    if (node.code == BP_X_MUL && is_one(node.a)) return {as_number(b), is_bool_};
    if ((node.code == BP_X_MUL || node.code == BP_X_DIV) && is_one(node.b))
      return {as_number(a), is_bool_};
    return binary(node.code, as_number(a), as_number(b));
  }

  // 1 * b of complex numbers is not b where b is infinite; the processors' kernels leave it away.
  bool is_one(std::size_t index) const {
    return nodes_[index].code == BP_X_CONST && nodes_[index].imm == 1.0;
  }

  Value argument(std::uint32_t place, bool is_mask) {
    const std::string given = operands_.argument(place);
    if (!is_mask) return number(given);
    if (is_bool_ || width_ == 1) return mask(given);
    return mask(fmt::format("{}({} != ({})(0))", opencl_convert(mask_, width_), given, wide("u8")));
  }

  std::string constant(double number) const {
    if (is_bool_) return fmt::format("({})({})", wide("u8"), number != 0 ? 1 : 0);
    std::string text;
    if (!is_integral(dtype_)) {
      text = literal(number, dtype_);
    } else if (!(number >= -0x1p63 && number < 0x1p63)) {
      text = fmt::format("({})(-9223372036854775807L - 1)", type_);
    } else {  // integers wrap: -1 is the highest u8
      text = fmt::format("({})({}L)", type_, static_cast<std::int64_t>(number));
    }
    return width_ == 1 ? text : fmt::format("({})({})", wide(type_), text);
  }

  std::string as_mask(const Value& value) {
    if (value.is_mask) return value.text;
    if (is_complex(dtype_)) return mask(fmt::format("nonzero_{}({})", type_, value.text)).text;
    if (width_ == 1) return mask(fmt::format("(u8)({} != 0)", value.text)).text;
    return mask(fmt::format("{} != ({})(0)", value.text, wide(type_))).text;
  }

  std::string as_number(const Value& value) {
    if (!value.is_mask || is_bool_) return value.text;
    if (is_complex(dtype_)) return keep(type_, fmt::format("make_{}({}, 0)", type_, value.text));
    if (width_ == 1) return keep(type_, fmt::format("({}){}", type_, value.text));
    return keep(type_, fmt::format("{}({} & ({})(1))", opencl_convert(type_, width_), value.text,
                                   wide(mask_)));
  }

  Value select(const bp_expr_node& node, bool is_mask) {
    const std::string chosen = as_mask(value_of(node.a));
    const Value yes = value_of(node.b), no = value_of(node.c);
    const std::string a = is_mask ? as_mask(yes) : as_number(yes);
    const std::string b = is_mask ? as_mask(no) : as_number(no);
    std::string value = fmt::format("{} ? {} : {}", chosen, a, b);
    if (width_ > 1) {  // which looks at the highest bit of each element
      const std::string bits =
          is_bool_ ? fmt::format("as_{}(-{})", opencl_type("i8", width_), chosen) : chosen;
      value = fmt::format("select({}, {}, {})", b, a, bits);
    }
    return is_mask ? mask(value) : number(value);
  }

  Value logic(std::uint16_t code, const std::string& a, const std::string& b) {
    if (code == BP_X_AND) return mask(fmt::format("{} & {}", a, b));
    if (code == BP_X_OR) return mask(fmt::format("{} | {}", a, b));
    return mask(is_bool_ || width_ == 1 ? fmt::format("{} ^ ({})(1)", a, wide("u8")) : "~" + a);
  }

  Value bitwise(std::uint16_t code, const std::string& a, const std::string& b) {
    const bool is_not = code == BP_X_BITNOT;
    if (is_bool_ && !facts_of(code).symbol) refuse(facts_of(code).name, dtype_);
    if (is_bool_)
      return is_not ? logic(BP_X_NOT, a, b) : mask(fmt::format("{} {} {}", a, step_name(code), b));
    if (!is_integral(dtype_)) refuse(step_name(code), dtype_);
    if (!facts_of(code).symbol)
      return number(fmt::format("{}_{}({}, {})", facts_of(code).name, wide(type_), a, b));
    const std::string value = is_not ? "~" + a : fmt::format("{} {} {}", a, step_name(code), b);
    return number(width_ == 1 ? fmt::format("({})({})", type_, value) : value);
  }

  Value compare(std::uint16_t code, const std::string& a, const std::string& b) {
    if (is_complex(dtype_)) {
      if (code != BP_X_EQ && code != BP_X_NE) refuse(step_name(code), dtype_);
      return mask(fmt::format("eq_{}({}, {}){}", type_, a, b, code == BP_X_NE ? " ^ 1" : ""));
    }
    const std::string value = fmt::format("{} {} {}", a, facts_of(code).symbol, b);
    if (width_ == 1) return mask(fmt::format("(u8)({})", value));
    if (!is_bool_) return mask(value);
    return mask(fmt::format("as_{}(({}) & ({})(1))", opencl_type("u8", width_), value,
                            opencl_type("i8", width_)));
  }

  Value binary(std::uint16_t code, const std::string& a, const std::string& b) {
    if (is_bool_) return of_bools(code, a, b);
    const bool is_real = !is_integral(dtype_) && !is_complex(dtype_);
    const char* symbol = facts_of(code).symbol;
    if (is_real && symbol) return number(fmt::format("{} {} {}", a, symbol, b));
    const bool is_own =  // see fmod_f64 and pow_f64x4 in helpers_arithmetic.cpp
        type_ == "f64" && (code == BP_X_FMOD || (code == BP_X_POW && width_ > 1));
    const bool is_called = facts_of(code).kind == BP_STEP_FUNCTION;
    if (is_real && is_called && !is_own)
      return number(fmt::format("{}({}, {})", step_name(code), a, b));
    if (code == BP_X_ATAN2 || code == BP_X_COPYSIGN) refuse(step_name(code), dtype_);
    if (!symbol && is_complex(dtype_)) refuse(step_name(code), dtype_);
    return number(fmt::format("{}_{}({}, {})", step_name(code), wide(type_), a, b));
  }

  Value of_bools(std::uint16_t code, const std::string& a, const std::string& b) {
    if (code == BP_X_ADD || code == BP_X_MAX) return mask(fmt::format("{} | {}", a, b));
    if (code == BP_X_MUL || code == BP_X_MIN) return mask(fmt::format("{} & {}", a, b));
    refuse(step_name(code), dtype_);
  }

  Value unary(std::uint16_t code, const std::string& a) {
    const bool rounds = facts_of(code).kind == BP_STEP_ROUNDING;
    const bool is_whole = is_integral(dtype_) || (is_bool_ && code == BP_X_ABS);
    if (is_whole && (rounds || is_bool_)) return {a, is_bool_};
    if (is_bool_) refuse(step_name(code), dtype_);
    if (code == BP_X_NEG || (code == BP_X_ABS && !is_complex(dtype_)))
      return number(fmt::format("{}_{}({})", step_name(code), wide(type_), a));
    if (is_integral(dtype_) || is_complex(dtype_)) refuse(step_name(code), dtype_);
    const bool is_f32_wave =  // see sin_f32x4 in helpers_arithmetic.cpp
        (code == BP_X_SIN || code == BP_X_COS || code == BP_X_TAN) && width_ > 1 && type_ == "f32";
    if (code == BP_X_SIGMOID || code == BP_X_TANH || is_f32_wave)
      return number(fmt::format("{}_{}({})", step_name(code), wide(type_), a));
    if (code == BP_X_ROUND) return number(fmt::format("rint({})", a));
    return number(fmt::format("{}({})", step_name(code), a));
  }

  std::span<const bp_expr_node> nodes_;
  Dtype dtype_;
  unsigned width_;
  const Operands& operands_;
  std::string& statements_;
  bool is_bool_;
  std::string_view type_;  // of numbers
  std::string_view mask_;  // of masks
  std::vector<bool> is_mask_;
  std::vector<Value> values_;
};

}  // namespace

ReadSteps steps_read_by(const bp_expr_node& node) {
  return {{node.a, node.b, node.c}, num_operands(node.code)};
}

bool has_vector_form(Dtype dtype) {
  return !is_complex(dtype) && !is_storage_only(dtype);
}

std::uint64_t mask_arguments(std::span<const bp_expr_node> nodes) {
  std::uint64_t chooses = 0, elsewhere = 0;
  for (const bp_expr_node& node : nodes) {
    const ReadSteps operands = steps_read_by(node);
    for (const std::uint16_t& step : operands) {
      const bp_expr_node& operand = nodes[step];
      if (operand.code != BP_X_ARG || operand.a >= 64) continue;
      const bool is_choice = node.code == BP_X_SELECT && &step == operands.begin();
      (is_choice ? chooses : elsewhere) |= std::uint64_t{1} << operand.a;
    }
  }
  return chooses & ~elsewhere;
}

bool gives_mask(std::span<const bp_expr_node> nodes) {
  return find_masks(nodes).back();
}

std::string emit_expression(std::span<const bp_expr_node> nodes, Dtype dtype, unsigned width,
                            const Operands& operands, std::string& statements) {
  return Emitter(nodes, dtype, width, operands, statements).emit();
}

}  // namespace bp::codegen
