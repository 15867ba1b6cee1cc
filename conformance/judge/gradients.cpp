// Derivatives on the oracle, in float64, and their bounds by conditioning.
#include <cmath>
#include <optional>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/bounds.hpp"

namespace bp::conform {
namespace {

// Of both signs, around 1, with few digits, so that all floating dtypes hold it.
double cotangent_at(std::uint64_t seed, std::size_t result, std::size_t i) {
  const std::uint64_t word = mix(seed * 131 + result, i);
  const double size = 0.5 + static_cast<double>(word >> 3 & 63) / 64;
  return word & 1 ? -size : size;
}

Laid cotangent_of(const ExpectedTensor& result, const Case& one, std::size_t r) {
  Laid laid{result.dtype, result.shape, row_major_strides(result.shape), 0, {}};
  const auto count = static_cast<std::size_t>(numel_of(result.shape));
  laid.storage.resize(count * itemsize(result.dtype));
  for (std::size_t i = 0; i < count; ++i)
    store_element(Number::of(cotangent_at(one.seed, r, i),
                             is_complex(result.dtype) ? cotangent_at(one.seed + 1, r, i) : 0),
                  result.dtype, laid.storage.data() + i * itemsize(result.dtype));
  return laid;
}

bool is_differentiable(Dtype dtype) {
  return is_floating(dtype) || is_complex(dtype);
}

Dtype narrowed(Dtype dtype) {
  return dtype == f64 ? f32 : dtype == complex128 ? complex64 : dtype;
}

class Derivative {
 public:
  Derivative(const Evaluation& all, const Expected& expected) : all_(all) {
    for (std::size_t r = 0; r < expected.results.size(); ++r) {
      cotangents_.emplace_back();
      if (is_differentiable(expected.results[r].dtype))
        cotangents_.back() = cotangent_of(expected.results[r], all.one, r);
    }
  }

  // The gradients of all floating tensors, in order, for inputs and cotangents that are changed; computed in float32 if
  // that is asked for.
  std::vector<Tensor> operator()(const Change& change, bool is_narrow = false) const {
    const EnableGrad recorded;
    std::vector<Tensor> inputs = all_.changed(change), leaves;
    CallOptions options = all_.options;
    if (is_narrow && options.dtype) options.dtype = narrowed(*options.dtype);
    if (is_narrow)
      for (Tensor& input : inputs) input = to(input, narrowed(input.dtype()));
    for (std::size_t t = 0; t < inputs.size(); ++t)
      if (is_differentiable(all_.problem.tensors[t].dtype))
        leaves.push_back(set_requires_grad(inputs[t]));
    const std::vector<Tensor> results = call_row(all_.problem, inputs, options);
    std::vector<Tensor> outputs, weights;
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (!cotangents_[r] || !requires_grad(results[r])) continue;
      outputs.push_back(results[r]);
      weights.push_back(laid_out_wide(*cotangents_[r], std::nullopt));
      change_elements(weights.back(), 1000 + r, change);
      weights.back() = to(weights.back(), results[r].dtype());
    }
    std::vector<Tensor> gradients(leaves.size());
    if (!outputs.empty()) gradients = autograd::grad(outputs, leaves, weights, {}, true);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i].defined())
        gradients[i] = zeros(leaves[i].shape(), leaves[i].dtype(), oracle());
    return gradients;
  }

 private:
  const Evaluation& all_;
  std::vector<std::optional<Laid>> cotangents_;
};

// Terms that cancel in full leave what each was rounded by, which steps of the inputs do not show. The same formulas in
// float32, each step correctly rounded, do; functions may be off by more.
void allow_cancelling(std::vector<ExpectedTensor>& results, std::size_t first,
                      const std::vector<Tensor>& narrow) {
  for (std::size_t r = first; r < results.size(); ++r) {
    ExpectedTensor& out = results[r];
    const std::vector<double> wide = doubles_of(out.wide);
    std::vector<double> errors = doubles_of(detach(narrow[r - first]));
    double squares = 0;
    // Complex numbers that are not finite depend on how products are written; float32 may overflow on the way.
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (!std::isfinite(errors[i]) && (is_complex(out.dtype) || std::isfinite(wide[i])) &&
          out.dtype != f64)
        out.bound[i] = HUGE_VAL;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      errors[i] =
          std::isfinite(errors[i]) && std::isfinite(wide[i]) ? std::fabs(errors[i] - wide[i]) : 0;
      squares += errors[i] * errors[i];
    }
    const auto count = static_cast<double>(errors.size());
    const double usual = std::sqrt(squares / std::max(1.0, count));
    const double factor = (count < 8 ? 128 : 32) * format_of(out.dtype).unit_roundoff() / 0x1p-24;
    for (std::size_t i = 0; i < errors.size(); ++i)
      out.bound[i] += factor * std::max(errors[i], usual);
  }
}

}  // namespace

std::vector<Laid> cotangents(const Expected& expected, const Case& one) {
  std::vector<Laid> all;
  for (std::size_t r = 0; r < expected.num_results; ++r)
    if (is_differentiable(expected.results[r].dtype))
      all.push_back(cotangent_of(expected.results[r], one, r));
  return all;
}

void add_gradients(const Evaluation& given, Expected& expected) {
  Evaluation all = given;
  if (all.inputs.empty()) {  // an exact row, which was not evaluated wide
    all.options.dtype = wide_dtype(expected.results.at(0).dtype);
    all.inputs = all.changed([](double value, std::size_t, std::size_t) { return value; });
  }
  all.ulps = 0;
  const Derivative derivative(all, expected);
  const std::size_t first = expected.results.size();
  const std::vector<Tensor> gradients =
      derivative([](double value, std::size_t, std::size_t) { return value; });
  std::size_t next = 0;
  for (const Laid& laid : all.problem.tensors) {
    if (!is_differentiable(laid.dtype)) continue;
    ExpectedTensor& out = expected.results.emplace_back();
    out.dtype = laid.dtype;
    out.shape = laid.shape;
    out.wide = contiguous(detach(gradients.at(next++)));
  }
  const Evaluate again = [&](const Change& change) {
    std::vector<Tensor> results(first);
    for (Tensor& gradient : derivative(change)) results.push_back(std::move(gradient));
    return results;
  };
  bound_by_conditioning(all, again, 8, expected.results, first);
  allow_cancelling(expected.results, first,
                   derivative([](double value, std::size_t, std::size_t) { return value; }, true));
}

}  // namespace bp::conform
