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
    Expression leaky;
    const uint16_t y = leaky.arg(0), slope = leaky.arg(1);
    const uint16_t is_positive = leaky.step(BP_X_GT, y, leaky.constant(0));
    leaky.step(BP_X_SELECT, is_positive, y, leaky.step(BP_X_MUL, y, slope));
    add("leaky_relu", "(Tensor input, Scalar negative_slope=0.01) -> Tensor", leaky);
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
