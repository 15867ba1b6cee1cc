#include "libraries.hpp"

#include <string>

#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"

namespace {

template <class Call> void row(const std::string& name, Call call) {
  bench::report(name.c_str(), bench::median_ns(call) / 1e3, "us");
}

void measure_factorizations(std::int64_t size) {
  const std::string end = "_" + std::to_string(size);
  const bp::Tensor a = bp::randn({size, size}, bp::f64);
  const bp::Tensor positive =
      bp::add(bp::matmul(a, bp::transpose(a, 0, 1)), bp::eye(size, std::nullopt, bp::f64));
  const bp::Tensor b = bp::randn({size, 1}, bp::f64);
  row("cholesky" + end, [&] { const bp::Tensor x = bp::linalg_cholesky(positive); });
  row("lu_factor" + end, [&] { const auto x = bp::linalg_lu_factor(a); });
  row("solve" + end, [&] { const bp::Tensor x = bp::linalg_solve(a, b); });
  row("inv" + end, [&] { const bp::Tensor x = bp::linalg_inv(a); });
  row("qr" + end, [&] { const auto x = bp::linalg_qr(a); });
  row("eigh" + end, [&] { const auto x = bp::linalg_eigh(positive); });
  row("svd" + end, [&] { const auto x = bp::linalg_svd(a, false); });
  row("eig" + end, [&] { const auto x = bp::linalg_eig(a); });
}

void measure_transforms(std::int64_t lines, std::int64_t size) {
  const std::string end = "_" + std::to_string(lines) + "x" + std::to_string(size);
  const bp::Tensor numbers = bp::randn({lines, size});
  const bp::Tensor complex = bp::view_as_complex(bp::randn({lines, size, 2}));
  row("fft" + end, [&] { const bp::Tensor x = bp::fft_fft(complex); });
  row("rfft" + end, [&] { const bp::Tensor x = bp::fft_rfft(numbers); });
}

}  // namespace

void measure_libraries() {
  measure_factorizations(100);
  measure_factorizations(300);
  measure_transforms(256, 1024);
  measure_transforms(262, 1000);
  measure_transforms(259, 1009);  // a prime
  measure_transforms(1, 65536);
}
