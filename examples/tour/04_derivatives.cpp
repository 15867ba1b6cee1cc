// Derivatives, and derivatives of derivatives.
#include <iostream>

#include <backplane/backplane.hpp>

int main() {
  const bp::Tensor x = bp::tensor({1.0, 2.0, 3.0});
  bp::set_requires_grad(x);
  const bp::Tensor y = bp::sum(x * x * x);
  bp::backward(y);
  std::cout << "3 x^2 = " << bp::grad(x) << '\n';

  const bp::Tensor z = bp::tensor(2.0);
  bp::set_requires_grad(z);
  const bp::Tensor first = bp::autograd::grad({z * z * z}, {z}, {}, {.create_graph = true})[0];
  const bp::Tensor second = bp::autograd::grad({first}, {z})[0];
  std::cout << "6 z = " << bp::item<double>(second) << '\n';

  const bp::NoGrad no_grad;  // from here on nothing is recorded
  std::cout << std::boolalpha << bp::requires_grad(x * x) << '\n';
}
