// Derivatives: what backward gives on the device, against the oracle's, and these against differences.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <backplane/autograd/autograd.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/samples/row_facts.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "trials/trial.hpp"

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

Tensor wide_tensor(const Sizes& shape, const Numbers& numbers) {
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

// Does backward give a gradient by this tensor?
bool takes_part(const Problem& problem, std::size_t tensor) {
  const Dtype dtype = problem.tensors[tensor].dtype;
  return is_floating(dtype) || is_complex(dtype);
}

// <J v, w> = <v, J^T w>: a derivative against differences of the row itself, in float64.
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

// Empty, or a sentence with both sides. Says nothing of rows and values where differences say nothing (jumps, chance).
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

constexpr int first_cotangent = 400;
constexpr int first_gradient = 500;

class GradientTrial : public RowTrial {
 public:
  GradientTrial(const Case& one, const Subject& subject) : RowTrial(one, subject) {
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i)
      if (takes_part(problem_, i)) inputs_.push_back(static_cast<int>(i));
    if (inputs_.empty()) refuse_case(one, "no tensor has a derivative");
    // The gradients that backward starts with are needed for the script, and cost the same there.
    expected_ = expect(problem_, one_, subject_.numerics, true);
    cotangents_ = cotangents(expected_, one_);
  }

  Json script(int index) override {
    Json script = new_script(one_, index);
    steps_ = {};
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i)
      add_step(script,
               tensor_step(problem_.tensors[i], static_cast<int>(i), takes_part(problem_, i)));
    steps_.row = add_step(script, row_step(problem_, first_result));
    Json backward = {{"do", "backward"},
                     {"results", Json::array()},
                     {"cotangents", Json::array()},
                     {"inputs", inputs_},
                     {"gradients", Json::array()}};
    std::size_t next = 0;
    for (std::size_t i = 0; i < num_results() && next < cotangents_.size(); ++i) {
      if (!is_floating(expected_.results[i].dtype) && !is_complex(expected_.results[i].dtype))
        continue;
      add_step(script, tensor_step(cotangents_[next], object_at(first_cotangent, next), false));
      backward["results"].push_back(object_at(first_result, i));
      backward["cotangents"].push_back(object_at(first_cotangent, next++));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      backward["gradients"].push_back(object_at(first_gradient, i));
    steps_.backward = add_step(script, std::move(backward));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      steps_.values.push_back(
          add_step(script, {{"do", "values"}, {"object", object_at(first_gradient, i)}}));
    return script;
  }

  void prepare() override { identity_ = check_identity(problem_, one_, expected_, cotangents_); }

 private:
  struct Steps {
    std::size_t row = 0, backward = 0;
    std::vector<std::size_t> values;
  };

  std::string rung_of(const Json& answer) const override {
    const std::string of_backward = served_rung(result_of(answer, steps_.backward), "");
    if (of_backward == "host" || of_backward == "none") return of_backward;
    return served_rung(result_of(answer, steps_.row), one_.op);
  }

  void judge_run(Verdict& verdict, const Json& answer, std::size_t run) override {
    demand_none(identity_);
    if (verdict.outcome != Outcome::pass) return;
    for (const std::size_t step : {steps_.row, steps_.backward})
      if (!has_succeeded(verdict, result_of(answer, step))) return;
    demand(expected_.results.size() >= num_results() + inputs_.size(),
           "the suite expects {} results and gradients, the call has {} and {}",
           expected_.results.size(), num_results(), inputs_.size());
    repeats_ = repeats_ && repeats_bits(answer);
    for (std::size_t i = 0; i < inputs_.size() && verdict.outcome == Outcome::pass; ++i) {
      const Bytes* bytes = bytes_of(result_of(answer, steps_.values[i]));
      demand(bytes != nullptr, "gradient {} cannot be read: {}", i,
             message_of(result_of(answer, steps_.values[i])));
      demand(run == 0 || !repeats_ || seen_[i] == *bytes,
             "two runs give different gradients: it reads unwritten memory");
      if (run != 0) continue;
      seen_.push_back(*bytes);
      judge_result(verdict, *bytes, expected_.results[num_results() + i],
                   fmt::format("gradient by tensor {}", inputs_[i]));
    }
  }

  std::vector<int> inputs_;
  std::vector<Laid> cotangents_;
  Steps steps_;
  std::string identity_;
  bool repeats_ = true;
};

}  // namespace

std::unique_ptr<Trial> make_gradient_trial(const Case& one, const Subject& subject) {
  return std::make_unique<GradientTrial>(one, subject);
}

}  // namespace bp::conform
