// One element's function for a whole batch, and recorded work that runs again without any dispatch.
#include <iostream>

#include <backplane/backplane.hpp>

int main() {
  const bp::Tensor weights = bp::ones({3, 2});
  const auto of_one = [&](std::span<const bp::Tensor> x) {
    return std::vector{bp::matmul(x[0], weights)};
  };
  const std::vector<bp::Tensor> batch{bp::ones({5, 3})};
  const std::vector<std::optional<std::int64_t>> along{0};
  std::cout << "vmap: " << bp::vmap(of_one, batch, along)[0].shape() << '\n';

  const bp::Tensor input = bp::ones({4});
  bp::Tensor result;
  bp::Recording recording = bp::capture(input.device(), [&] { result = bp::exp(input) + 1; });
  for (int value : {0, 1}) {
    bp::fill_(input, value);
    recording.replay();
    std::cout << recording.num_calls() << " calls: " << bp::item<double>(result[0]) << '\n';
  }
}
