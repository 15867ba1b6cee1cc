#include <backplane/amp/functions.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::amp {
namespace {

Tensor cast_input(const AutocastState& state, const Tensor& input, Dtype dtype) {
  const bool is_cast = input.defined() && is_floating(input.dtype()) && input.dtype() != f64 &&
                       state.is_enabled(input.device());
  return is_cast ? cast(input, dtype) : input;
}

bool casts_on_any(const AutocastState& state, std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs)
    if (input.defined() && state.is_enabled(input.device())) return true;
  return false;
}

}  // namespace

std::vector<Tensor> apply(const autograd::Function& function, TensorList inputs,
                          const CustomOptions& options) {
  if (!function.forward || !function.backward) return autograd::apply(function, inputs);
  const AutocastState state = AutocastState::current();
  if (options.cast_inputs && casts_on_any(state, inputs.span())) {
    const Dtype dtype = *options.cast_inputs;
    BP_CHECK(
        is_floating(dtype),
        "{}: cast_inputs is {}, and inputs are cast to a floating dtype; pass f32, f16 or bf16",
        function.name, name(dtype));
    autograd::Function uncast{function.name, {}, function.backward};
    uncast.forward = [forward = function.forward, dtype, state](autograd::FunctionContext& context,
                                                                std::span<const Tensor> given) {
      const UseAutocast off{AutocastState()};
      std::vector<Tensor> cast_inputs;
      for (const Tensor& input : given) cast_inputs.push_back(cast_input(state, input, dtype));
      return forward(context, cast_inputs);
    };
    return autograd::apply(uncast, inputs);
  }
  autograd::Function carrying = function;
  carrying.backward = [backward = function.backward, state](autograd::FunctionContext& context,
                                                            std::span<const Tensor> gradients) {
    const UseAutocast as_forward(state);
    return backward(context, gradients);
  };
  return autograd::apply(carrying, inputs);
}

autograd::Region carried(autograd::Region region) {
  BP_CHECK(region, "carried: the function is empty; give one");
  return [region = std::move(region),
          state = AutocastState::current()](std::span<const Tensor> inputs) {
    const UseAutocast as_then(state);
    return region(inputs);
  };
}

}  // namespace bp::amp
