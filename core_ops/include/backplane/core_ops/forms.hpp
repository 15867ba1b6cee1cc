// Forms of operators that the table has no row for: with lists or numbers in place of other arguments, or in place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// PyTorch's other names for split_with_sizes and tensor_split_at.
BP_API std::vector<Tensor> split(const Tensor& input, IntList sizes, std::int64_t dim = 0);
inline std::vector<Tensor> split(const Tensor& input, std::initializer_list<std::int64_t> sizes,
                                 std::int64_t dim = 0) {
  return split(input, IntList(sizes), dim);
}

BP_API std::vector<Tensor> tensor_split(const Tensor& input, IntList indices, std::int64_t dim = 0);
inline std::vector<Tensor> tensor_split(const Tensor& input,
                                        std::initializer_list<std::int64_t> indices,
                                        std::int64_t dim = 0) {
  return tensor_split(input, IntList(indices), dim);
}

// index_put into `input` itself.
//   bp::index_put_(table, {rows, {}, columns}, values);
BP_API const Tensor& index_put_(const Tensor& input, TensorList indices, const Tensor& values,
                                bool accumulate = false);

// masked_fill into `input` itself: `value` wherever `mask` is true.
BP_API const Tensor& masked_fill_(const Tensor& input, const Tensor& mask, const Scalar& value);

// A copy of `input` with one number at `index` along `dim`.
BP_API Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index,
                      const Scalar& value);

// Normal random numbers from `generator`, by default the device's, and by default of the default
// dtype.
BP_API Tensor normal(double mean, double std, IntList size,
                     std::optional<Dtype> dtype = std::nullopt,
                     std::optional<Device> device = std::nullopt, Generator* generator = nullptr);
inline Tensor normal(double mean, double std, IntList size, const TensorOptions& options,
                     Generator* generator = nullptr) {
  return normal(mean, std, size, options.dtype, options.device, generator);
}

// Random numbers in the shape of `input`, by default of its dtype and on its device.
BP_API Tensor rand_like(const Tensor& input, const TensorOptions& options = {},
                        Generator* generator = nullptr);
BP_API Tensor randn_like(const Tensor& input, const TensorOptions& options = {},
                         Generator* generator = nullptr);

// Whole numbers from 0 up to but not including `high`.
BP_API Tensor randint(std::int64_t high, IntList size, const TensorOptions& options = {},
                      Generator* generator = nullptr);
inline Tensor randint(std::int64_t high, std::initializer_list<std::int64_t> size,
                      const TensorOptions& options = {}, Generator* generator = nullptr) {
  return randint(high, IntList(size), options, generator);
}

// The same in the shape of `input`, from `low` on, by default of its dtype and on its device.
BP_API Tensor randint_like(const Tensor& input, std::int64_t low, std::int64_t high,
                           const TensorOptions& options = {}, Generator* generator = nullptr);
BP_API Tensor randint_like(const Tensor& input, std::int64_t high,
                           const TensorOptions& options = {}, Generator* generator = nullptr);

// From 0 up to `end`, in steps of 1.
BP_API Tensor arange(const Scalar& end, const TensorOptions& options = {});

// [n, m] (m: n), zeros with ones where both indices are equal.
BP_API Tensor eye(std::int64_t n, std::optional<std::int64_t> m = std::nullopt,
                  std::optional<Dtype> dtype = std::nullopt,
                  std::optional<Device> device = std::nullopt);
inline Tensor eye(std::int64_t n, std::optional<std::int64_t> m, const TensorOptions& options) {
  return eye(n, m, options.dtype, options.device);
}
inline Tensor eye(std::int64_t n, const TensorOptions& options) {
  return eye(n, std::nullopt, options.dtype, options.device);
}

// `steps` evenly spaced numbers from `start` to `end`, both included. Integers are truncated.
BP_API Tensor linspace(double start, double end, std::int64_t steps,
                       std::optional<Dtype> dtype = std::nullopt,
                       std::optional<Device> device = std::nullopt);
inline Tensor linspace(double start, double end, std::int64_t steps, const TensorOptions& options) {
  return linspace(start, end, steps, options.dtype, options.device);
}

// `base` to the powers of linspace(start, end, steps).
BP_API Tensor logspace(double start, double end, std::int64_t steps, double base = 10,
                       const TensorOptions& options = {});
inline Tensor logspace(double start, double end, std::int64_t steps, const TensorOptions& options) {
  return logspace(start, end, steps, 10, options);
}

// Windows of `window_length` numbers; a periodic one ends one step before it would start again.
BP_API Tensor hann_window(std::int64_t window_length, bool periodic = true,
                          std::optional<Dtype> dtype = std::nullopt,
                          std::optional<Device> device = std::nullopt);
inline Tensor hann_window(std::int64_t window_length, bool periodic, const TensorOptions& options) {
  return hann_window(window_length, periodic, options.dtype, options.device);
}
inline Tensor hann_window(std::int64_t window_length, const TensorOptions& options) {
  return hann_window(window_length, true, options);
}
BP_API Tensor hamming_window(std::int64_t window_length, bool periodic = true, double alpha = 0.54,
                             double beta = 0.46, std::optional<Dtype> dtype = std::nullopt,
                             std::optional<Device> device = std::nullopt);
inline Tensor hamming_window(std::int64_t window_length, bool periodic, double alpha, double beta,
                             const TensorOptions& options) {
  return hamming_window(window_length, periodic, alpha, beta, options.dtype, options.device);
}
inline Tensor hamming_window(std::int64_t window_length, bool periodic,
                             const TensorOptions& options) {
  return hamming_window(window_length, periodic, 0.54, 0.46, options);
}
inline Tensor hamming_window(std::int64_t window_length, const TensorOptions& options) {
  return hamming_window(window_length, true, options);
}
BP_API Tensor blackman_window(std::int64_t window_length, bool periodic = true,
                              std::optional<Dtype> dtype = std::nullopt,
                              std::optional<Device> device = std::nullopt);
inline Tensor blackman_window(std::int64_t window_length, bool periodic,
                              const TensorOptions& options) {
  return blackman_window(window_length, periodic, options.dtype, options.device);
}
inline Tensor blackman_window(std::int64_t window_length, const TensorOptions& options) {
  return blackman_window(window_length, true, options);
}

// A triangle from 0 to 1 and back.
BP_API Tensor bartlett_window(std::int64_t window_length, bool periodic = true,
                              const TensorOptions& options = {});
inline Tensor bartlett_window(std::int64_t window_length, const TensorOptions& options) {
  return bartlett_window(window_length, true, options);
}
// i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to 1.
BP_API Tensor kaiser_window(std::int64_t window_length, bool periodic = true, double beta = 12,
                            const TensorOptions& options = {});
inline Tensor kaiser_window(std::int64_t window_length, bool periodic,
                            const TensorOptions& options) {
  return kaiser_window(window_length, periodic, 12, options);
}
inline Tensor kaiser_window(std::int64_t window_length, const TensorOptions& options) {
  return kaiser_window(window_length, true, options);
}

// With one number on the device, to which the derivative goes as well.
BP_API Tensor masked_fill(const Tensor& input, const Tensor& mask, const Tensor& value);
BP_API Tensor index_fill(const Tensor& input, std::int64_t dim, const Tensor& index,
                         const Tensor& value);

// Whether two tensors have the same shape and equal elements (NaN equals nothing); whether all elements are close,
// as isclose says. Both wait for the device.
BP_API bool equal(const Tensor& input, const Tensor& other);
BP_API bool allclose(const Tensor& input, const Tensor& other, double rtol = 1e-5,
                     double atol = 1e-8, bool equal_nan = false);

// sort's indices.
BP_API Tensor argsort(const Tensor& input, std::int64_t dim = -1, bool descending = false);

// Parts of what unique_all gives.
struct UniqueInverseResult {
  Tensor values, inverse_indices;
};
struct UniqueCountsResult {
  Tensor values, counts;
};
BP_API Tensor unique_values(const Tensor& input);
BP_API UniqueInverseResult unique_inverse(const Tensor& input);
BP_API UniqueCountsResult unique_counts(const Tensor& input);

// The middle element of all, the lower one of two; NaN if any element is NaN, or if there are none.
BP_API Tensor median(const Tensor& input);

// A quantile for each part in `q`, along a new first dimension if q has one.
BP_API Tensor quantile(const Tensor& input, const Tensor& q,
                       std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false,
                       std::string_view interpolation = "linear");

// Each slice along `dim`, or each element, repeated as many times as `repeats` says for it.
BP_API Tensor repeat_interleave(const Tensor& input, const Tensor& repeats,
                                std::optional<std::int64_t> dim = std::nullopt);

// Over the last `dims` dimensions of `input` and the first ones of `other`.
BP_API Tensor tensordot(const Tensor& input, const Tensor& other, std::int64_t dims = 2);

// [dft_length / 2 + 1, num_mel_bins]: what turns the spectrum of a discrete Fourier transform of so many samples into one
// of triangular windows in equal steps of the mel scale, as ONNX's MelWeightMatrix.
BP_API Tensor mel_weight_matrix(std::int64_t num_mel_bins, std::int64_t dft_length,
                                std::int64_t sample_rate, double lower_edge_hertz,
                                double upper_edge_hertz, std::optional<Dtype> dtype = std::nullopt,
                                std::optional<Device> device = std::nullopt);
inline Tensor mel_weight_matrix(std::int64_t num_mel_bins, std::int64_t dft_length,
                                std::int64_t sample_rate, double lower_edge_hertz,
                                double upper_edge_hertz, const TensorOptions& options) {
  return mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz,
                           upper_edge_hertz, options.dtype, options.device);
}

// `input` with at least that many dimensions; atleast_3d adds them before, around and after.
BP_API Tensor atleast_1d(const Tensor& input);
BP_API Tensor atleast_2d(const Tensor& input);
BP_API Tensor atleast_3d(const Tensor& input);
// cat along the first, second and third dimension, after atleast_2d and atleast_3d; hstack joins vectors along their only dimension.
BP_API Tensor vstack(TensorList tensors);
BP_API Tensor hstack(TensorList tensors);
BP_API Tensor dstack(TensorList tensors);

// The frequencies of a discrete Fourier transform of `n` samples that lie `d` apart, and of one of real samples.
BP_API Tensor fftfreq(std::int64_t n, double d = 1, std::optional<Dtype> dtype = std::nullopt,
                      std::optional<Device> device = std::nullopt);
BP_API Tensor rfftfreq(std::int64_t n, double d = 1, std::optional<Dtype> dtype = std::nullopt,
                       std::optional<Device> device = std::nullopt);
inline Tensor fftfreq(std::int64_t n, double d, const TensorOptions& options) {
  return fftfreq(n, d, options.dtype, options.device);
}
inline Tensor fftfreq(std::int64_t n, const TensorOptions& options) {
  return fftfreq(n, 1, options);
}
inline Tensor rfftfreq(std::int64_t n, double d, const TensorOptions& options) {
  return rfftfreq(n, d, options.dtype, options.device);
}
inline Tensor rfftfreq(std::int64_t n, const TensorOptions& options) {
  return rfftfreq(n, 1, options);
}
// Moves frequency 0 to the middle of `dim` (all dimensions by default), and back.
BP_API Tensor fftshift(const Tensor& input, DimList dim = {});
BP_API Tensor ifftshift(const Tensor& input, DimList dim = {});

// Draws into `input` itself, in its dtype: uniform numbers from `low` up to `high`; normal ones; 1 with
// probability `p`, else 0; exponential waiting times, all above 0, for `lambd` expected events per unit of time. From
// `generator`, by default the device's.
BP_API const Tensor& uniform_(const Tensor& input, double low = 0, double high = 1,
                              Generator* generator = nullptr);
BP_API const Tensor& normal_(const Tensor& input, double mean = 0, double std = 1,
                             Generator* generator = nullptr);
BP_API const Tensor& bernoulli_(const Tensor& input, double p = 0.5,
                                Generator* generator = nullptr);
BP_API const Tensor& exponential_(const Tensor& input, double lambd = 1,
                                  Generator* generator = nullptr);

}  // namespace bp
