// PyTorch's attention of 8 heads of 64, forwards, and forwards and back, on all cores.
#include <string>
#include <thread>
#include <torch/types.h>
#include <torch/utils.h>

#include "measure.hpp"

namespace {

void measure_length(int64_t length) {
  const std::string name = "attention_8x" + std::to_string(length) + "x64";
  const auto heads = [&] { return torch::randn({1, 8, length, 64}); };
  torch::Tensor query = heads(), key = heads(), value = heads(), gradient = heads();
  const double forward = bench::median_ns(
      [&] { torch::Tensor y = at::scaled_dot_product_attention(query, key, value); });
  bench::report((name + "_forward").c_str(), forward / 1e3, "us");
  for (torch::Tensor& each : {std::ref(query), std::ref(key), std::ref(value)})
    each.requires_grad_();
  const double both = bench::median_ns([&] {
    for (torch::Tensor& each : {std::ref(query), std::ref(key), std::ref(value)})
      each.mutable_grad() = torch::Tensor();
    at::scaled_dot_product_attention(query, key, value).backward(gradient);
  });
  bench::report(name.c_str(), both / 1e3, "us");
}

}  // namespace

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  measure_length(512);
  measure_length(2048);
}
