#include "autograd/programs/evaluate.hpp"

#include <cmath>
#include <map>

#include "autograd/programs/calls.hpp"

namespace bp::test::programs {
namespace {

using Numbers = const double*;
using Pointwise = double (*)(Numbers x);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// Arguments in the schema's order, with their defaults.
const std::map<std::string, Pointwise> pointwise{
    {"add", [](Numbers x) { return x[0] + x[2] * x[1]; }},
    {"sub", [](Numbers x) { return x[0] - x[2] * x[1]; }},
    {"mul", [](Numbers x) { return x[0] * x[1]; }},
    {"div", [](Numbers x) { return x[0] / x[1]; }},
    {"maximum", [](Numbers x) { return x[0] > x[1] ? x[0] : x[1]; }},
    {"minimum", [](Numbers x) { return x[0] < x[1] ? x[0] : x[1]; }},
    {"where", [](Numbers x) { return x[0] != 0 ? x[1] : x[2]; }},
    {"neg", [](Numbers x) { return -x[0]; }},
    {"abs", [](Numbers x) { return std::abs(x[0]); }},
    {"exp", [](Numbers x) { return std::exp(x[0]); }},
    {"log", [](Numbers x) { return std::log(x[0]); }},
    {"sqrt", [](Numbers x) { return std::sqrt(x[0]); }},
    {"sin", [](Numbers x) { return std::sin(x[0]); }},
    {"cos", [](Numbers x) { return std::cos(x[0]); }},
    {"tanh", [](Numbers x) { return std::tanh(x[0]); }},
    {"sigmoid", [](Numbers x) { return sigmoid(x[0]); }},
    {"relu", [](Numbers x) { return x[0] > 0 ? x[0] : 0; }},
    {"reciprocal", [](Numbers x) { return 1 / x[0]; }},
    {"rsqrt", [](Numbers x) { return 1 / std::sqrt(x[0]); }},
    {"square", [](Numbers x) { return x[0] * x[0]; }},
    {"pow", [](Numbers x) { return std::pow(x[0], x[1]); }},
    {"clamp", [](Numbers x) { return std::min(std::max(x[0], x[1]), x[2]); }},
    {"clamp_min", [](Numbers x) { return std::max(x[0], x[1]); }},
    {"clamp_max", [](Numbers x) { return std::min(x[0], x[1]); }},
    {"erf", [](Numbers x) { return std::erf(x[0]); }},
    {"expm1", [](Numbers x) { return std::expm1(x[0]); }},
    {"log1p", [](Numbers x) { return std::log1p(x[0]); }},
    {"silu", [](Numbers x) { return x[0] * sigmoid(x[0]); }},
    {"gelu", [](Numbers x) { return x[0] * 0.5 * (1 + std::erf(x[0] * std::sqrt(0.5))); }},
    {"leaky_relu", [](Numbers x) { return x[0] > 0 ? x[0] : x[0] * x[1]; }},
    {"copy", [](Numbers x) { return x[0]; }},
};

// A tensor's elements stretched to the common shape, or a number.
struct Operand {
  const Plain* tensor = nullptr;
  double number = 0;
  std::vector<std::int64_t> places;  // empty: as they are
};

Operand operand_of(const Argument& argument, const PlainOf& plain_of) {
  if (argument.is_variable()) return {&plain_of(argument.integer), 0, {}};
  const bool is_real = argument.kind == Argument::Kind::real;
  return {nullptr, is_real ? argument.real : static_cast<double>(argument.integer), {}};
}

Plain compute_pointwise(Pointwise function, const Step& step, const Operator* op,
                        const PlainOf& plain_of) {
  std::vector<Operand> operands;
  std::vector<Shape> shapes;
  for (const Argument& argument : step.args) {
    operands.push_back(operand_of(argument, plain_of));
    if (operands.back().tensor) shapes.push_back(operands.back().tensor->shape);
  }
  for (std::size_t i = operands.size(); op && i < op->schema->arguments.size(); ++i) {
    const bp_value& value = op->schema->arguments[i].default_value;
    operands.push_back({nullptr, value.tag == BP_DOUBLE ? value.u.f : double(value.u.i), {}});
  }
  Plain made{Dtype::f64, broadcast_shapes_of(shapes), {}};
  for (Operand& operand : operands)
    if (operand.tensor && operand.tensor->shape != made.shape)
      operand.places = broadcast_places(operand.tensor->shape, made.shape);
  made.values.resize(static_cast<std::size_t>(numel_of(made.shape)));
  double numbers[8];
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Operand& operand = operands[k];
      const std::size_t at =
          operand.places.empty() ? i : static_cast<std::size_t>(operand.places[i]);
      numbers[k] = operand.tensor ? operand.tensor->values[at] : operand.number;
    }
    made.values[i] = function(numbers);
  }
  return made;
}

// The call on tensors of the step's shapes: of the elements in f64, or on meta for the dtypes.
std::vector<Tensor> call_library(const Step& step, const PlainOf& plain_of, bool on_meta) {
  const NoGrad constant;
  std::map<std::int64_t, Tensor> made;
  const TensorOf tensor_of = [&](std::int64_t variable) -> const Tensor& {
    Tensor& tensor = made[variable];
    const Plain& plain = plain_of(variable);
    const Dtype wide = is_floating(plain.dtype) ? Dtype::f64 : plain.dtype;
    if (!tensor.defined())
      tensor = on_meta ? empty(plain.shape, plain.dtype, meta_device)
                       : make_tensor(wide, plain.shape, plain.values);
    return tensor;
  };
  Step wide = step;
  for (Argument& argument : wide.args)
    if (!on_meta && argument.kind == Argument::Kind::dtype && argument.dtype == Dtype::f32)
      argument.dtype = Dtype::f64;
  try {
    return call_step(wide, tensor_of);
  } catch (const Error& error) {
    throw Refused(Why::does_not_fit, error.what());
  }
}

bool is_narrow(const Step& step, const PlainOf& plain_of) {
  bool is = false;
  for (std::int64_t variable : variables_of(step)) is |= plain_of(variable).dtype == Dtype::f32;
  for (const Argument& argument : step.args)
    is |= argument.kind == Argument::Kind::dtype && argument.dtype == Dtype::f32;
  return is;
}

// Without a tensor of real numbers the result has the default dtype, which numbers do not make f64.
bool all_wide(const Step& step, const PlainOf& plain_of, std::size_t first) {
  bool any = false;
  for (std::size_t i = first; i < step.args.size(); ++i) {
    if (!step.args[i].is_variable()) continue;
    if (plain_of(step.args[i].integer).dtype != Dtype::f64) return false;
    any = true;
  }
  return any;
}

std::vector<Plain> plain_results(const std::vector<Tensor>& tensors) {
  std::vector<Plain> results;
  for (const Tensor& tensor : tensors)
    results.push_back(
        {tensor.dtype(), Shape(tensor.shape().begin(), tensor.shape().end()), elements_of(tensor)});
  return results;
}

constexpr Kept keeps_nothing{false, false, false}, keeps_result{true, false, false},
    keeps_first{false, true, false};
const std::map<std::string, Kept> kept{
    {"add", keeps_nothing},
    {"sub", keeps_nothing},
    {"neg", keeps_nothing},
    {"sum", keeps_nothing},
    {"mean", keeps_nothing},
    {"cumsum", keeps_nothing},
    {"cat", keeps_nothing},
    {"stack", keeps_nothing},
    {"copy", keeps_nothing},
    {"cast", keeps_nothing},
    {"flip", keeps_nothing},
    {"roll", keeps_nothing},
    {"tril", keeps_nothing},
    {"triu", keeps_nothing},
    {"fill", keeps_nothing},
    {"reshape", keeps_nothing},
    {"flatten", keeps_nothing},
    {"repeat", keeps_nothing},
    {"constant_pad_nd", keeps_nothing},
    {"exp", keeps_result},
    {"sqrt", keeps_result},
    {"tanh", keeps_result},
    {"sigmoid", keeps_result},
    {"relu", keeps_result},
    {"reciprocal", keeps_result},
    {"rsqrt", keeps_result},
    {"expm1", keeps_result},
    {"softmax", keeps_result},
    {"log_softmax", keeps_result},
    {"log", keeps_first},
    {"sin", keeps_first},
    {"cos", keeps_first},
    {"square", keeps_first},
    {"erf", keeps_first},
    {"log1p", keeps_first},
    {"silu", keeps_first},
    {"gelu", keeps_first},
    {"gelu_tanh", keeps_first},
    {"hardswish", keeps_first},
    {"hardsigmoid", keeps_first},
    {"abs", keeps_first},
    {"clamp", keeps_first},
    {"clamp_min", keeps_first},
    {"clamp_max", keeps_first},
    {"softplus", keeps_first},
    {"index_select", {false, false, true}},
    {"gather", {false, false, true}},
    {"embedding", {false, false, true}},
};

}  // namespace

std::vector<Plain> evaluate(const Step& step, const PlainOf& plain_of) {
  const auto found = pointwise.find(step.name);
  const Operator* op = found == pointwise.end() ? nullptr : row_of(step);
  const std::size_t first = step.name == "where" ? 1 : 0;
  std::vector<Plain> results;
  if (found != pointwise.end() && all_wide(step, plain_of, first))
    return {compute_pointwise(found->second, step, op, plain_of)};
  results = plain_results(call_library(step, plain_of, false));
  if (!is_narrow(step, plain_of)) return results;
  const std::vector<Tensor> typed = call_library(step, plain_of, true);
  for (std::size_t i = 0; i < results.size(); ++i) results[i].dtype = typed[i].dtype();
  return results;
}

Kept kept_by(const std::string& row, bool first_wanted, bool others_wanted) {
  if (row == "mul" || row == "matmul" || row == "bmm") return {false, others_wanted, first_wanted};
  if (row == "div") return {false, others_wanted, true};
  if (row == "where") return {false, true, false};
  const auto found = kept.find(row);
  return found == kept.end() ? Kept{} : found->second;
}

}  // namespace bp::test::programs
