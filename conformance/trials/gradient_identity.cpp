#include "trials/gradient_identity.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include <backplane/autograd/autograd.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/samples/row_facts.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

// The widest step whose differences agree counts: where a row has a kink, as between two elements of which the larger is
// taken, a narrower one may not step over it. A wrong derivative is wrong by all of them.
constexpr double step_widths[] = {1e-5, 1e-6, 1e-7};
constexpr double closeness =
    2e-5;  // relative: differences of float64 keep ten digits, curvature takes some
constexpr std::int64_t most_elements = 6000;

using Numbers = std::vector<double>;

Numbers decoded(const Laid& laid) {
  return to_doubles(packed_elements(laid).data(), static_cast<std::size_t>(numel_of(laid.shape)),
                    laid.dtype);
}

Tensor wide_tensor(const std::vector<std::int64_t>& shape, const Numbers& numbers) {
  Tensor tensor = empty_tensor(shape, f64, oracle());
  if (!numbers.empty()) copy_from_host_memory(tensor, numbers.data());
  return tensor;
}

double product_of(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += a[i] * b[i];
  return sum;
}

// Square matrices, one after the other: the lower halves become as the upper ones.
void make_symmetric(Numbers& numbers, std::int64_t size) {
  const auto width = static_cast<std::size_t>(size);
  for (std::size_t start = 0; start < numbers.size(); start += width * width)
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t k = 0; k < i; ++k)
        numbers[start + i * width + k] = numbers[start + k * width + i];
}

class Differences {
 public:
  Differences(const Problem& problem, const Case& one) : problem_(problem) {
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      const Laid& laid = problem.tensors[i];
      if (!takes_part(problem, i)) {
        others_.push_back(values_of(laid, oracle()));
        points_.emplace_back();
        directions_.emplace_back();
        continue;
      }
      others_.emplace_back();
      points_.push_back(decoded(laid));
      Numbers& direction = directions_.emplace_back(points_.back().size());
      if (names_something(problem, i)) continue;
      for (std::size_t k = 0; k < direction.size(); ++k)
        direction[k] = static_cast<double>(mix(one.seed + i, k) >> 11) * 0x1p-52 - 1;
      if (i == 0 && has_trait(problem.op->name(), Trait::symmetric))
        make_symmetric(direction, laid.shape.back());
    }
  }
  const Numbers& direction(std::size_t tensor) const { return directions_[tensor]; }

  // Sum over the floating results of <f(x + t v), w>.
  double along(double t, const std::vector<Numbers>& weights) const {
    const NoGrad constant;
    std::vector<Tensor> tensors = others_;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].defined()) continue;
      Numbers moved = points_[i];
      for (std::size_t k = 0; k < moved.size(); ++k) moved[k] += t * directions_[i][k];
      tensors[i] = wide_tensor(problem_.tensors[i].shape, moved);
    }
    const std::vector<Tensor> results = call_row(problem_, tensors, {});
    double sum = 0;
    std::size_t next = 0;
    for (const Tensor& result : results)
      if (result.dtype() == f64 && next < weights.size())
        sum += product_of(doubles_of(result), weights[next++]);
    return sum;
  }

 private:
  const Problem& problem_;
  std::vector<Tensor> others_;
  std::vector<Numbers> points_, directions_;
};

bool differences_say_something(const Problem& problem, const Case& one, const Expected& expected) {
  if ((one.values != "normal" && one.values != "positive") ||
      (one.dtype != f32 && one.dtype != f64))
    return false;
  std::int64_t elements = 0;
  for (const Laid& laid : problem.tensors) {
    elements += numel_of(laid.shape);
    if (is_complex(laid.dtype) || laid.dtype == f16 || laid.dtype == bf16) return false;
  }
  for (const Argument& argument : problem.arguments)
    if (argument.value.tag == BP_DTYPE) return false;
  for (const ExpectedTensor& result : expected.results)
    if (result.only_shape || is_complex(result.dtype) ||
        (is_floating(result.dtype) && result.wide.defined() && result.wide.dtype() != f64))
      return false;
  return elements <= most_elements;
}

}  // namespace

bool takes_part(const Problem& problem, std::size_t tensor) {
  const Dtype dtype = problem.tensors[tensor].dtype;
  return is_floating(dtype) || is_complex(dtype);
}

std::string check_identity(const Problem& problem, const Case& one, const Expected& expected,
                           const std::vector<Laid>& cotangents) {
  if (!differences_say_something(problem, one, expected)) return {};
  std::vector<Numbers> weights;
  for (const Laid& laid : cotangents) weights.push_back(decoded(laid));
  const Differences differences(problem, one);
  double by_gradient = 0, scale = 1;
  std::size_t next = expected.num_results;
  for (std::size_t i = 0; i < problem.tensors.size() && next < expected.results.size(); ++i) {
    if (!takes_part(problem, i)) continue;
    const Numbers gradient = doubles_of(expected.results[next++].wide);
    by_gradient += product_of(gradient, differences.direction(i));
    for (const double each : gradient) scale += std::abs(each);
  }
  if (!std::isfinite(by_gradient)) return {};
  double by_differences = 0;
  for (const double step : step_widths) {
    by_differences =
        (differences.along(step, weights) - differences.along(-step, weights)) / (2 * step);
    if (!std::isfinite(by_differences)) return {};
    if (std::abs(by_gradient - by_differences) <= closeness * scale) return {};
  }
  return fmt::format(
      "the derivative is not that of the row: along a direction it is {}, by differences {}",
      by_gradient, by_differences);
}

}  // namespace bp::conform
