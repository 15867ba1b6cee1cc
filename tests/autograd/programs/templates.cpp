#include "autograd/programs/templates.hpp"

#include <map>
#include <optional>
#include <set>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/schema.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

#include "autograd/programs/calls.hpp"

namespace bp::test::programs {
namespace {

constexpr std::int64_t most_sample_elements = 40;

bool is_random_or_made(const Operator& op) {
  return op.draws == Draws::always || op.kind == BP_KIND_RANDOM || op.kind == BP_KIND_FACTORY ||
         op.schema->find("device") >= 0;
}

// Derivatives that other rows are made of; nobody calls them.
bool is_backward(const Operator& op) {
  return std::string_view(op.name()).find("_backward") != std::string_view::npos;
}

// With any numbers: a program's are not symmetric matrices, nor such as have a factor.
bool has_derivative(const Operator& op) {
  const std::string_view name = op.name();
  // Which elements are equal, and so the most frequent, is a matter of rounding; hardmax tells places alone, and histc counts.
  if (name == "mode" || name == "hardmax" || name == "histc") return false;
  // Whether one of several results has a derivative, the tensors at its place in the lists decide.
  if (name.starts_with("_foreach")) return false;
  return (op.has_gradient || op.kind == BP_KIND_COMPOSITE) &&
         !has_trait(op.name(), Trait::telling_input);
}

std::optional<Argument> plain_argument(const bp_value& value) {
  const auto* integers = static_cast<const std::int64_t*>(value.u.ptr);
  switch (value.tag) {
    case BP_NONE: return Argument();
    case BP_INT: return Argument::of_integer(value.u.i);
    case BP_DOUBLE: return Argument::of_real(value.u.f);
    case BP_BOOLEAN: return Argument::of_boolean(value.u.i != 0);
    case BP_STRING:
      return Argument::of_text(std::string(static_cast<const char*>(value.u.ptr), value.aux));
    case BP_INT_LIST: return Argument::of_integers({integers, integers + value.aux});
    case BP_DTYPE:
      if (static_cast<Dtype>(value.u.i) == Dtype::f32 ||
          static_cast<Dtype>(value.u.i) == Dtype::f64)
        return Argument::of_dtype(static_cast<Dtype>(value.u.i));
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::size_t num_results(const Operator& op, const Sample& sample) {
  if (!op.count) return op.schema->returns.size();
  const NoGrad constant;
  return call_boxed(*find_operator(op.name()), sample.args).size();
}

class Maker {
 public:
  Maker(const Operator& op, const Sample& sample) : op_(op), sample_(sample) {}

  std::optional<Template> make() {
    made_.step.name = op_.name();
    made_.num_results = num_results(op_, sample_);
    for (std::size_t i = 0; i < sample_.args.size(); ++i) {
      const bp_value& value = sample_.args[i];
      if ((op_.mutates >> i & 1u) && value.tag != BP_NONE) return {};
      std::optional<Argument> argument = argument_of(value);
      if (!argument || !fits_) return {};
      made_.step.args.push_back(std::move(*argument));
    }
    bool any = false;
    for (const Template::Input& input : made_.inputs) any |= !input.is_given;
    if (!any) return {};
    return std::move(made_);
  }

 private:
  std::optional<Argument> argument_of(const bp_value& value) {
    if (value.tag == BP_TENSOR) return Argument::of_variable(input_of(value.u.tensor));
    if (value.tag != BP_TENSOR_LIST) return plain_argument(value);
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    std::vector<std::int64_t> list;
    for (std::uint32_t i = 0; i < value.aux; ++i) {
      if (!elements[i]) return std::nullopt;  // programs have no word for a hole
      list.push_back(input_of(elements[i]));
    }
    return Argument::of_variables(std::move(list));
  }
  std::int64_t input_of(const bp_tensor* abi) {
    if (const auto found = numbers_.find(abi); found != numbers_.end()) return found->second;
    const Tensor tensor = Tensor::share(TensorImpl::of(abi));
    fits_ &= tensor.numel() > 0 && tensor.numel() <= most_sample_elements;
    fits_ &= tensor.dtype() == f64 || tensor.dtype() == i64 || tensor.dtype() == boolean;
    Template::Input input;
    input.shape.assign(tensor.shape().begin(), tensor.shape().end());
    input.is_given = tensor.dtype() != f64;
    input.dtype = tensor.dtype();
    if (input.is_given && fits_) input.values = elements_of(tensor);
    made_.inputs.push_back(std::move(input));
    return numbers_[abi] = static_cast<std::int64_t>(made_.inputs.size()) - 1;
  }

  const Operator& op_;
  const Sample& sample_;
  Template made_;
  std::map<const bp_tensor*, std::int64_t> numbers_;
  bool fits_ = true;
};

// Some rows show their argument's memory for some arguments: einsum of one operand.
bool returns_argument(Operator& op, const Sample& sample) {
  const NoGrad constant;
  const std::vector<Tensor> results = call_boxed(op, sample.args);
  for (const Tensor& tensor : sample.tensors)
    for (const Tensor& result : results)
      if (result.shares_storage(tensor)) return true;
  return false;
}

std::vector<RowTemplates> make_templates() {
  ensure_operators();
  std::vector<RowTemplates> rows;
  for (Operator* op : registered_operators()) {
    if (!find_row_facts(op->name()) || op->is_view() || !contains(op->dtypes, f64)) continue;
    if (!has_derivative(*op) || is_random_or_made(*op) || is_backward(*op)) continue;
    RowTemplates made{op->name(), {}};
    for (const Sample& sample : samples_of(*op, f64, device("cpu"))) {
      // Values at which nothing can be judged: NaN and the infinities, and equal ones.
      if (sample.recipe == "specials" || sample.recipe == "repeated_values") continue;
      std::optional<Template> one = Maker(*op, sample).make();
      if (one && !returns_argument(*op, sample)) made.templates.push_back(std::move(*one));
    }
    if (!made.templates.empty()) rows.push_back(std::move(made));
  }
  return rows;
}

std::vector<PointwiseRow> make_pointwise() {
  ensure_operators();
  std::vector<PointwiseRow> rows;
  for (Operator* op : registered_operators()) {
    if (!find_row_facts(op->name()) || op->kind != BP_KIND_POINTWISE || !op->has_gradient) continue;
    PointwiseRow made{op->name(), {}};
    const auto& arguments = op->schema->arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!arguments[i].has_default)
        made.inputs.push_back({arguments[i].type == ArgumentType::tensor,
                               (op->scalar_ok >> i & 1u) != 0, arguments[i].name == "condition"});
    rows.push_back(std::move(made));
  }
  return rows;
}

}  // namespace

const std::vector<RowTemplates>& row_templates() {
  static const std::vector<RowTemplates> rows = make_templates();
  return rows;
}

const std::vector<PointwiseRow>& pointwise_rows() {
  static const std::vector<PointwiseRow> rows = make_pointwise();
  return rows;
}

}  // namespace bp::test::programs
