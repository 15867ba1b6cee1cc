// Forms of operators that no row of the table describes: what is made of numbers, told as bool, or lists.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <numbers>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

void check_defined(const char* op, const Tensor& input) {
  BP_CHECK(input.defined(), "{}: the tensor is undefined; give it a value first", op);
}

void check_number(const char* op, const Tensor& input, const Tensor& value) {
  check_defined(op, input);
  check_defined(op, value);
  BP_CHECK(value.ndim() == 0, "{}: the value has shape {}; pass a number or a 0-dim tensor", op,
           to_string(value.shape()));
}

// Room for so many; throws in a sentence what there is not.
std::vector<double> room_for(const char* op, std::int64_t count) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  BP_CHECK(count >= 0 && count <= most, "{}: {} numbers; pass 0 to {}", op, count, most);
  try {
    return std::vector<double>(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    throw_error(ErrorClass::out_of_memory,
                fmt::format("{}: no memory for {} numbers; ask for fewer", op, count));
  }
}

// What is computed in float64 on the host, where it is short, has no rounding of a device's own.
Tensor made_of(const char* op, const std::vector<double>& numbers, std::optional<Dtype> dtype,
               std::optional<Device> device) {
  return named(op, [&] {
    const Device on = device ? *device : default_device();
    return tensor(numbers, {.dtype = dtype ? *dtype : default_dtype(), .device = on});
  });
}

// A window whose numbers are a function of how much of it, from 0 to 1, lies before them.
template <class F>
Tensor window(const char* op, std::int64_t length, bool periodic, std::optional<Dtype> dtype,
              std::optional<Device> device, F&& number) {
  std::vector<double> numbers = room_for(op, length);
  if (length == 1) numbers[0] = 1;
  const std::int64_t steps = periodic ? length : length - 1;
  for (std::int64_t i = 0; length > 1 && i < length; ++i)
    numbers[static_cast<std::size_t>(i)] =
        number(static_cast<double>(i) / static_cast<double>(steps));
  return made_of(op, numbers, dtype, device);
}

// The weights of 1, and of the cosines of one and two turns.
struct Cosines {
  double zeroth, first, second;
  double operator()(double before) const {
    const double turn = 2 * std::numbers::pi * before;
    return zeroth - first * std::cos(turn) + second * std::cos(2 * turn);
  }
};

Tensor frequencies(const char* op, std::int64_t n, double d, std::int64_t first, std::int64_t count,
                   std::optional<Dtype> dtype, std::optional<Device> device) {
  BP_CHECK(n > 0, "{}: {} samples; pass 1 or more", op, n);
  std::vector<double> numbers = room_for(op, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t turns = i < first ? i : i - n;
    numbers[static_cast<std::size_t>(i)] =
        static_cast<double>(turns) / (static_cast<double>(n) * d);
  }
  return made_of(op, numbers, dtype, device);
}

Tensor shifted(const char* op, const Tensor& input, const DimList& dim, bool goes_back) {
  check_defined(op, input);
  return named(op, [&] {
    Dims dims, places;
    if (const auto given = dim.list()) {
      for (const std::int64_t d : *given) dims.push_back(wrap_dim(op, d, input.ndim()));
    } else {
      for (std::int64_t d = 0; d < input.ndim(); ++d) dims.push_back(d);
    }
    if (dims.empty()) return clone(input);
    for (const std::int64_t d : dims) {
      const std::int64_t size = input.ndim() == 0 ? 1 : input.size(d);
      places.push_back(goes_back ? -(size / 2) : size / 2);
    }
    return roll(input, places, dims);
  });
}

std::vector<Tensor> each_at_least(TensorList tensors, Tensor (*at_least)(const Tensor&)) {
  std::vector<Tensor> raised;
  for (const Tensor& each : tensors.span()) raised.push_back(at_least(each));
  return raised;
}

}  // namespace

Tensor rand_like(const Tensor& input, const TensorOptions& options, Generator* generator) {
  check_defined("rand_like", input);
  return named("rand_like", [&] {
    return rand(input.shape(), options.dtype.value_or(input.dtype()),
                options.device.value_or(input.device()), generator);
  });
}

Tensor randn_like(const Tensor& input, const TensorOptions& options, Generator* generator) {
  check_defined("randn_like", input);
  return named("randn_like", [&] {
    return randn(input.shape(), options.dtype.value_or(input.dtype()),
                 options.device.value_or(input.device()), generator);
  });
}

Tensor randint_like(const Tensor& input, std::int64_t low, std::int64_t high,
                    const TensorOptions& options, Generator* generator) {
  check_defined("randint_like", input);
  return named("randint_like", [&] {
    return randint(low, high, input.shape(), options.dtype.value_or(input.dtype()),
                   options.device.value_or(input.device()), generator);
  });
}

Tensor randint_like(const Tensor& input, std::int64_t high, const TensorOptions& options,
                    Generator* generator) {
  return randint_like(input, 0, high, options, generator);
}

Tensor arange(const Scalar& end, const TensorOptions& options) {
  return arange(0, end, 1, options);
}

Tensor eye(std::int64_t n, std::optional<std::int64_t> m, std::optional<Dtype> dtype,
           std::optional<Device> device) {
  const std::int64_t columns = m.value_or(n);
  BP_CHECK(n >= 0 && columns >= 0, "eye: {} rows and {} columns; pass 0 or more", n, columns);
  return named("eye", [&] {
    const Device on = device ? *device : default_device();
    const Tensor rows = reshape(arange(0, n, 1, i64, on), {n, 1});
    return cast(eq(rows, arange(0, columns, 1, i64, on)), dtype ? *dtype : default_dtype());
  });
}

// From both ends, so that the last number is `end`.
Tensor linspace(double start, double end, std::int64_t steps, std::optional<Dtype> dtype,
                std::optional<Device> device) {
  const Dtype wanted = dtype ? *dtype : default_dtype();
  check_is_dtype("linspace", wanted);
  std::vector<double> numbers = room_for("linspace", steps);
  if (is_integral(wanted)) {
    start = std::trunc(start);
    end = std::trunc(end);
  }
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double number = i < steps / 2 || steps == 1
                              ? start + step * static_cast<double>(i)
                              : end - step * static_cast<double>(steps - 1 - i);
    numbers[static_cast<std::size_t>(i)] = is_integral(wanted) ? std::trunc(number) : number;
  }
  return made_of("linspace", numbers, wanted, device);
}

Tensor logspace(double start, double end, std::int64_t steps, double base,
                const TensorOptions& options) {
  return named("logspace", [&] {
    const Tensor powers = linspace(start, end, steps, f64, options.device);
    return cast(pow(base, powers), options.dtype.value_or(default_dtype()));
  });
}

Tensor hann_window(std::int64_t window_length, bool periodic, std::optional<Dtype> dtype,
                   std::optional<Device> device) {
  return window("hann_window", window_length, periodic, dtype, device, Cosines{0.5, 0.5, 0});
}

Tensor hamming_window(std::int64_t window_length, bool periodic, double alpha, double beta,
                      std::optional<Dtype> dtype, std::optional<Device> device) {
  return window("hamming_window", window_length, periodic, dtype, device, Cosines{alpha, beta, 0});
}

Tensor blackman_window(std::int64_t window_length, bool periodic, std::optional<Dtype> dtype,
                       std::optional<Device> device) {
  return window("blackman_window", window_length, periodic, dtype, device,
                Cosines{0.42, 0.5, 0.08});
}

Tensor bartlett_window(std::int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("bartlett_window", window_length, periodic, options.dtype, options.device,
                [](double before) { return 1 - std::abs(2 * before - 1); });
}

Tensor kaiser_window(std::int64_t window_length, bool periodic, double beta,
                     const TensorOptions& options) {
  const auto i0 = [](double x) { return std::cyl_bessel_i(0, std::abs(x)); };
  return window("kaiser_window", window_length, periodic, options.dtype, options.device,
                [&](double before) {
                  const double x = 2 * before - 1;
                  return i0(beta * std::sqrt(std::max(0.0, 1 - x * x))) / i0(beta);
                });
}

Tensor mel_weight_matrix(std::int64_t num_mel_bins, std::int64_t dft_length,
                         std::int64_t sample_rate, double lower_edge_hertz, double upper_edge_hertz,
                         std::optional<Dtype> dtype, std::optional<Device> device) {
  constexpr const char* op = "mel_weight_matrix";
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (const std::int64_t value : {num_mel_bins, dft_length, sample_rate})
    BP_CHECK(value >= 1 && value <= most,
             "{}: {} bins, {} samples and a rate of {}; pass 1 to {} of each", op, num_mel_bins,
             dft_length, sample_rate, most);
  BP_CHECK(lower_edge_hertz >= 0 && lower_edge_hertz <= upper_edge_hertz &&
               upper_edge_hertz * 2 <= static_cast<double>(sample_rate),
           "{}: edges at {} and {} Hz; they rise from 0 to half of the rate, {}", op,
           lower_edge_hertz, upper_edge_hertz, sample_rate);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(lower_edge_hertz);
  const double step = (mel(upper_edge_hertz) - low) / static_cast<double>(num_mel_bins + 2);
  const std::int64_t lines = dft_length / 2 + 1;
  // The line of the spectrum in which the corner of a window lies; half of the rate is in the last one.
  const auto line = [&](std::int64_t corner) {
    const double at = low + step * static_cast<double>(corner);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    return std::min(lines - 1, static_cast<std::int64_t>(static_cast<double>(dft_length + 1) *
                                                         hertz / static_cast<double>(sample_rate)));
  };
  std::vector<double> weights = room_for(op, checked_numel(op, {lines, num_mel_bins}));
  for (std::int64_t bin = 0; bin < num_mel_bins; ++bin) {
    const std::int64_t left = line(bin), center = line(bin + 1), right = line(bin + 2);
    const auto weight = [&](std::int64_t at) -> double& {
      return weights[static_cast<std::size_t>(at * num_mel_bins + bin)];
    };
    weight(center) = 1;
    for (std::int64_t at = left; at < center; ++at)
      weight(at) = static_cast<double>(at - left) / static_cast<double>(center - left);
    for (std::int64_t at = center; at < right; ++at)
      weight(at) = static_cast<double>(right - at) / static_cast<double>(right - center);
  }
  return reshape(made_of(op, weights, dtype, device), {lines, num_mel_bins});
}

bool equal(const Tensor& input, const Tensor& other) {
  check_defined("equal", input);
  check_defined("equal", other);
  if (input.shape() != other.shape()) return false;
  return named("equal", [&] { return item<bool>(all(eq(input, other))); });
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return named("allclose",
               [&] { return item<bool>(all(isclose(input, other, rtol, atol, equal_nan))); });
}

Tensor masked_fill(const Tensor& input, const Tensor& mask, const Tensor& value) {
  check_number("masked_fill", input, value);
  BP_CHECK(mask.defined() && mask.dtype() == boolean,
           "masked_fill: the mask is {}; pass a bool tensor",
           mask.defined() ? name(mask.dtype()) : "undefined");
  return named("masked_fill", [&] { return where(mask, to(value, input.dtype()), input); });
}

Tensor index_fill(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& value) {
  check_number("index_fill", input, value);
  return named("index_fill", [&] {
    const Tensor chosen = index_fill(zeros_like(input, boolean), dim, index, true);
    return where(chosen, to(value, input.dtype()), input);
  });
}

Tensor argsort(const Tensor& input, std::int64_t dim, bool descending) {
  return named("argsort", [&] { return sort(input, dim, descending).indices; });
}

Tensor unique_values(const Tensor& input) {
  return named("unique_values", [&] { return unique_all(input).values; });
}

UniqueInverseResult unique_inverse(const Tensor& input) {
  return named("unique_inverse", [&]() -> UniqueInverseResult {
    UniqueAllResult all = unique_all(input);
    return {std::move(all.values), std::move(all.inverse_indices)};
  });
}

UniqueCountsResult unique_counts(const Tensor& input) {
  return named("unique_counts", [&]() -> UniqueCountsResult {
    UniqueAllResult all = unique_all(input);
    return {std::move(all.values), std::move(all.counts)};
  });
}

Tensor median(const Tensor& input) {
  check_defined("median", input);
  return named("median", [&] {
    BP_CHECK(input.numel() > 0 || is_floating(input.dtype()),
             "median: input is {} and has no elements; pass at least one", name(input.dtype()));
    if (input.numel() == 0)
      return full({}, std::numeric_limits<double>::quiet_NaN(), input.dtype(), input.device());
    return median(reshape(input, {input.numel()}), 0).values;
  });
}

Tensor quantile(const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  check_defined("quantile", input);
  check_defined("quantile", q);
  BP_CHECK(q.ndim() <= 1, "quantile: q has shape {}; pass a vector or a number",
           to_string(q.shape()));
  return named("quantile", [&] {
    const std::vector<double> parts = to_vector<double>(cpu(to(q, f64)));
    if (q.ndim() == 0) return quantile(input, parts[0], dim, keepdim, interpolation);
    std::vector<Tensor> each;
    for (const double part : parts)
      each.push_back(quantile(input, part, dim, keepdim, interpolation));
    BP_CHECK(!each.empty(), "quantile: q has no elements; pass at least one part");
    return stack(each);
  });
}

Tensor repeat_interleave(const Tensor& input, const Tensor& repeats,
                         std::optional<std::int64_t> dim) {
  return named("repeat_interleave", [&] { return repeat_interleave_by(input, repeats, dim); });
}

Tensor tensordot(const Tensor& input, const Tensor& other, std::int64_t dims) {
  check_defined("tensordot", input);
  BP_CHECK(dims >= 0 && dims <= input.ndim(), "tensordot: {} dimensions of shape {}; pass fewer",
           dims, to_string(input.shape()));
  return named("tensordot", [&] {
    Dims last, first;
    for (std::int64_t d = 0; d < dims; ++d) {
      last.push_back(input.ndim() - dims + d);
      first.push_back(d);
    }
    return tensordot(input, other, last, first);
  });
}

Tensor atleast_1d(const Tensor& input) {
  check_defined("atleast_1d", input);
  return named("atleast_1d", [&] { return input.ndim() == 0 ? reshape(input, {1}) : input; });
}

Tensor atleast_2d(const Tensor& input) {
  check_defined("atleast_2d", input);
  return named("atleast_2d",
               [&] { return input.ndim() >= 2 ? input : unsqueeze(atleast_1d(input), 0); });
}

Tensor atleast_3d(const Tensor& input) {
  check_defined("atleast_3d", input);
  return named("atleast_3d",
               [&] { return input.ndim() >= 3 ? input : unsqueeze(atleast_2d(input), -1); });
}

Tensor vstack(TensorList tensors) {
  return named("vstack", [&] { return cat(each_at_least(tensors, atleast_2d), 0); });
}

Tensor hstack(TensorList tensors) {
  return named("hstack", [&] {
    const std::vector<Tensor> raised = each_at_least(tensors, atleast_1d);
    return cat(raised, !raised.empty() && raised[0].ndim() == 1 ? 0 : 1);
  });
}

Tensor dstack(TensorList tensors) {
  return named("dstack", [&] { return cat(each_at_least(tensors, atleast_3d), 2); });
}

Tensor fftfreq(std::int64_t n, double d, std::optional<Dtype> dtype, std::optional<Device> device) {
  return frequencies("fftfreq", n, d, n / 2 + n % 2, n, dtype, device);
}

Tensor rfftfreq(std::int64_t n, double d, std::optional<Dtype> dtype,
                std::optional<Device> device) {
  return frequencies("rfftfreq", n, d, n / 2 + 1, n / 2 + 1, dtype, device);
}

Tensor fftshift(const Tensor& input, DimList dim) {
  return shifted("fftshift", input, dim, false);
}

Tensor ifftshift(const Tensor& input, DimList dim) {
  return shifted("ifftshift", input, dim, true);
}

}  // namespace bp
