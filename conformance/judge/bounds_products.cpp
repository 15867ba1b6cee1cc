// Bounds of sums of products of the inputs: gamma(terms, accumulator) times the same sum over absolute values, which the
// oracle computes in a second run; in a third, over ones, it counts the terms.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "judge/calls.hpp"

namespace bp::conform {
namespace {

// Inputs of which `size` has made non-negative numbers, with nothing in the imaginary parts.
template <class Size> std::vector<Tensor> sized_inputs(const Evaluation& all, Size size) {
  std::vector<Tensor> inputs = all.changed(unchanged);
  for (const Tensor& input : inputs) {
    const std::span<double> values = stored_numbers(input);
    const std::size_t parts = parts_of(input.dtype());
    for (std::size_t i = 0; i + parts <= values.size(); i += parts) {
      values[i] = size(values[i], parts == 2 ? values[i + 1] : 0);
      if (parts == 2) values[i + 1] = 0;
    }
  }
  return inputs;
}
// The absolute value is an upper bound for both parts.
std::vector<Tensor> absolute_inputs(const Evaluation& all) {
  return sized_inputs(all,
                      [](double a, double b) { return b == 0 ? std::fabs(a) : std::hypot(a, b); });
}

double real_part(const std::vector<double>& values, std::size_t i, std::size_t parts) {
  return values[i / parts * parts];
}

std::vector<double> counts(const Evaluation& all, std::size_t r, std::size_t size) {
  if (all.is(Trait::divides)) {
    double largest = 0;
    for (const Tensor& input : all.inputs)
      largest = std::max(largest, static_cast<double>(input.numel()));
    const double outputs = std::max<double>(1, static_cast<double>(all.results[r].numel()));
    double window = std::max(1.0, largest / outputs);
    if (const bp_value kernel = argument_value(all.problem, "kernel_size");
        kernel.tag == BP_INT_LIST) {
      const double rank = std::max(1.0, static_cast<double>(all.results[r].ndim() - 2));
      window = 1;
      const auto* sizes = static_cast<const std::int64_t*>(kernel.u.ptr);
      for (std::uint32_t d = 0; d < kernel.aux; ++d)
        window *= kernel.aux == 1 ? std::pow(static_cast<double>(sizes[d]), rank)
                                  : static_cast<double>(sizes[d]);
    }
    return std::vector<double>(size, window + 1);
  }
  if (all.is(Trait::factors)) {
    const Tensor& factors = all.inputs[0];
    double count = static_cast<double>(factors.numel()) / std::max(1.0, static_cast<double>(size));
    if (factors.shape() == all.results[r].shape())  // running products, along a dimension
      for (const std::int64_t line : factors.shape())
        count = std::max(count, static_cast<double>(line));
    return std::vector<double>(size, count);
  }
  CallOptions options = all.options;
  options.absolute_numbers = true;
  std::vector<double> terms = doubles_of(
      call_row(all.problem, sized_inputs(all, [](double, double) { return 1.0; }), options)[r]);
  const std::size_t parts = parts_of(all.results[r].dtype());
  for (std::size_t i = 0; i < terms.size(); ++i)
    terms[i] = std::max(1.0, real_part(terms, i, parts));
  return terms;
}

// Does this hold of all numbers among the inputs?
bool holds_of_all(const Evaluation& all, const std::function<bool(double)>& holds) {
  return std::ranges::all_of(all.inputs, [&](const Tensor& input) {
    return std::ranges::all_of(doubles_of(input), holds);
  });
}

struct Accumulation {
  FloatingFormat result, accumulator;
  double unit = 0;        // unit roundoff of what is accumulated in
  double of_factors = 0;  // of the factors, if they are cut
  double of_steps = 0;    // of intermediate results
  double underflow = 0;
  std::string name;
};

Accumulation accumulation_of(const Evaluation& all, Dtype dtype) {
  Accumulation a;
  a.result = format_of(dtype);
  const bool is_small = dtype == f16 || dtype == bf16;
  // Additions into single places are done there, one after the other, by many devices.
  const bool adds_in_place = all.is(Trait::adds_in_place);
  const bool is_low = is_small && (all.numerics.low_accumulation || adds_in_place);
  a.accumulator = is_low ? a.result : compute_format(dtype);
  a.unit = a.accumulator.unit_roundoff();
  a.name = is_low ? (dtype == f16 ? "f16" : "bf16") : a.accumulator.digits == 53 ? "f64" : "f32";
  if (all.numerics.tf32_matmul && a.accumulator.digits == 24 && all.is(Trait::multiplies))
    a.of_factors = 0x1p-10;
  if (is_small && all.is_composite) a.of_steps = 2 * a.result.unit_roundoff();
  a.underflow = all.flushes(dtype) ? a.accumulator.smallest_normal() : a.accumulator.smallest();
  return a;
}

// Products of many factors: whether some order of them is out of range on the way.
std::vector<bool> leaves_range(const Evaluation& all, const FloatingFormat& format, std::size_t r) {
  if (!all.is(Trait::factors)) return {};
  const auto run = [&](auto size) {
    return doubles_of(call_row(all.problem, sized_inputs(all, size), all.options)[r]);
  };
  // Zeros, infinities and NaN make the same of what is in range, whatever the order.
  const auto size_of = [](double a, double b) {
    const double size = std::hypot(a, b);
    return size == 0 || !std::isfinite(size) ? 1.0 : size;
  };
  const std::vector<double> up =
      run([&](double a, double b) { return std::max(1.0, size_of(a, b)); });
  const std::vector<double> down =
      run([&](double a, double b) { return std::min(1.0, size_of(a, b)); });
  // A NaN among the factors is the product, whatever its size.
  const std::vector<double> without_size =
      run([](double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : 1.0; });
  std::vector<bool> leaves(up.size());
  for (std::size_t i = 0; i < up.size(); ++i)
    leaves[i] =
        !std::isnan(without_size[i]) && (up[i] >= format.overflow() / 4 || std::isinf(up[i]) ||
                                         down[i] < 4 * format.smallest_normal());
  return leaves;
}

void bound_one(const Evaluation& all, ExpectedTensor& out, const std::vector<double>& sums,
               const std::vector<double>& terms, const std::vector<bool>& leaves) {
  const Accumulation a = accumulation_of(all, out.dtype);
  const std::size_t parts = parts_of(out.dtype);
  const std::vector<double> wide = doubles_of(out.wide);
  const bool divides = all.is(Trait::divides);
  const bool may_be_exact = all.is(Trait::as_written) && a.of_factors == 0 && a.of_steps == 0 &&
                            a.accumulator.digits >= 24 && parts == 1 &&
                            holds_of_all(all, [most = a.accumulator.overflow()](double value) {
                              return std::fabs(value) <= most && value == std::trunc(value);
                            });
  const double exact_below = std::ldexp(1.0, a.accumulator.digits);
  out.bound.assign(wide.size(), 0);
  out.typical.assign(wide.size(), 0);
  // Sums of products of the finite ones stay in the range of float64.
  const bool stays_in_float64 = a.result.digits < 53 || holds_of_all(all, [](double value) {
                                  return !std::isfinite(value) || std::fabs(value) <= 0x1p505;
                                });
  double most_terms = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const double n = terms[i], sum = real_part(sums, i, parts) * (parts == 2 ? 2 : 1);
    const double ulp = a.result.ulp(wide[i]);
    most_terms = std::max(most_terms, n);
    out.typical[i] = 2 * a.unit * (std::sqrt(n) * std::fabs(wide[i]) + sum) + ulp + n * a.underflow;
    if (may_be_exact && sum < exact_below && !divides) {
      out.bound[i] = 0.5 * ulp;
      continue;
    }
    const double steps = parts == 2 ? 2 * n + 2 : n + 2;
    out.bound[i] = (gamma(steps, a.unit) + a.of_factors + a.of_steps) * sum + ulp + n * a.underflow;
    const double on_the_way = divides ? n * sum : sum;
    const double most = (all.is_composite ? a.result : a.accumulator).overflow();
    if (std::isfinite(wide[i]) ? !(on_the_way < most * 0.99) : parts == 2) out.bound[i] = HUGE_VAL;
    // What infinite and NaN inputs make does not come from rounding; float64 may have overflowed by itself, and of convolutions
    // it depends on the padding.
    const bool is_settled = !std::isfinite(wide[i]) && parts == 1 && stays_in_float64;
    if (is_settled && !all.is(Trait::convolves)) out.bound[i] = 0;
    if (i < leaves.size() && leaves[i]) out.bound[i] = HUGE_VAL;
  }
  if (a.of_factors != 0 || a.of_steps != 0 || a.accumulator.digits < 24) out.typical.clear();
  out.rule = fmt::format("gamma({:g}, {}){} * sum of absolute values + 1 ulp", most_terms + 2,
                         a.name, a.of_factors != 0 ? " and tf32" : "");
  if (may_be_exact) out.rule += "; sums of small integers: correctly rounded";
}

}  // namespace

double gamma(double terms, double unit_roundoff) {
  const double product = terms * unit_roundoff;
  return product < 0.5 ? product / (1 - product) : HUGE_VAL;
}

void bound_by_products(const Evaluation& all, std::vector<ExpectedTensor>& out) {
  CallOptions options = all.options;
  options.absolute_numbers = true;
  const std::vector<Tensor> sums = call_row(all.problem, absolute_inputs(all), options);
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (!has_fractions(out[r].dtype)) continue;
    const std::vector<double> values = doubles_of(sums[r]);
    const std::vector<bool> leaves =
        leaves_range(all, accumulation_of(all, out[r].dtype).accumulator, r);
    bound_one(all, out[r], values, counts(all, r, values.size()), leaves);
    if (all.is(Trait::convolves))
      out[r].nan_spreads = !holds_of_all(all, [](double value) { return std::isfinite(value); });
  }
}

}  // namespace bp::conform
