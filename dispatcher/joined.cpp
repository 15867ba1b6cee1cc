// From steps to one expression: what each argument and result holds comes first, then the nodes.
#include "joined.hpp"

#include <algorithm>
#include <map>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/number_range.hpp>

#include "kernel_table.hpp"

namespace bp {
namespace {

using From = ChainInput::From;

bool is_logic(const Operator& op) {
  return op.dtypes == set_of(boolean);
}

class Joiner {
 public:
  explicit Joiner(std::span<const ChainStep> steps) : joined_(new Joined) {
    for (const ChainStep& step : steps) joined_->steps.push_back(with_defaults(step));
    joined_->last_use.resize(steps.size());
    last_node_.resize(steps.size());
  }

  std::unique_ptr<Joined> join() {
    for (at_ = 0; at_ < joined_->steps.size(); ++at_) {
      const ChainStep& step = joined_->steps[at_];
      results_.push_back(result_of(step));
      add_nodes(step);
    }
    check_all_is_used();
    check_size();
    drop_unused_nodes();
    describe();
    return std::move(joined_);
  }

 private:
  template <class... Args>
  void check(bool holds, fmt::format_string<Args...> text, Args&&... args) const {
    if (!holds)
      throw_error(ErrorClass::bad_argument,
                  fmt::format("join: step {}{}: {}", at_, step_name(),
                              fmt::format(text, std::forward<Args>(args)...)));
  }
  std::string step_name() const {
    return at_ < joined_->steps.size() ? fmt::format(" ({})", joined_->steps[at_].op->name()) : "";
  }

  ChainStep with_defaults(const ChainStep& given) {
    ChainStep step = given;
    at_ = joined_->steps.size();
    const auto& arguments = step.op->schema->arguments;
    check(step.op->kind == BP_KIND_POINTWISE && step.op->num_nodes > 0,
          "'{}' is not a pointwise operator with an expression; call it by itself",
          step.op->name());
    check(step.inputs.size() <= arguments.size(), "'{}' takes {} arguments, got {}",
          step.op->name(), arguments.size(), step.inputs.size());
    check(arguments.size() <= max_chain_arguments,
          "'{}' takes {} arguments; at most {} are possible", step.op->name(), arguments.size(),
          max_chain_arguments);
    for (const SchemaArgument& argument : arguments)
      check(argument.type == ArgumentType::tensor || argument.type == ArgumentType::scalar,
            "'{}' of '{}' is neither a tensor nor a number; call it by itself", argument.name,
            step.op->name());
    while (step.inputs.size() < arguments.size()) {
      const SchemaArgument& missing = arguments[step.inputs.size()];
      check(missing.has_default, "'{}' lacks the argument '{}'; give it", step.op->name(),
            missing.name);
      step.inputs.push_back(ChainInput::number(Scalar::from_value(missing.default_value)));
    }
    return step;
  }

  // What the step's place `k` takes, by the operator's own rule of promotion.
  Holds wanted(const Operator& op, std::size_t k) const {
    if (op.schema->arguments[k].type != ArgumentType::tensor) return Holds::number;
    if (is_logic(op)) return Holds::bools;
    return op.promoted >> k & 1u ? Holds::values : Holds::bools;
  }

  Holds result_of(const ChainStep& step) {
    const Operator& op = *step.op;
    bool has_tensor = false;
    for (std::size_t k = 0; k < step.inputs.size(); ++k)
      has_tensor |= take_input(step.inputs[k], op, k);
    check(has_tensor, "all its arguments are numbers; compute it first");
    if (!is_logic(op)) {
      dtypes_ &= op.dtypes;
      computes_ = true;
    }
    return op.promotion == Promotion::compare ? Holds::bools : Holds::values;
  }

  // True if it is a tensor.
  bool take_input(const ChainInput& input, const Operator& op, std::size_t k) {
    const std::string& place = op.schema->arguments[k].name;
    const Holds holds = wanted(op, k);
    if (input.from == From::number) {
      check(holds == Holds::number || (op.scalar_ok >> k & 1u), "'{}' takes a tensor, not a number",
            place);
      take_number(input.value);
      if (op.asks_in_integers && input.value.to_double() < 0) dtypes_ &= ~dtypes::integral;
      return false;
    }
    if (input.from == From::number_argument) {
      check(holds == Holds::number || (op.scalar_ok >> k & 1u),
            "'{}' takes a tensor, not the number of argument {}", place, input.index);
      take_argument(input.index, Holds::number, place);
      if (op.asks_in_integers) dtypes_ &= ~dtypes::integral;
      return false;
    }
    if (input.from == From::argument) {
      take_argument(input.index, holds, place);
      return holds != Holds::number;
    }
    check(input.index < at_, "'{}' is the result of step {}, which does not come before it", place,
          input.index);
    check(holds != Holds::number, "'{}' takes a number, not the result of step {}", place,
          input.index);
    check(holds == results_[input.index],
          "'{}' takes {}, and step {} ({}) gives {}; a chain computes in one dtype: cast between "
          "two chains",
          place, describe(holds), input.index, joined_->steps[input.index].op->name(),
          describe(results_[input.index]));
    joined_->last_use[input.index] = static_cast<std::uint32_t>(at_);
    return true;
  }

  static const char* describe(Holds holds) {
    return holds == Holds::bools    ? "bools"
           : holds == Holds::number ? "a number"
                                    : "values of the chain's dtype";
  }

  // It becomes a constant of the expression, which is a double.
  void take_number(const Scalar& number) {
    check(!number.is_complex(),
          "a complex number cannot be part of an expression; make it an argument");
    constexpr std::int64_t exact = std::int64_t{1} << 53;
    check(!number.is_integral() || (-exact <= number.to_int() && number.to_int() <= exact),
          "the number {} is beyond 2^53, where doubles skip some; make it an argument",
          number.to_int());
    dtypes_ &= dtypes_beside(number.value());
  }

  void take_argument(std::uint32_t index, Holds holds, const std::string& place) {
    check(index < max_chain_arguments, "'{}' is argument {}; a chain has at most {} arguments",
          place, index, max_chain_arguments);
    auto& arguments = joined_->arguments;
    if (index >= arguments.size()) arguments.resize(index + 1, Holds::nothing);
    check(arguments[index] == Holds::nothing || arguments[index] == holds,
          "'{}' takes {}, and argument {} is {} elsewhere; give them different arguments", place,
          describe(holds), index, describe(arguments[index]));
    arguments[index] = holds;
  }

  // ---- Nodes ----

  std::uint16_t add_node(const bp_expr_node& node) {
    joined_->all_nodes.push_back(node);
    return static_cast<std::uint16_t>(joined_->all_nodes.size() - 1);
  }

  std::uint16_t node_of(const ChainInput& input) {
    if (input.from == From::step) return last_node_[input.index];
    if (input.from == From::number) return add_node({BP_X_CONST, 0, 0, 0, input.value.to_double()});
    const auto [found, is_new] = argument_node_.try_emplace(input.index, std::uint16_t{0});
    if (is_new)
      found->second = add_node({BP_X_ARG, static_cast<std::uint16_t>(input.index), 0, 0, 0});
    return found->second;
  }

  static bool is_leaf(const bp_expr_node& node) {
    return node.code == BP_X_ARG || node.code == BP_X_CONST;
  }
  bool is_one(std::uint16_t node) const {
    return joined_->all_nodes[node].code == BP_X_CONST && joined_->all_nodes[node].imm == 1;
  }

  void add_nodes(const ChainStep& step) {
    std::vector<std::uint16_t> placed(step.op->num_nodes);
    for (std::uint32_t i = 0; i < step.op->num_nodes; ++i) {
      bp_expr_node node = step.op->nodes[i];
      if (node.code == BP_X_ARG) {
        placed[i] = node_of(step.inputs[node.a]);
        continue;
      }
      if (node.code != BP_X_CONST) {
        for (std::uint16_t* operand : {&node.a, &node.b, &node.c}) {
          check(*operand < i, "its expression is not in order at node {}", i);
          *operand = placed[*operand];
        }
        ++num_operations_;
      }
      // The usual alpha. A step's last node stays: it is the result.
      if (node.code == BP_X_MUL && i + 1 < step.op->num_nodes &&
          (is_one(node.a) || is_one(node.b))) {
        placed[i] = is_one(node.a) ? node.b : node.a;
        --num_operations_;
        continue;
      }
      check(joined_->all_nodes.size() < 4096, "the expressions are too long; make it two chains");
      placed[i] = add_node(node);
    }
    last_node_[at_] = placed.back();
  }

  // ---- The whole ----

  void check_all_is_used() {
    for (std::size_t i = 0; i + 1 < joined_->steps.size(); ++i) {
      at_ = i;
      check(joined_->last_use[i] > 0, "its result is used by no later step; leave it out");
    }
    for (std::size_t i = 0; i < joined_->arguments.size(); ++i)
      BP_CHECK(joined_->arguments[i] != Holds::nothing,
               "join: argument {} of {} is used by no step; number them from 0 without gaps", i,
               joined_->arguments.size());
  }

  void check_size() {
    BP_CHECK(num_operations_ <= max_chain_operations,
             "join: the {} steps have {} operations; at most {} go into one chain: make it two",
             joined_->steps.size(), num_operations_, max_chain_operations);
    // Bools mixed with values of another dtype are masks; a chain of bools alone is logic.
    dtypes_ = computes_ ? dtypes_ & ~set_of(boolean) : set_of(boolean);
    BP_CHECK(dtypes_ != 0,
             "join: there is no dtype that all {} steps compute in; make it two chains with a cast "
             "between them",
             joined_->steps.size());
  }

  // Leaves out what the result does not need, such as an alpha of 1.
  void drop_unused_nodes() {
    std::vector<bp_expr_node>& nodes = joined_->all_nodes;
    std::vector<bool> needed(nodes.size());
    needed.back() = true;
    for (std::size_t i = nodes.size(); i-- > 0;)
      if (needed[i] && !is_leaf(nodes[i]))
        needed[nodes[i].a] = needed[nodes[i].b] = needed[nodes[i].c] = true;
    std::vector<std::uint16_t> place(nodes.size());
    std::uint16_t count = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!needed[i]) continue;
      bp_expr_node node = nodes[i];
      if (!is_leaf(node))
        for (std::uint16_t* operand : {&node.a, &node.b, &node.c}) *operand = place[*operand];
      nodes[place[i] = count++] = node;
    }
    nodes.resize(count);
  }

  void describe() {
    Joined& joined = *joined_;
    Operator& op = joined;
    joined.gives_bools = results_.back() == Holds::bools;
    for (const ChainStep& step : joined.steps) joined.used.push_back(step.op->name());
    joined.used.push_back(nullptr);
    op.kind = BP_KIND_POINTWISE;
    op.dtypes = dtypes_;
    op.promotion = joined.gives_bools ? Promotion::compare : Promotion::common;
    for (std::size_t i = 0; i < joined.arguments.size(); ++i)
      if (joined.arguments[i] == (computes_ ? Holds::values : Holds::bools)) op.promoted |= 1u << i;
    op.uses = joined.used.data();
    op.nodes = joined.all_nodes.data();
    op.num_nodes = static_cast<std::uint32_t>(joined.all_nodes.size());
    op.joined = true;
    op.doc = "Several pointwise operators as one.";
  }

  std::unique_ptr<Joined> joined_;
  std::size_t at_ = 0;  // the step in hand, for errors
  std::vector<Holds> results_;
  std::vector<std::uint16_t> last_node_;
  std::map<std::uint32_t, std::uint16_t> argument_node_;
  std::uint32_t num_operations_ = 0;
  DtypeSet dtypes_ = dtypes::computed;
  bool computes_ = false;  // in something else than bools
};

}  // namespace

Joined::Joined() = default;
Joined::~Joined() = default;

std::unique_ptr<Joined> join_expressions(std::span<const ChainStep> steps) {
  return Joiner(steps).join();
}

namespace {

DtypeSet numeric_that_hold(const bp_value& number) {
  DtypeSet set = dtypes::floating | dtypes::complex;
  for (const Dtype dtype : {u8, i8, i16, i32, i64, u16, u32, u64})
    if (holds_plain_integer(index(dtype), number)) set |= set_of(dtype);
  return set;
}

}  // namespace

DtypeSet dtypes_beside(const bp_value& number) {
  if (number.tag == BP_BOOLEAN) return dtypes::computed;
  if (number.tag == BP_INT) return numeric_that_hold(number);
  if (number.tag == BP_DOUBLE) return dtypes::floating | dtypes::complex;
  return dtypes::complex;
}

}  // namespace bp
