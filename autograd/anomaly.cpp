#include "anomaly.hpp"

#include <backplane/autograd/anomaly.hpp>
#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/generated/comparison.hpp>
#include <backplane/core_ops/generated/movement.hpp>
#include <backplane/core_ops/generated/reduction.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/check.hpp>

#include "modes.hpp"
#include "variable.hpp"

namespace bp::autograd {
namespace {

std::string describe(const bp_value& value) {
  switch (value.tag) {
    case BP_TENSOR: return described(*TensorImpl::of(value.u.tensor));
    case BP_TENSOR_LIST: return fmt::format("{} tensors", value.aux);
    case BP_INT: return fmt::format("{}", value.u.i);
    case BP_BOOLEAN: return value.u.i ? "true" : "false";
    case BP_DOUBLE: return fmt::format("{}", value.u.f);
    case BP_INT_LIST: return to_string({static_cast<const std::int64_t*>(value.u.ptr), value.aux});
    case BP_GENERATOR: return "a generator";
    default: return "...";
  }
}

bool holds_nan(const Tensor& gradient) {
  if (!gradient.defined() || !(is_floating(gradient.dtype()) || is_complex(gradient.dtype())) ||
      gradient.numel() == 0)
    return false;
  const NoGrad not_recorded;
  std::int64_t count = 0;
  copy_to_host_memory(sum(cast(ne(gradient, gradient), Dtype::i64)), &count);
  return count != 0;
}

std::string forward_call_of(const Node& node) {
  const NodeExtras* extras = node.extras_or_null();
  if (!extras || extras->forward_call.empty()) return "";
  return fmt::format("; the forward call was {}", extras->forward_call);
}

}  // namespace

DetectAnomaly::DetectAnomaly() {
  ++modes.anomaly_depth;
}
DetectAnomaly::~DetectAnomaly() {
  --modes.anomaly_depth;
}

std::string describe_call(const Call& call) {
  std::string text = fmt::format("{}(", call.op.name());
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    text += (i ? ", " : "") + describe(call.args[i]);
  return text + ")";
}

void apply_watched(Node& node, std::span<Tensor> gradients, std::span<Tensor> out) {
  try {
    node.apply(gradients, out);
  } catch (const Error& error) {
    throw_error(error.error_class(), error.what() + forward_call_of(node));
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (holds_nan(out[i]))
      throw_error(ErrorClass::bad_argument,
                  fmt::format("backward through {}: the gradient for input {} holds NaN{}",
                              node.name(), i, forward_call_of(node)));
}

}  // namespace bp::autograd
