// Any expression over elements: one kernel for each dtype and way to reach the elements, whatever the row.
#include <algorithm>
#include <fmt/format.h>

#include <backplane/generated/steps.h>
#include <backplane/tensor/error.hpp>

#include "constants.hpp"
#include "dialect/expression_text.hpp"
#include "dialect/helpers.hpp"
#include "kinds/elementwise.hpp"
#include "kinds/kinds.hpp"

namespace bp::codegen {
namespace {

constexpr std::size_t max_inputs = StridedSpace::max_operands - 1;

class Pointwise : public GeneratedKernel {
 public:
  explicit Pointwise(const Operator& op);
  bool is_valid() const { return valid_dtypes_ != 0; }
  void run(Invocation& invocation) const override;

 private:
  bool is_mask(std::size_t input) const { return (masks_ >> input & 1u) != 0; }
  bool is_beside(std::size_t input) const {
    return std::find(beside_.begin(), beside_.end(), inputs_[input]) != beside_.end();
  }
  Dtype dtype_of(const bp_call& call) const;
  bool numbers_are_one(const bp_call& call) const;
  bool emits(Dtype dtype) const;
  void declare_places(const Operator& op);
  KernelText make_text(const Invocation& invocation, const Form& form, Dtype dtype,
                       std::uint32_t numbers, bool ones) const;

  std::string name_;
  std::vector<bp_expr_node> nodes_;
  std::vector<bp_expr_node> nodes_with_ones_;  // numbers beside the tensors (alpha) left away
  std::vector<std::uint32_t> inputs_;          // arguments that the nodes use
  std::vector<std::uint32_t> beside_;          // those that are always numbers
  std::uint32_t masks_ = 0;                    // bits of the inputs that are bool in every dtype
  bool gives_mask_ = false;
  bp_dtype_set valid_dtypes_ = 0;
  std::int64_t grain_ = 0;  // elements that are worth a work-item
};

bool is_number_argument(ArgumentType type) {
  return type == ArgumentType::scalar || type == ArgumentType::real ||
         type == ArgumentType::integer || type == ArgumentType::boolean;
}

// Steps follow their operands, and arguments are tensors or numbers.
bool is_well_formed(const Operator& op) {
  const auto& arguments = op.schema->arguments;
  for (std::uint32_t i = 0; i < op.num_nodes; ++i) {
    const bp_expr_node& node = op.nodes[i];
    if (node.code == 0 || node.code == BP_X_ACC || node.code >= BP_NUM_X) return false;
    if (node.code == BP_X_CONST) continue;
    if (node.code == BP_X_ARG) {
      if (node.a >= std::min<std::size_t>(arguments.size(), 32)) return false;
      const ArgumentType type = arguments[node.a].type;
      if (type != ArgumentType::tensor && !is_number_argument(type)) return false;
      continue;
    }
    for (const std::uint16_t step : steps_read_by(node))
      if (step >= i) return false;
  }
  return op.num_nodes != 0 && op.schema->returns.size() == 1;
}

Pointwise::Pointwise(const Operator& op)
    : name_(op.name()), nodes_(op.nodes, op.nodes + op.num_nodes),
      gives_mask_(codegen::gives_mask(nodes_)) {
  const std::uint64_t masks = mask_arguments(nodes_);
  std::int64_t weight = 1;
  for (const bp_expr_node& node : nodes_) {
    weight += bp_steps[node.code < BP_NUM_X ? node.code : 0].cost;
    if (node.code != BP_X_ARG) continue;
    if (std::find(inputs_.begin(), inputs_.end(), node.a) != inputs_.end()) continue;
    if (masks >> node.a & 1u) masks_ |= 1u << inputs_.size();
    inputs_.push_back(node.a);
    if (op.schema->arguments[node.a].type != ArgumentType::tensor) beside_.push_back(node.a);
  }
  if (inputs_.size() > max_inputs) return;
  grain_ =
      std::max<std::int64_t>(constants::pointwise_elements, constants::pointwise_work / weight);
  nodes_with_ones_ = nodes_;
  for (bp_expr_node& node : nodes_with_ones_)
    if (node.code == BP_X_ARG && std::find(beside_.begin(), beside_.end(), node.a) != beside_.end())
      node = {BP_X_CONST, 0, 0, 0, 1.0};
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (const Dtype dtype = static_cast<Dtype>(i); contains(op.dtypes, dtype) && emits(dtype))
      valid_dtypes_ |= set_of(dtype);
  declare_places(op);
}

bool Pointwise::emits(Dtype dtype) const {
  if (is_storage_only(dtype)) return false;
  const Operands operands{[](std::uint32_t) { return std::string("a"); }, {}};
  std::string statements;
  try {
    emit_expression(nodes_, dtype, 1, operands, statements);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Pointwise::declare_places(const Operator& op) {
  const std::uint64_t masks = mask_arguments(nodes_);
  const auto& arguments = op.schema->arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].type != ArgumentType::tensor) {
      places.push_back(any_place());
      continue;
    }
    const bool chooses = i < 64 && (masks >> i & 1u);
    places.push_back(tensor_place(chooses ? set_of(Dtype::boolean) : valid_dtypes_,
                                  (op.scalar_ok >> i & 1u) != 0));
  }
  places.push_back(tensor_place(gives_mask_ ? set_of(Dtype::boolean) : valid_dtypes_));
  flags |= BP_KERNEL_IN_PLACE_SAFE;
}

// Of the output, unless that is bool for every type.
Dtype Pointwise::dtype_of(const bp_call& call) const {
  if (!gives_mask_) return static_cast<Dtype>(call.outputs[0]->dtype);
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const bp_value& value = call.args[inputs_[k]];
    if (value.tag == BP_TENSOR && !is_mask(k)) return static_cast<Dtype>(value.u.tensor->dtype);
  }
  return Dtype::boolean;
}

bool Pointwise::numbers_are_one(const bp_call& call) const {
  for (std::uint32_t place : beside_)
    if (!is_one(call.args[place])) return false;
  return !beside_.empty();
}

void Pointwise::run(Invocation& invocation) const {
  const bp_call& call = invocation.call;
  const Dtype dtype = dtype_of(call);
  invocation.require(dtype);
  const bool ones = numbers_are_one(call);
  ElementwiseCall elements;
  elements.add(*call.outputs[0]);
  std::uint32_t numbers = 0;  // bits of the inputs that come as such
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const bp_value& value = call.args[inputs_[k]];
    if (value.tag == BP_TENSOR)
      elements.add(*value.u.tensor);
    else
      numbers |= 1u << k;
  }
  elements.launch(
      invocation, grain_,
      [&](const Form& form) {
        const std::uint64_t variant = form.variant() | std::uint64_t{index(dtype)} << form_bits |
                                      std::uint64_t{ones} << (form_bits + 5) |
                                      std::uint64_t{numbers} << (form_bits + 6);
        return invocation.function(
            variant, [&] { return make_text(invocation, form, dtype, numbers, ones); });
      },
      [&](Values& values) {
        for (std::size_t k = 0; k < inputs_.size(); ++k)
          if ((numbers >> k & 1u) && !(ones && is_beside(k)))
            add_number(values, call.args[inputs_[k]], is_mask(k) ? Dtype::boolean : dtype);
      });
}

KernelText Pointwise::make_text(const Invocation& invocation, const Form& form, Dtype dtype,
                                std::uint32_t numbers, bool ones) const {
  ElementwiseText text;
  text.name = fmt::format("{}_{}", name_, suffix(dtype));
  text.form = form;
  text.for_cpu = invocation.for_cpu();
  text.language = invocation.device.language();
  if (has_vector_form(dtype))
    text.width = vector_width(invocation, bytes_of_type(compute_type(dtype)));
  text.operands.push_back({gives_mask_ ? Dtype::boolean : dtype, false});
  std::vector<std::uint32_t> kept;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (ones && is_beside(k)) continue;
    kept.push_back(inputs_[k]);
    text.operands.push_back({is_mask(k) ? Dtype::boolean : dtype, (numbers >> k & 1u) != 0});
  }
  text.step = [&](unsigned width, const auto& input, std::string& statements) {
    Operands operands;
    operands.argument = [&](std::uint32_t place) {
      const auto at = std::find(kept.begin(), kept.end(), place);
      return input(static_cast<std::size_t>(at - kept.begin()) + 1);
    };
    return emit_expression(ones ? nodes_with_ones_ : nodes_, dtype, width, operands, statements);
  };
  return elementwise_text(text);
}

}  // namespace

std::unique_ptr<GeneratedKernel> make_pointwise(const Operator& op) {
  if (!is_well_formed(op)) return nullptr;
  auto kernel = std::make_unique<Pointwise>(op);
  if (!kernel->is_valid()) return nullptr;
  return kernel;
}

}  // namespace bp::codegen
