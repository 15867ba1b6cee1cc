// The most memory that PyTorch takes for a step forwards and back over tensors of 64 MiB.
#include <thread>
#include <torch/types.h>
#include <torch/utils.h>

#include "measure.hpp"
#include "resident.hpp"

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const torch::Tensor x = torch::randn({4096, 4096}).requires_grad_();
  const torch::Tensor w = torch::randn({4096}).requires_grad_();
  const double before = bench::resident_mb();
  torch::Tensor h = x;
  for (int i = 0; i < 4; ++i) h = at::tanh(at::mul(at::gelu(h), w));
  at::sum(at::mul(at::softmax(h, -1), h)).backward();
  bench::report("backward_peak_memory", bench::largest_resident_mb() - before, "MB");
}
