#include "autograd/programs/calls.hpp"

#include <deque>
#include <stdexcept>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

namespace bp::test::programs {
namespace {

// The arguments as values; holds what they point to.
class BoxedArguments {
 public:
  BoxedArguments(const Step& step, std::size_t first, const Operator& op,
                 const TensorOf& tensor_of) {
    const auto& arguments = op.schema->arguments;
    for (std::size_t i = first; i < step.args.size(); ++i)
      values_.push_back(value(step.args[i], tensor_of));
    if (values_.size() > arguments.size())
      throw std::runtime_error("too many arguments: " + text_of(step));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i >= values_.size()) values_.push_back(arguments[i].default_value);
      if (arguments[i].type == ArgumentType::real && values_[i].tag == BP_INT)
        values_[i] = bp::value_of(static_cast<double>(values_[i].u.i));
    }
  }
  std::vector<bp_value>& all() { return values_; }

 private:
  bp_value value(const Argument& argument, const TensorOf& tensor_of) {
    switch (argument.kind) {
      case Argument::Kind::none: return {};
      case Argument::Kind::variable: return bp::value_of(tensor_of(argument.integer));
      case Argument::Kind::integer: return bp::value_of(argument.integer);
      case Argument::Kind::real: return bp::value_of(argument.real);
      case Argument::Kind::boolean: return bp::value_of(argument.integer != 0);
      case Argument::Kind::text: return bp::value_of(std::string_view(argument.text));
      case Argument::Kind::dtype: return bp::value_of(argument.dtype);
      case Argument::Kind::numbers:
        return bp::value_of(IntList(lists_.emplace_back(argument.integers())));
      case Argument::Kind::variables: break;
    }
    std::vector<const bp_tensor*>& list = tensors_.emplace_back();
    for (std::int64_t variable : argument.variables)
      list.push_back(&tensor_of(variable).impl()->abi);
    bp_value made{};
    made.tag = BP_TENSOR_LIST;
    made.aux = static_cast<std::uint32_t>(list.size());
    made.u.ptr = list.data();
    return made;
  }

  std::vector<bp_value> values_;
  std::deque<std::vector<std::int64_t>> lists_;
  std::deque<std::vector<const bp_tensor*>> tensors_;
};

Scalar number_of(const Argument& argument) {
  return argument.kind == Argument::Kind::real ? Scalar(argument.real) : Scalar(argument.integer);
}

}  // namespace

Operator* row_of(const Step& step) {
  ensure_operators();
  const std::string row = step.row();
  const bool is_form = row == "copy" && step.is_in_place();
  return is_form ? nullptr : find_operator(row);
}

std::vector<Tensor> call_step(const Step& step, const TensorOf& tensor_of) {
  const std::vector<Argument>& args = step.args;
  if (Operator* op = row_of(step)) {
    BoxedArguments values(step, step.is_out() ? 1 : 0, *op, tensor_of);
    const auto count = static_cast<std::uint32_t>(values.all().size());
    if (!step.is_in_place() && !step.is_out()) return call_boxed(*op, values.all());
    const Tensor& target = tensor_of(step.target());
    if (op->kind == BP_KIND_POINTWISE)
      call_pointwise_into(*op, values.all().data(), count, target);
    else
      call_one_into(*op, values.all().data(), count, target);
    return {};
  }
  const Tensor& first = tensor_of(args[0].integer);
  if (step.name == "copy_") {
    copy_(first, tensor_of(args[1].integer));
    return {};
  }
  if (step.name == "fill_") {
    fill_(first, number_of(args[1]));
    return {};
  }
  if (step.name == "detach") return {detach(first)};
  throw std::runtime_error("there is no call of this name: " + text_of(step));
}

Tensor make_tensor(Dtype dtype, IntList shape, const std::vector<double>& values) {
  const Tensor made = empty(shape, dtype, device("cpu"));
  void* const data = made.numel() ? made.data_ptr() : nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) switch (dtype) {
      case Dtype::f64: static_cast<double*>(data)[i] = values[i]; break;
      case Dtype::f32: static_cast<float*>(data)[i] = static_cast<float>(values[i]); break;
      case Dtype::i64:
        static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(values[i]);
        break;
      default: static_cast<bool*>(data)[i] = values[i] != 0; break;
    }
  return made;
}

std::vector<double> elements_of(const Tensor& tensor) {
  const NoGrad constant;
  const Tensor dense = contiguous(to(cpu(detach(tensor)), Dtype::f64));
  return to_vector<double>(dense);
}

}  // namespace bp::test::programs
