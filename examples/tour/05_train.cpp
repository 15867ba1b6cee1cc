// A network learns the exclusive or. Another device takes another name, and nothing else.
#include <iostream>

#include <backplane/backplane.hpp>

namespace nn = bp::nn;

int main() {
  bp::manual_seed(1);
  const bp::DeviceGuard guard(bp::device("cpu"));  // where new tensors are made
  const bp::Tensor inputs = bp::tensor({{0.0, 0.0}, {0.0, 1.0}, {1.0, 0.0}, {1.0, 1.0}});
  const bp::Tensor wanted = bp::tensor({{0.0}, {1.0}, {1.0}, {0.0}});

  nn::Sequential net(nn::Linear(2, 16), nn::Tanh(), nn::Linear(16, 1));
  bp::optim::AdamW optimizer(net.parameters(), {.lr = 0.05});
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    bp::backward(bp::mse_loss(net(inputs), wanted));
    optimizer.step();
  }
  const bp::NoGrad no_grad;
  std::cout << bp::to(bp::flatten(bp::round(net(inputs))), bp::i64) << '\n' << net << '\n';
}
