// For tests of what cuDNN does: where it is not installed, calls go other ways, whose tests are elsewhere.
#pragma once

#include <cmath>
#include <dlfcn.h>

#include "backends/cuda/native.hpp"

namespace bp::test {

class CudnnKernels : public NativeKernels {
 protected:
  void SetUp() override {
    NativeKernels::SetUp();
    if (IsSkipped()) return;
    if (has_card() && dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL) == nullptr)
      GTEST_SKIP() << "cuDNN is not installed on this machine";
  }

  static Tensor random(const std::vector<std::int64_t>& shape, Dtype dtype = f32) {
    return cast(randn(shape, f32, host_device()), dtype);
  }

  // The largest difference between two tensors of the same shape, over the root of the mean square of `exact`, in f64.
  static double error_of(const Tensor& actual, const Tensor& exact) {
    EXPECT_EQ(to_string(actual.shape()), to_string(exact.shape()));
    const std::vector<double> got = values<double>(cast(here(actual), f64)),
                              wanted = values<double>(cast(exact, f64));
    if (got.size() != wanted.size()) return INFINITY;
    double largest = 0, squares = 1e-300;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double distance = std::abs(got[i] - wanted[i]);
      if (!(distance <= largest)) largest = distance;  // NaN too
      squares += wanted[i] * wanted[i];
    }
    return largest / std::sqrt(squares / static_cast<double>(got.size()));
  }

  // What one rounding to the dtype of numbers that are some times their root mean square, and sums in f32, allow.
  static double allowed(Dtype dtype) {
    if (dtype == f16) return 4e-3;
    if (dtype == bf16) return 3e-2;
    return dtype == f64 ? 1e-12 : 3e-5;
  }
};

}  // namespace bp::test
