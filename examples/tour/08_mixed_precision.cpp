// Products in 16 bits, sums in 32: a scope chooses, and casts what it needs.
#include <iostream>

#include <backplane/backplane.hpp>

int main() {
  const bp::Tensor a = bp::ones({2, 2}), w = bp::full({2, 2}, 0.5);
  bp::set_requires_grad(w);
  bp::Tensor loss;
  {
    const bp::amp::Autocast autocast("cpu");
    const bp::Tensor product = bp::matmul(a, w);
    loss = bp::sum(product);
    std::cout << "product " << product.dtype() << ", sum " << loss.dtype() << '\n';
  }
  bp::backward(loss);
  std::cout << "gradient " << bp::grad(w).dtype() << ": " << bp::to_string(bp::grad(w)) << '\n';
}
