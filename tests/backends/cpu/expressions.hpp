// Operators as the host would describe them, written by hand so that the plugin's tests need no core: the
// table's pointwise rows, and a few that exercise every step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <backplane/abi.h>
#include <backplane/generated/steps.h>

namespace bp_test {

class Expression {
 public:
  uint16_t arg(uint16_t index) { return add({BP_X_ARG, index, 0, 0, 0}); }
  uint16_t constant(double value) { return add({BP_X_CONST, 0, 0, 0, value}); }
  uint16_t step(uint16_t code, uint16_t a, uint16_t b = 0, uint16_t c = 0) {
    return add({code, a, b, c, 0});
  }
  std::vector<bp_expr_node> nodes;

 private:
  uint16_t add(bp_expr_node node) {
    nodes.push_back(node);
    return static_cast<uint16_t>(nodes.size() - 1);
  }
};

inline constexpr bp_dtype_set every_dtype = (1u << BP_NUM_DTYPES) - 1;

class ExpressionOperators {
 public:
  ExpressionOperators() {
    for (uint16_t code = 1; code < BP_NUM_X; ++code) {
      const bp_step_facts& facts = bp_steps[code];
      if (!facts.row || facts.num_operands > 2 || code == BP_X_ADD || code == BP_X_SUB) continue;
      Expression e;
      const uint16_t a = e.arg(0), b = facts.num_operands == 2 ? e.arg(1) : a;
      e.step(code, a, b);
      add(facts.row,
          facts.num_operands == 2 ? "(Tensor input, Tensor other) -> Tensor"
                                  : "(Tensor input) -> Tensor",
          e);
    }
    add_combined();
  }

  const std::deque<bp_operator>& all() const { return operators_; }

 private:
  void add_chosen_by_sign() {
    Expression sign;
    const uint16_t x = sign.arg(0), zero = sign.constant(0);
    const uint16_t is_below = sign.step(BP_X_LT, x, zero);
    const uint16_t below = sign.step(BP_X_SELECT, is_below, sign.constant(-1), zero);
    const uint16_t is_above = sign.step(BP_X_GT, x, zero);
    sign.step(BP_X_SELECT, is_above, sign.constant(1), below);
    add("sign", "(Tensor input) -> Tensor", sign);
  }

  // As the table's rows have them, for what the plugin makes one step of.
  void add_fused() {
    const std::string one = "(Tensor input) -> Tensor";
    add_made("leaky_relu", "(Tensor input, Scalar negative_slope=0.01) -> Tensor", [](auto& e) {
      const auto x = e.arg(0), slope = e.arg(1);
      e.step(BP_X_SELECT, e.step(BP_X_GT, x, e.constant(0)), x, e.step(BP_X_MUL, x, slope));
    });
    add_made("elu", "(Tensor input, Scalar alpha=1) -> Tensor", [](auto& e) {
      const auto x = e.arg(0), below = e.step(BP_X_MUL, e.arg(1), e.step(BP_X_EXPM1, x));
      e.step(BP_X_SELECT, e.step(BP_X_GT, x, e.constant(0)), x, below);
    });
    add_made("clamp", "(Tensor input, Scalar min, Scalar max) -> Tensor",
             [](auto& e) { e.step(BP_X_MIN, e.step(BP_X_MAX, e.arg(0), e.arg(1)), e.arg(2)); });
    add_made("hardswish", one, [](auto& e) {
      const auto x = e.arg(0), six = e.constant(6);
      const auto above = e.step(BP_X_MAX, e.step(BP_X_ADD, x, e.constant(3)), e.constant(0));
      e.step(BP_X_MUL, x, e.step(BP_X_DIV, e.step(BP_X_MIN, above, six), six));
    });
    add_made("lerp", "(Tensor input, Tensor end, Tensor weight) -> Tensor", [](auto& e) {
      const auto x = e.arg(0), end = e.arg(1), by = e.arg(2), span = e.step(BP_X_SUB, end, x);
      const auto rest = e.step(BP_X_MUL, span, e.step(BP_X_SUB, e.constant(1), by));
      e.step(BP_X_SELECT, e.step(BP_X_LT, e.step(BP_X_ABS, by), e.constant(0.5)),
             e.step(BP_X_ADD, x, e.step(BP_X_MUL, by, span)), e.step(BP_X_SUB, end, rest));
    });
    const std::string three =
        "(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
    add_made("addcmul", three, [](auto& e) {
      const auto scaled = e.step(BP_X_MUL, e.arg(3), e.arg(1));
      e.step(BP_X_ADD, e.arg(0), e.step(BP_X_MUL, scaled, e.arg(2)));
    });
    add_made("addcdiv", three, [](auto& e) {
      const auto ratio = e.step(BP_X_DIV, e.arg(1), e.arg(2));
      e.step(BP_X_ADD, e.arg(0), e.step(BP_X_MUL, e.arg(3), ratio));
    });
    add_made("floor_divide", "(Tensor input, Tensor other) -> Tensor", [](auto& e) {
      const auto a = e.arg(0), b = e.arg(1), zero = e.constant(0), rest = e.step(BP_X_FMOD, a, b);
      const auto differ = e.step(BP_X_NE, e.step(BP_X_LT, b, zero), e.step(BP_X_LT, rest, zero));
      const auto is_between = e.step(BP_X_AND, e.step(BP_X_NE, rest, zero), differ);
      const auto whole = e.step(BP_X_DIV, e.step(BP_X_SUB, a, rest), b);
      const auto below =
          e.step(BP_X_SELECT, is_between, e.step(BP_X_SUB, whole, e.constant(1)), whole);
      const auto floored = e.step(BP_X_FLOOR, below);
      const auto is_far = e.step(BP_X_GT, e.step(BP_X_SUB, below, floored), e.constant(0.5));
      const auto nearest =
          e.step(BP_X_SELECT, is_far, e.step(BP_X_ADD, floored, e.constant(1)), floored);
      const auto ratio = e.step(BP_X_DIV, a, b), none = e.step(BP_X_MUL, ratio, zero);
      e.step(BP_X_SELECT, e.step(BP_X_EQ, b, zero), ratio,
             e.step(BP_X_SELECT, e.step(BP_X_EQ, below, zero), none, nearest));
    });
    add_made("rsqrt", one,
             [](auto& e) { e.step(BP_X_DIV, e.constant(1), e.step(BP_X_SQRT, e.arg(0))); });
    add_made("reciprocal", one, [](auto& e) { e.step(BP_X_DIV, e.constant(1), e.arg(0)); });
    add_made("hypot", "(Tensor input, Tensor other) -> Tensor", [](auto& e) {
      const auto is_infinite = [&e](uint16_t x, uint16_t size) {
        const auto rest = e.step(BP_X_SUB, size, size);
        return e.step(BP_X_AND, e.step(BP_X_NE, rest, e.constant(0)), e.step(BP_X_EQ, x, x));
      };
      const auto x = e.arg(0), y = e.arg(1), a = e.step(BP_X_ABS, x), b = e.step(BP_X_ABS, y);
      const auto most = e.step(BP_X_MAX, a, b),
                 share = e.step(BP_X_DIV, e.step(BP_X_MIN, a, b), most);
      const auto sum = e.step(BP_X_ADD, e.constant(1), e.step(BP_X_MUL, share, share));
      const auto is_zero = e.step(BP_X_EQ, most, e.constant(0));
      const auto finite =
          e.step(BP_X_SELECT, is_zero, a, e.step(BP_X_MUL, most, e.step(BP_X_SQRT, sum)));
      e.step(BP_X_SELECT, is_infinite(x, a), a, e.step(BP_X_SELECT, is_infinite(y, b), b, finite));
    });
  }
  template <class F> void add_made(const std::string& name, const std::string& arguments, F make) {
    Expression e;
    make(e);
    add(name, arguments, e);
  }

  void add_combined() {
    for (auto [name, code] :
         std::map<std::string, uint16_t>{{"add", BP_X_ADD}, {"sub", BP_X_SUB}}) {
      Expression e;
      const uint16_t a = e.arg(0), alpha = e.arg(2), b = e.arg(1);
      e.step(code, a, e.step(BP_X_MUL, alpha, b));
      add(name, "(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor", e);
    }
    Expression relu;
    const uint16_t x = relu.arg(0);
    relu.step(BP_X_MAX, x, relu.constant(0));
    add("relu", "(Tensor input) -> Tensor", relu);
    Expression square;
    const uint16_t base = square.arg(0);
    square.step(BP_X_MUL, base, base);
    add("square", "(Tensor input) -> Tensor", square);
    add_chosen_by_sign();
    add_fused();
    Expression where;
    const uint16_t condition = where.arg(0), yes = where.arg(1), no = where.arg(2);
    where.step(BP_X_SELECT, condition, yes, no);
    add("where", "(Tensor condition, Tensor input, Tensor other) -> Tensor", where);
    // x / (1 + e^-x), four steps and a constant.
    Expression silu;
    const uint16_t y = silu.arg(0);
    silu.step(BP_X_DIV, y,
              silu.step(BP_X_ADD, silu.constant(1), silu.step(BP_X_EXP, silu.step(BP_X_NEG, y))));
    add("silu", "(Tensor input) -> Tensor", silu);
    // b * (a > 0): a mask becomes a number.
    Expression relu_grad;
    const uint16_t a = relu_grad.arg(0), b = relu_grad.arg(1);
    relu_grad.step(BP_X_MUL, b, relu_grad.step(BP_X_GT, a, relu_grad.constant(0)));
    add("relu_grad", "(Tensor input, Tensor other) -> Tensor", relu_grad);
    Expression same;
    same.arg(0);
    add("same", "(Tensor input) -> Tensor", same);
  }

  void add(const std::string& name, const std::string& arguments, const Expression& expression) {
    const std::string& kept_name = strings_.emplace_back(name);
    const std::string& schema = strings_.emplace_back(name + arguments);
    const auto& nodes = nodes_.emplace_back(expression.nodes);
    bp_operator& op = operators_.emplace_back();
    op = {};
    op.h = {sizeof op, BP_TYPE_OPERATOR, nullptr};
    op.name = kept_name.c_str();
    op.schema = schema.c_str();
    op.kind = BP_KIND_POINTWISE;
    op.dtypes = every_dtype;
    op.num_nodes = static_cast<uint32_t>(nodes.size());
    op.nodes = nodes.data();
  }

  std::deque<std::string> strings_;
  std::deque<std::vector<bp_expr_node>> nodes_;
  std::deque<bp_operator> operators_;
};

}  // namespace bp_test
