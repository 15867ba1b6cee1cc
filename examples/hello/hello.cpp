#include <iostream>

#include <backplane/backplane.hpp>

int main() {
  const bp::Device device = bp::device("cpu:0");  // loads the plugin that offers it
  const bp::Tensor scores = bp::to(bp::tensor({{1.0, 2.0}, {3.0, 5.0}}), device);
  const bp::Tensor bias = bp::to(bp::tensor({0.5, -0.5}), device);
  std::cout << bp::softmax(scores + bias, -1) << '\n';

  for (const bp::CallCount& count : bp::call_counts())  // where did it run?
    std::cout << count.op << " on " << count.backend << ": "
              << count.calls[static_cast<int>(bp::Rung::native)] << " native, "
              << count.calls[static_cast<int>(bp::Rung::host)] << " by the host\n";
}
