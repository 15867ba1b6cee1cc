// PyTorch's factorizations and Fourier transforms, on all cores.
#include <string>
#include <thread>
#include <torch/types.h>
#include <torch/utils.h>

#include "measure.hpp"

namespace {

template <class Call> void row(const std::string& name, Call call) {
  bench::report(name.c_str(), bench::median_ns(call) / 1e3, "us");
}

void measure_factorizations(int64_t size) {
  const std::string end = "_" + std::to_string(size);
  const torch::Tensor a = torch::randn({size, size}, torch::kDouble);
  const torch::Tensor positive =
      at::matmul(a, a.transpose(0, 1)) + torch::eye(size, torch::kDouble);
  const torch::Tensor b = torch::randn({size, 1}, torch::kDouble);
  row("cholesky" + end, [&] { torch::Tensor x = at::linalg_cholesky(positive); });
  row("lu_factor" + end, [&] { auto x = at::linalg_lu_factor(a); });
  row("solve" + end, [&] { torch::Tensor x = at::linalg_solve(a, b); });
  row("inv" + end, [&] { torch::Tensor x = at::linalg_inv(a); });
  row("qr" + end, [&] { auto x = at::linalg_qr(a); });
  row("eigh" + end, [&] { auto x = at::linalg_eigh(positive); });
  row("svd" + end, [&] { auto x = at::linalg_svd(a, false); });
  row("eig" + end, [&] { auto x = at::linalg_eig(a); });
}

void measure_transforms(int64_t lines, int64_t size) {
  const std::string end = "_" + std::to_string(lines) + "x" + std::to_string(size);
  const torch::Tensor numbers = torch::randn({lines, size});
  const torch::Tensor complex = at::view_as_complex(torch::randn({lines, size, 2}));
  row("fft" + end, [&] { torch::Tensor x = at::fft_fft(complex); });
  row("rfft" + end, [&] { torch::Tensor x = at::fft_rfft(numbers); });
}

}  // namespace

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  torch::NoGradGuard no_grad;
  measure_factorizations(100);
  measure_factorizations(300);
  measure_transforms(256, 1024);
  measure_transforms(262, 1000);
  measure_transforms(259, 1009);  // a prime
  measure_transforms(1, 65536);
}
