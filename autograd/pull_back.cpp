#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/autograd/pull_back.hpp>
#include <backplane/dispatcher/frame.hpp>
#include <backplane/tensor/check.hpp>

#include "record.hpp"
#include "row_derivatives.hpp"

namespace bp::autograd {
namespace {

// Its arguments and results live as long as the rule runs.
class UnmadeCall final : public Recorded {
 public:
  UnmadeCall(std::span<const bp_value> args, std::span<const Tensor> results)
      : args_(args), results_(results) {}
  Tensor tensor(std::uint32_t place) const override { return tensor_of(value(place).u.tensor); }
  Tensor result(std::uint32_t place) const override { return results_[place]; }
  const bp_value& value(std::uint32_t place) const override { return args_[place]; }
  std::span<const Tensor> list(std::uint32_t) const override { return {}; }

 private:
  std::span<const bp_value> args_;
  std::span<const Tensor> results_;
};

}  // namespace

Tensor pull_back(const Operator& op, std::span<const bp_value> args, std::uint32_t place,
                 const Tensor& gradient, std::span<const Tensor> results) {
  BP_CHECK(args.size() == op.schema->arguments.size(),
           "pull_back: {} has {} arguments, and {} were given; give all", op.name(),
           op.schema->arguments.size(), args.size());
  BP_CHECK(place < args.size() && args[place].tag == BP_TENSOR && gradient.defined(),
           "pull_back: {}'s argument {} and the gradient must be tensors", op.name(), place);
  const Tensor by = tensor_of(args[place].u.tensor);
  BP_CHECK(by.shape() == gradient.shape() && by.dtype() == gradient.dtype() &&
               by.device() == gradient.device(),
           "pull_back: the gradient is {}{} on {}, and {}'s argument {} {}{} on {}; give one like "
           "the argument",
           name(gradient.dtype()), to_string(gradient.shape()), device_name(gradient.device()),
           op.name(), place, name(by.dtype()), to_string(by.shape()), device_name(by.device()));
  ensure_layer();
  const Derivative* derivative = derivative_of(op);
  const Derivative::Input* input = nullptr;
  if (derivative) {
    const std::span inputs(derivative->inputs, derivative->num_inputs);
    const auto found = std::ranges::find(inputs, place, &Derivative::Input::place);
    if (found != inputs.end() && found->rule && found->results >> results.size() == 0)
      input = &*found;
  }
  if (!input)
    throw_error(ErrorClass::unsupported,
                fmt::format("pull_back: {} has no derivative by argument {} that can be computed "
                            "from what was given; record the call and use grad",
                            op.name(), place));
  const NoGrad not_recorded;
  Tensor gradients[] = {gradient};
  return input->rule(UnmadeCall(args, results), std::span<Tensor>(gradients, 1));
}

}  // namespace bp::autograd
