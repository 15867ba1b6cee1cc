// From expressions to programs: types first, then steps on as many values as there are, then the few
// registers that these really need. Runs when kernels are made, never in a call.
#include "tile/program.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include <backplane/generated/steps.h>

#include "../constants.hpp"
#include "tile/fused.hpp"
#include "tile/move.hpp"

namespace bp::cpu::tile {
namespace {

const bp_step_facts& facts_of(uint16_t code) {
  return bp_steps[code < BP_NUM_X ? code : 0];
}
int num_operands(uint16_t code) {
  return facts_of(code).num_operands;
}
bool is_comparison(uint16_t code) {
  return facts_of(code).kind == BP_STEP_COMPARISON;
}
bool is_logic(uint16_t code) {
  return facts_of(code).kind == BP_STEP_LOGIC;
}
bool is_slow(uint16_t code) {
  return facts_of(code).kind == BP_STEP_FUNCTION || code == step_gelu || code == step_elu ||
         code == step_elu_of_one || code == step_gelu_slope || code == step_silu_slope;
}

// Of f16 and bf16 a matter of bits alone.
bool is_of_bits(uint16_t code) {
  return code == BP_X_NEG || code == BP_X_ABS || code == step_identity;
}
bool is_rounded(uint16_t code) {
  return code == BP_X_ADD || code == BP_X_SUB || code == BP_X_MUL || code == BP_X_DIV ||
         code == BP_X_SQRT || code == BP_X_POW;
}

// Which nodes give masks. Nodes come after their operands, or the expression is refused before.
std::vector<bool> find_masks(std::span<const bp_expr_node> nodes, const Signature& signature) {
  std::vector<bool> is_mask(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bp_expr_node& node = nodes[i];
    if (node.code == BP_X_ARG) {
      is_mask[i] = signature.is_mask[node.a];
    } else if (node.code == BP_X_SELECT) {
      is_mask[i] = is_mask[node.b] && is_mask[node.c];
    } else {
      is_mask[i] = is_comparison(node.code) || is_logic(node.code);
    }
  }
  return is_mask;
}

bool is_well_formed(const bp_operator& op, const Signature& signature) {
  for (uint32_t i = 0; i < op.num_nodes; ++i) {
    const bp_expr_node& node = op.nodes[i];
    if (node.code == 0 || node.code >= BP_NUM_X) return false;
    if (node.code == BP_X_ARG) {
      if (node.a >= signature.num_args) return false;
      if (!signature.is_tensor[node.a] && !signature.is_number[node.a]) return false;
      continue;
    }
    const uint16_t operands[] = {node.a, node.b, node.c};
    for (int k = 0; k < num_operands(node.code); ++k) {
      if (operands[k] >= i) return false;
    }
  }
  return true;
}

// "Tensor input, Tensor other, *, Scalar alpha=1".
bool read_arguments(std::string_view schema, Signature& signature) {
  const size_t open = schema.find('('), close = schema.find(") ->");
  if (open == schema.npos || close == schema.npos) return false;
  if (schema.find('(', close) != schema.npos) return false;  // several outputs
  std::string_view rest = schema.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    if (item.empty() || item == "*") continue;
    if (signature.num_args == Signature::max_args) return false;
    const std::string_view type = item.substr(0, item.find(' '));
    signature.is_tensor[signature.num_args] = type == "Tensor";
    signature.is_number[signature.num_args] =
        type == "Scalar" || type == "float" || type == "int" || type == "bool";
    ++signature.num_args;
  }
  return true;
}

// A step on values that are numbered as they come; registers are chosen later.
struct VirtualStep {
  uint16_t code;
  uint32_t dtype;
  int to;
  int operands[3];
  int num_operands;
};

struct Value {
  enum Kind { input, constant, temporary } kind;
  bool is_mask;
  int arg = -1;
  double imm = 0;
  bool is_one() const { return kind == constant && !is_mask && imm == 1.0; }
};

class Compiler {
 public:
  Compiler(std::span<const bp_expr_node> nodes, const Signature& signature, bool numbers_are_one,
           bool is_narrow, Program& program)
      : nodes_(nodes), signature_(signature), numbers_are_one_(numbers_are_one),
        is_narrow_(is_narrow), program_(program), is_mask_(find_masks(nodes, signature)),
        is_one_(nodes.size()), done_(nodes.size(), -1) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      is_one_[i] = nodes[i].code == BP_X_CONST ? nodes[i].imm == 1
                                               : nodes[i].code == BP_X_ARG && numbers_are_one &&
                                                     !signature.is_tensor[nodes[i].a];
    }
  }

  bool compile() {
    const int last = static_cast<int>(nodes_.size()) - 1;
    int result = value_of(last);
    if (is_mask_[last] && !values_[result].is_mask) result = as_mask(result);
    if (values_[result].kind != Value::temporary) {
      result = emit(step_identity, values_[result].is_mask, {result});
    }
    program_.out_dtype = values_[result].is_mask ? uint32_t{BP_BOOL} : program_.dtype;
    return keeps_precision() && assign_registers(result);
  }

 private:
  uint32_t dtype_of(bool is_mask) const {
    return is_mask ? uint32_t{BP_BOOL} : program_.compute_dtype;
  }

  int add(Value value) {
    values_.push_back(value);
    return static_cast<int>(values_.size()) - 1;
  }

  int find_or_add(const Value& wanted) {
    for (size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      if (value.kind == wanted.kind && value.is_mask == wanted.is_mask && value.arg == wanted.arg &&
          value.imm == wanted.imm && value.kind != Value::temporary) {
        return static_cast<int>(i);
      }
    }
    return add(wanted);
  }

  // Comes recursively from the result, so that what nobody uses is not computed.
  int value_of(int node_index) {
    int& done = done_[node_index];
    if (done < 0) done = make_value(nodes_[node_index], is_mask_[node_index]);
    return done;
  }

  int make_value(const bp_expr_node& node, bool is_mask) {
    if (node.code == BP_X_CONST) return find_or_add({Value::constant, false, -1, node.imm});
    if (node.code == BP_X_ARG) {
      if (numbers_are_one_ && !signature_.is_tensor[node.a]) {
        return find_or_add({Value::constant, false, -1, 1.0});
      }
      return find_or_add({Value::input, is_mask, node.a, 0});
    }
    if (FoundStep found;
        find_fused(nodes_, index_of(node), program_.compute_dtype, is_one_, found) &&
        is_usable(found, index_of(node)))
      return emit_fused(found);
    if (node.code == BP_X_SELECT) {
      const int condition = as_mask(value_of(node.a));
      const int yes = value_of(node.b), no = value_of(node.c);
      return is_mask ? emit(node.code, true, {condition, as_mask(yes), as_mask(no)})
                     : emit(node.code, false, {condition, as_number(yes), as_number(no)});
    }
    const int a = value_of(node.a);
    if (node.code == BP_X_NOT) return emit(node.code, true, {as_mask(a)});
    if (num_operands(node.code) == 1) return emit(node.code, false, {as_number(a)});
    const int b = value_of(node.b);
    if (is_logic(node.code)) return emit(node.code, true, {as_mask(a), as_mask(b)});
    if (is_comparison(node.code)) return compare(node.code, as_number(a), as_number(b));
    if (node.code == BP_X_MUL && values_[a].is_one()) return as_number(b);
    if ((node.code == BP_X_MUL || node.code == BP_X_DIV) && values_[b].is_one())
      return as_number(a);
    return emit(node.code, false, {as_number(a), as_number(b)});
  }

  int index_of(const bp_expr_node& node) const { return static_cast<int>(&node - nodes_.data()); }

  // In registers of bf16 a fused step is the whole program, and rounds once. Its numbers are in f32 then.
  bool is_usable(const FoundStep& found, int index) const {
    if (!is_narrow_ || found.code == step_sign) return true;
    const uint8_t numbers = numbers_of_fused(found.code);
    for (int k = 0; k < 3; ++k) {
      if ((numbers >> k & 1) == 0) continue;
      if (nodes_[found.operands[k]].code != BP_X_ARG || is_one_[found.operands[k]]) return false;
    }
    return index + 1 == static_cast<int>(nodes_.size());
  }

  int emit_fused(const FoundStep& found) {
    const uint8_t numbers = is_narrow_ ? numbers_of_fused(found.code) : 0;
    VirtualStep step{found.code, program_.compute_dtype, -1, {}, 0};
    for (int k = 0; k < 3 && found.operands[k] >= 0; ++k) {
      if ((numbers >> k & 1) != 0) program_.wide_numbers |= 1u << nodes_[found.operands[k]].a;
      step.operands[step.num_operands++] = as_number(value_of(found.operands[k]));
    }
    step.to = add({Value::temporary, false});
    steps_.push_back(step);
    return step.to;
  }

  int compare(uint16_t code, int a, int b) {
    if (code == BP_X_GT) return emit_typed(BP_X_LT, program_.compute_dtype, true, {b, a});
    if (code == BP_X_GE) return emit_typed(BP_X_LE, program_.compute_dtype, true, {b, a});
    return emit_typed(code, program_.compute_dtype, true, {a, b});
  }

  int as_mask(int value) {
    if (values_[value].is_mask) return value;
    if (values_[value].kind == Value::constant) {
      return find_or_add({Value::constant, true, -1, values_[value].imm != 0 ? 1.0 : 0.0});
    }
    return emit_typed(step_to_mask, program_.compute_dtype, true, {value});
  }

  int as_number(int value) {
    return values_[value].is_mask ? emit(step_from_mask, false, {value}) : value;
  }

  int emit(uint16_t code, bool is_mask, std::initializer_list<int> operands) {
    return emit_typed(code, dtype_of(is_mask), is_mask, operands);
  }

  int emit_typed(uint16_t code, uint32_t dtype, bool is_mask, std::initializer_list<int> operands) {
    VirtualStep step{code, dtype, add({Value::temporary, is_mask}), {}, 0};
    for (int operand : operands) step.operands[step.num_operands++] = operand;
    steps_.push_back(step);
    return step.to;
  }

  // Whether registers of the tensors' own dtype will do: of small floats each step's result is rounded to it.
  bool keeps_precision() const {
    if (program_.compute_dtype != BP_F16 && program_.compute_dtype != BP_BF16) return true;
    bool was_rounded = false;
    for (const VirtualStep& step : steps_) {
      if (!is_narrow_ && !is_of_bits(step.code)) return false;
      if (was_rounded && step.code != BP_X_SELECT) return false;
      was_rounded |= is_rounded(step.code);
    }
    return std::all_of(values_.begin(), values_.end(), [](const Value& value) {
      return value.kind != Value::constant || value.is_mask || bf16_has(value.imm);
    });
  }

  // Inputs, then constants, keep a register for the whole program: they are filled before it. The
  // result has its own, since it may be the tensor itself, which may be an input as well.
  bool assign_registers(int result) {
    std::vector<int> reg(values_.size(), -1), uses(values_.size(), 0);
    for (const VirtualStep& step : steps_) {
      for (int k = 0; k < step.num_operands; ++k) ++uses[step.operands[k]];
    }
    int count = 0;
    for (Value::Kind kind : {Value::input, Value::constant}) {
      for (size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].kind != kind || uses[i] == 0) continue;
        reg[i] = count++;
        if (!place(values_[i], reg[i])) return false;
      }
    }
    reg[result] = count++;
    std::vector<int> free;
    for (const VirtualStep& step : steps_) {
      if (reg[step.to] < 0) {
        if (free.empty()) {
          reg[step.to] = count++;
        } else {
          reg[step.to] = free.back();
          free.pop_back();
        }
      }
      if (count > max_registers || !place(step, reg)) return false;
      for (int k = 0; k < step.num_operands; ++k) {
        const int operand = step.operands[k];
        if (--uses[operand] == 0 && values_[operand].kind == Value::temporary) {
          free.push_back(reg[operand]);
        }
      }
    }
    program_.num_registers = static_cast<uint8_t>(count);
    return true;
  }

  bool place(const Value& value, int reg) {
    if (reg >= max_registers) return false;
    if (value.kind == Value::constant) {
      Constant& constant = program_.constants[program_.num_constants++];
      constant.reg = static_cast<uint8_t>(reg);
      constant.itemsize = static_cast<uint8_t>(itemsize_of(dtype_of(value.is_mask)));
      write_number(constant.value, dtype_of(value.is_mask), value.imm);
      return true;
    }
    if (program_.num_inputs == max_inputs) return false;
    program_.inputs[program_.num_inputs++] = {static_cast<uint8_t>(value.arg), value.is_mask};
    return true;
  }

  bool place(const VirtualStep& step, const std::vector<int>& reg) {
    const Primitive primitive = find_primitive(step.code, step.dtype);
    if (primitive == nullptr || program_.num_steps == max_steps) return false;
    uint8_t operands[3] = {};
    for (int k = 0; k < step.num_operands; ++k) {
      operands[k] = static_cast<uint8_t>(reg[step.operands[k]]);
    }
    program_.steps[program_.num_steps++] = {primitive,
                                            static_cast<uint8_t>(reg[step.to]),
                                            operands[0],
                                            operands[1],
                                            operands[2],
                                            static_cast<uint8_t>(step.num_operands),
                                            {find_numbered(step.code, step.dtype, number_last),
                                             find_numbered(step.code, step.dtype, number_first)}};
    program_.streaming = find_streaming_primitive(step.code, step.dtype);
    weight_ += is_slow(step.code) ? 8 : 1;
    return true;
  }

 public:
  int64_t weight() const { return weight_; }

 private:
  std::span<const bp_expr_node> nodes_;
  const Signature& signature_;
  bool numbers_are_one_, is_narrow_;
  Program& program_;
  std::vector<bool> is_mask_;
  std::vector<bool> is_one_;
  std::vector<int> done_;
  std::vector<Value> values_;
  std::vector<VirtualStep> steps_;
  int64_t weight_ = 0;
};

// The program's weight, or -1 if a step is absent from `compute_dtype`.
int64_t compile_in(uint32_t compute_dtype, std::span<const bp_expr_node> nodes,
                   const Signature& signature, bool numbers_are_one, Program& program,
                   bool is_narrow = false) {
  const uint32_t dtype = program.dtype;
  program = Program{};
  program.dtype = dtype;
  program.compute_dtype = compute_dtype;
  Compiler compiler(nodes, signature, numbers_are_one, is_narrow, program);
  return compiler.compile() ? compiler.weight() : -1;
}

// What else a program of `weight` has.
void complete(Program& program, int64_t weight) {
  if (program.compute_dtype != program.dtype) {
    program.load = find_convert(program.dtype, program.compute_dtype);
    if (program.out_dtype == program.dtype)
      program.store = find_convert(program.compute_dtype, program.dtype);
  }
  program.tile = register_bytes / std::max<int64_t>(4, itemsize_of(program.compute_dtype));
  program.grain =
      std::max<int64_t>(constants::pointwise_elements, constants::pointwise_work / (1 + weight));
  if (program.store) program.streaming = nullptr;
  program.is_direct =
      program.num_steps == 1 && program.num_constants == 0 && !program.load && !program.store;
}

}  // namespace

bool bf16_has(double number) {
  const auto single = static_cast<float>(number);
  return static_cast<double>(single) == number && (std::bit_cast<uint32_t>(single) & 0xffffu) == 0;
}

bool read_signature(const bp_operator& op, Signature& signature) {
  if (op.num_nodes == 0 || !read_arguments(op.schema, signature)) return false;
  if (!is_well_formed(op, signature)) return false;
  const std::span<const bp_expr_node> nodes(op.nodes, op.num_nodes);
  // A tensor that serves as a condition and nothing else is bool in every type.
  bool elsewhere[Signature::max_args] = {};
  for (const bp_expr_node& node : nodes) {
    if (node.code == BP_X_ARG || node.code == BP_X_CONST) continue;
    const uint16_t operands[] = {node.a, node.b, node.c};
    for (int k = 0; k < num_operands(node.code); ++k) {
      const bp_expr_node& operand = nodes[operands[k]];
      if (operand.code != BP_X_ARG) continue;
      const bool is_condition = node.code == BP_X_SELECT && k == 0;
      (is_condition ? signature.is_mask : elsewhere)[operand.a] = true;
    }
  }
  for (uint32_t i = 0; i < signature.num_args; ++i) {
    signature.is_mask[i] = signature.is_mask[i] && !elsewhere[i] && signature.is_tensor[i];
  }
  signature.result_is_mask = find_masks(nodes, signature).back();
  return true;
}

bool compile(std::span<const bp_expr_node> nodes, const Signature& signature, uint32_t dtype,
             bool numbers_are_one, Program& program) {
  program.dtype = dtype;
  const bool small = dtype == BP_F16 || dtype == BP_BF16;
  // Of small floats, what is a matter of bits alone is done as it lies, the others in f32.
  int64_t weight = compile_in(dtype, nodes, signature, numbers_are_one, program);
  if (weight < 0 && small) weight = compile_in(BP_F32, nodes, signature, numbers_are_one, program);
  if (weight < 0) return false;
  complete(program, weight);
  return true;
}

bool compile_narrow(std::span<const bp_expr_node> nodes, const Signature& signature,
                    bool numbers_are_one, Program& program) {
  program.dtype = BP_BF16;
  const int64_t weight = compile_in(BP_BF16, nodes, signature, numbers_are_one, program, true);
  if (weight < 0) return false;
  complete(program, weight);
  return true;
}

}  // namespace bp::cpu::tile
