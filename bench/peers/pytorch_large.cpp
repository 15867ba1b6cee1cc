// How fast PyTorch is where the work counts, on all cores: operators over 64 MiB that write a fresh
// result (bytes read plus written per second), and products of square matrices.
#include <thread>
#include <torch/types.h>
#include <torch/utils.h>

#include "measure.hpp"

namespace {

template <class Call> void bandwidth_row(const char* name, const torch::Tensor& input, Call call) {
  double bytes = 2.0 * static_cast<double>(input.nbytes());
  bench::report(name, bytes / bench::median_ns(call), "GB/s");
}

void large_rows() {
  torch::Tensor x = torch::randn({4096, 4096});
  bandwidth_row("tanh_64mib", x, [&] { torch::Tensor y = at::tanh(x); });
  bandwidth_row("exp_64mib", x, [&] { torch::Tensor y = at::exp(x); });
  bandwidth_row("softmax_64mib", x, [&] { torch::Tensor y = at::softmax(x, -1); });
  bandwidth_row("gelu_64mib", x, [&] { torch::Tensor y = at::gelu(x); });
  bandwidth_row("clone_64mib", x, [&] { torch::Tensor y = x.clone(); });
  torch::Tensor weight = torch::rand({4096}), bias = torch::rand({4096});
  bandwidth_row("layer_norm_64mib", x,
                [&] { torch::Tensor y = at::layer_norm(x, {4096}, weight, bias); });
  bandwidth_row("rms_norm_64mib", x, [&] { torch::Tensor y = at::rms_norm(x, {4096}, weight); });
  bandwidth_row("transpose_copy_64mib", x,
                [&] { torch::Tensor y = x.transpose(0, 1).contiguous(); });
}

void matmul_row(const char* name, int64_t size, torch::ScalarType dtype) {
  torch::Tensor a = torch::randn({size, size}).to(dtype), b = torch::randn({size, size}).to(dtype);
  double n = static_cast<double>(size);
  double ns = bench::median_ns([&] { torch::Tensor product = at::matmul(a, b); });
  bench::report(name, 2 * n * n * n / ns, "GFLOP/s");
}

}  // namespace

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  torch::NoGradGuard no_grad;
  large_rows();
  matmul_row("matmul_512_f32", 512, torch::kFloat);
  matmul_row("matmul_2048_f32", 2048, torch::kFloat);
  // Without the vectors that its products of bf16 need, PyTorch takes a minute for one: no peer.
  if (__builtin_cpu_supports("avx512bw")) matmul_row("matmul_2048_bf16", 2048, torch::kBFloat16);
}
