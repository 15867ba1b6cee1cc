// An operator of your own, with its derivative. (An operator with kernels comes with a plugin: docs/write_a_backend.md.)
#include <iostream>

#include <backplane/backplane.hpp>

namespace autograd = bp::autograd;

// x * sigmoid(x), which keeps x alone for its derivative.
const autograd::Function swish{
    .name = "swish",
    .forward =
        [](autograd::FunctionContext& context, std::span<const bp::Tensor> inputs) {
          context.save({inputs[0]});
          return std::vector{inputs[0] * bp::sigmoid(inputs[0])};
        },
    .backward =
        [](autograd::FunctionContext& context, std::span<const bp::Tensor> gradients) {
          const bp::Tensor x = context.saved()[0], s = bp::sigmoid(x);
          return std::vector{gradients[0] * (s + x * s * (1 - s))};
        }};

int main() {
  const bp::Tensor x = bp::tensor({-1.0, 0.0, 2.0});
  bp::set_requires_grad(x);
  bp::backward(bp::sum(autograd::apply(swish, {x})[0]));
  std::cout << "by hand: " << bp::grad(x) << '\n';

  const bp::Tensor same = bp::detach(x);
  bp::set_requires_grad(same);
  bp::backward(bp::sum(bp::silu(same)));
  std::cout << "silu:    " << bp::grad(same) << '\n';
}
