// What recording calls and going back through them costs PyTorch: one thread, little to compute.
#include <torch/torch.h>

#include "measure.hpp"

namespace {

void chain_rows() {
  torch::Tensor w = torch::ones({1}, torch::requires_grad()), b = torch::ones({1});
  bench::report("add_1_element_recorded",
                bench::median_ns([&] { torch::Tensor x = at::add(w, b); }), "ns");
  const double chain = bench::median_ns([&] {
    torch::Tensor x = w;
    for (int i = 0; i < 100; ++i) x = x * b;
    x.backward();
  });
  bench::report("chain_of_100_per_operator", chain / 100, "ns");
}

void training_step() {
  torch::nn::Linear first(64, 64), second(64, 10);
  std::vector<torch::Tensor> parameters = first->parameters();
  for (const torch::Tensor& each : second->parameters()) parameters.push_back(each);
  torch::optim::SGD optimizer(parameters, 0.01);
  const torch::Tensor x = torch::randn({32, 64});
  const torch::Tensor y = torch::randint(0, 10, {32}, torch::kLong);
  const double step = bench::median_ns([&] {
    optimizer.zero_grad();
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(second(torch::relu(first(x))), y);
    loss.backward();
    optimizer.step();
  });
  bench::report("training_step_64_64_10", step / 1e3, "us");
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  chain_rows();
  training_step();
}
