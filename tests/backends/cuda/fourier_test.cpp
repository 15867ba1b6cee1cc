// needs: cpu cuda
// fft_c2c, fft_r2c and fft_c2r by cuFFT, against cpu in f64.
#include <dlfcn.h>

#include <backplane/capture/capture.hpp>

#include "backends/cuda/native.hpp"

namespace bp::test {
namespace {

class CufftKernels : public NativeKernels {
 protected:
  void SetUp() override {
    NativeKernels::SetUp();
    if (IsSkipped()) return;
    bool is_here = !has_card();
    for (const char* name : {"libcufft.so.11", "libcufft.so.12"})
      is_here = is_here || dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr;
    if (!is_here) GTEST_SKIP() << "cuFFT is not installed on this machine";
  }

  static bool is_double(Dtype dtype) { return dtype == f64 || dtype == complex128; }
  static Tensor numbers(const std::vector<std::int64_t>& shape, Dtype dtype) {
    return cast(randn(shape, f32, host_device()), dtype);
  }
  static Tensor complex_numbers(std::vector<std::int64_t> shape, Dtype dtype) {
    shape.push_back(2);
    return view_as_complex(numbers(shape, dtype == complex128 ? f64 : f32));
  }
  static Tensor wide(const Tensor& input) {
    return cast(input, is_complex(input.dtype()) ? complex128 : f64);
  }
  static Tensor parts_of(const Tensor& input) {
    return is_complex(input.dtype()) ? view_as_real(input) : input;
  }

  // The largest difference, over the root of the mean square of what is expected.
  static void expect_close(const Tensor& actual, const Tensor& exact) {
    ASSERT_EQ(to_string(actual.shape()), to_string(exact.shape()));
    const Tensor wanted = parts_of(exact), got = parts_of(wide(here(actual)));
    const double largest = to_vector<double>(max(abs(sub(got, wanted))))[0];
    const double size = std::sqrt(to_vector<double>(mean(square(wanted)))[0]) + 1e-300;
    EXPECT_LE(largest / size, is_double(actual.dtype()) ? 1e-13 : 2e-5);
  }

  void expect_all_three(const std::vector<std::int64_t>& shape, std::int64_t dim, bool is_wide,
                        const std::string& rung = "native 1") {
    SCOPED_TRACE(to_string(IntList(shape.data(), shape.size())) + " along " + std::to_string(dim));
    const Tensor complex = complex_numbers(shape, is_wide ? complex128 : complex64);
    const Tensor real = numbers(shape, is_wide ? f64 : f32);
    const std::int64_t n = real.size(dim);
    const Tensor half = contiguous(narrow(complex, dim, 0, n / 2 + 1));
    for (const bool forward : {true, false}) {
      for (const double scale : {1.0, 0.25}) {
        const Served served("fft_c2c", "cuda");
        const Tensor made = fft_c2c(there(complex), dim, scale, forward);
        expect_served(served, rung);
        expect_close(made, fft_c2c(wide(complex), dim, scale, forward));
        expect_close(fft_r2c(there(real), dim, scale, forward),
                     fft_r2c(wide(real), dim, scale, forward));
        const Tensor given = there(half);
        expect_close(fft_c2r(given, n, dim, scale, forward),
                     fft_c2r(wide(half), n, dim, scale, forward));
        expect_close(given, wide(half));  // is not written
      }
    }
  }
};

TEST_F(CufftKernels, lines_of_any_length_agree_with_cpu) {
  for (const bool is_wide : {false, true})
    for (const std::int64_t n : {1, 2, 3, 8, 67, 100, 1009, 4096, 40000})
      expect_all_three({3, n}, 1, is_wide);
}

TEST_F(CufftKernels, other_dimensions_are_brought_to_the_end_and_back) {
  for (const bool is_wide : {false, true}) {
    expect_all_three({5, 12, 7}, 0, is_wide);
    expect_all_three({5, 12, 7}, 1, is_wide);
    expect_all_three({33, 65}, -2, is_wide);
  }
}

TEST_F(CufftKernels, what_has_gaps_is_copied_first) {
  const Tensor input = complex_numbers({10, 24}, complex64), skipped = slice(input, 1, 0, 24, 2);
  const Served served("fft_c2c", "cuda");
  const Tensor made = fft_c2c(slice(there(input), 1, 0, 24, 2), 1, 1, true);
  expect_served(served, "legalized 1");
  expect_close(made, fft_c2c(wide(skipped), 1, 1, true));
}

TEST_F(CufftKernels, lines_that_begin_at_any_element) {
  const Tensor input = numbers({61}, f32), there_input = there(input);
  for (const std::int64_t first : {1, 2, 3})
    expect_close(fft_r2c(narrow(there_input, 0, first, 50), 0, 1, true),
                 fft_r2c(wide(narrow(input, 0, first, 50)), 0, 1, true));
}

TEST_F(CufftKernels, more_plans_than_are_kept) {
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 2; n < 90; ++n) {
      const Tensor input = complex_numbers({2, n}, complex64);
      expect_close(fft_c2c(there(input), 1, 1, true), fft_c2c(wide(input), 1, 1, true));
    }
}

// One that has run before; another would have to be planned, which a recording cannot hold.
TEST_F(CufftKernels, a_recording_keeps_what_it_uses) {
  const Tensor input = complex_numbers({4, 96}, complex64), given = there(input);
  fft_c2c(given, 1, 1, true);
  Tensor made;
  Recording graph = capture(card_, [&] { made = fft_c2c(given, 1, 1, true); });
  for (std::int64_t n = 100; n < 200; ++n)
    fft_c2c(there(complex_numbers({2, n}, complex64)), 1, 1, true);
  graph.replay();
  expect_close(made, fft_c2c(wide(input), 1, 1, true));
}

TEST_F(CufftKernels, transforms_of_several_dimensions_and_their_derivatives) {
  const Tensor input = numbers({3, 16, 20}, f64);
  const Tensor given = set_requires_grad(copy(there(input)));
  const Tensor same = set_requires_grad(copy(input));
  const auto energy = [](const Tensor& x) {
    return sum(square(view_as_real(fft_rfft2(x, {}, {}, "ortho"))));
  };
  const Tensor gradient = autograd::grad({energy(given)}, {given})[0];
  expect_close(gradient, autograd::grad({energy(same)}, {same})[0]);
}

}  // namespace
}  // namespace bp::test
