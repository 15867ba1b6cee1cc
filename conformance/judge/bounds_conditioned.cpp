// Bounds of what is not a sum of products: by how much the results move when each input moves by a random relative step. A
// good algorithm is as far off as if its inputs had been rounded a few times. Derivatives are bounded so, too.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

struct NormGroups {
  std::int64_t size = 1;                 // elements of a group, which lie in a row
  std::int64_t channels = 1, plane = 1;  // element i has the weight i / plane % channels
  bool across_batch = false;             // a group is a channel of all images

  std::size_t channel_of(std::size_t i) const {
    return i / static_cast<std::size_t>(plane) % static_cast<std::size_t>(channels);
  }
  std::size_t group_of(std::size_t i) const {
    return across_batch ? channel_of(i) : i / static_cast<std::size_t>(size);
  }
};

// False for rows that take off no mean.
bool find_groups(const Evaluation& all, const ExpectedTensor& out, NormGroups& groups) {
  if (!all.is(Trait::takes_mean_off) || all.inputs.empty() || all.inputs[0].numel() == 0)
    return false;
  if (out.shape != all.inputs[0].shape().to_vector()) return false;
  if (const bp_value shape = argument_value(all.problem, "normalized_shape");
      shape.tag == BP_INT_LIST) {
    for (std::uint32_t d = 0; d < shape.aux; ++d)
      groups.size *= static_cast<const std::int64_t*>(shape.u.ptr)[d];
    groups.channels = groups.size;
    return true;
  }
  if (out.shape.size() < 2) return false;
  groups.channels = out.shape[1];
  groups.plane = all.inputs[0].numel() / (out.shape[0] * groups.channels);
  groups.size = groups.plane;
  groups.across_batch = all.is(Trait::across_batch);
  if (const bp_value count = argument_value(all.problem, "num_groups"); count.tag == BP_INT)
    groups.size *= groups.channels / count.u.i;
  return true;
}

std::vector<double> weights_of(const Evaluation& all, std::int64_t count) {
  const auto place = static_cast<std::size_t>(all.op().schema->find("weight"));
  const std::vector<Argument>& given = all.problem.arguments;
  if (place >= given.size() || !given[place].is_tensor())
    return std::vector<double>(static_cast<std::size_t>(count), 1);
  return doubles_of(all.inputs[static_cast<std::size_t>(given[place].tensors[0])]);
}

// For each element of a normalization's result, what a mean that is off by a rounding of 1 does to it; empty for others.
std::vector<double> shifts_by_mean(const Evaluation& all, const ExpectedTensor& out) {
  struct Sums {
    double count = 0, sum = 0, squares = 0, largest = 0;
  };
  NormGroups groups;
  if (!find_groups(all, out, groups)) return {};
  const std::vector<double> x = doubles_of(all.inputs[0]);
  const std::vector<double> weight = weights_of(all, groups.channels);
  const double eps = Scalar::from_value(argument_value(all.problem, "eps")).to_double();
  std::map<std::size_t, Sums> sums;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Sums& each = sums[groups.group_of(i)];
    ++each.count;
    each.sum += x[i];
    each.largest = std::max(each.largest, std::fabs(x[i]));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    Sums& each = sums[groups.group_of(i)];
    const double off = x[i] - each.sum / each.count;
    each.squares += off * off;
  }
  std::vector<double> shifts;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Sums& each = sums[groups.group_of(i)];
    shifts.push_back(each.largest / std::sqrt(each.squares / each.count + eps) *
                     std::fabs(weight[groups.channel_of(i)]));
  }
  return shifts;
}

constexpr int num_runs = 4;
constexpr std::int64_t large = 1 << 14;  // elements; then two runs must do

// Small against curvature, large against float64's rounding: a quarter of what is rounded off.
double step_for(const FloatingFormat& computed) {
  return std::max(computed.unit_roundoff() / 4, 0x1p-42);
}

// Each element has a step of its own, so that none stands still by chance, and one that it shares with its neighbours, as
// the rounding of a long sum moves all that it is taken from.
Change random_step(std::uint64_t seed, int run, double step) {
  const std::uint64_t block = std::uint64_t{4} << (2 * run);
  return [seed, block, step](double value, std::size_t t, std::size_t i) {
    const std::uint64_t own = mix(seed + 77 * t, i), shared = mix(seed + 77 * t + 1, i / block);
    const double fraction = static_cast<double>(own >> 11) * 0x1p-52 - 1;  // in [-1, 1)
    return value * (1 + step * (fraction + (shared & 1 ? 1 : -1)));
  };
}

// The power of an input that is made on the way.
double power_on_the_way(const Evaluation& all) {
  if (all.is(Trait::keeps_range)) return 1;
  if (all.is(Trait::gradient)) return 4;
  if (!all.is(Trait::root) || all.op().schema->find("p") < 0) return 2;
  const double p = Scalar::from_value(argument_value(all.problem, "p")).to_double();
  return std::isinf(p) || p == 0 ? 1 : std::max(1.0, std::fabs(p));
}

// Of the inputs as the call reads them.
struct InputSizes {
  double largest = 0, count = 1;
};
InputSizes sizes_of(const Evaluation& all) {
  InputSizes sizes;
  for (const Tensor& input : all.inputs) {
    if (!has_fractions(input.dtype())) continue;
    sizes.count = std::max(sizes.count, static_cast<double>(input.numel()));
    for (const double value : doubles_of(input))
      if (std::isfinite(value)) sizes.largest = std::max(sizes.largest, std::fabs(value));
  }
  return sizes;
}

// Along `dim` of logarithms of a sum an element's own step may be small where its neighbours' are not: they share a sum.
void share_along(const Evaluation& all, const ExpectedTensor& out, std::vector<double>& moves) {
  const bp_value value = argument_value(all.problem, "dim");
  const bool keeps_shape = out.shape == all.inputs[0].shape().to_vector();
  if (!all.is(Trait::logarithms) || !keeps_shape || value.tag != BP_INT || out.shape.empty())
    return;
  const auto rank = static_cast<std::int64_t>(out.shape.size());
  const std::int64_t dim = value.u.i < 0 ? value.u.i + rank : value.u.i;
  std::size_t inner = 1;
  for (std::int64_t d = dim + 1; d < rank; ++d)
    inner *= static_cast<std::size_t>(out.shape[static_cast<std::size_t>(d)]);
  const auto size = static_cast<std::size_t>(out.shape[static_cast<std::size_t>(dim)]);
  for (std::size_t line = 0; line * size < moves.size(); ++line) {
    const std::size_t first = line / inner * inner * size + line % inner;
    double most = 0;
    for (std::size_t k = 0; k < size; ++k) most = std::max(most, moves[first + k * inner]);
    for (std::size_t k = 0; k < size; ++k) moves[first + k * inner] = most;
  }
}

// A move of exactly or nearly 0 may be luck: the median stands for it, scaled down.
void raise_lucky(std::vector<double>& moves, const std::vector<double>& wide) {
  std::vector<double> relative;
  for (std::size_t i = 0; i < moves.size(); ++i)
    if (wide[i] != 0 && std::isfinite(moves[i]) && moves[i] > 0)
      relative.push_back(moves[i] / std::fabs(wide[i]));
  if (relative.size() < 4) return;
  const auto middle = relative.begin() + static_cast<std::ptrdiff_t>(relative.size() / 2);
  std::nth_element(relative.begin(), middle, relative.end());
  for (std::size_t i = 0; i < moves.size(); ++i)
    moves[i] = std::max(moves[i], std::min(*middle, 64.0) * 0.25 * std::fabs(wide[i]));
}

struct Moves {
  std::vector<double> wide, most;
};

// Where a step changes the result by as much as it has, rounding may make anything of it. A result that is all zeros, as of
// a - a, has no size of its own: `most`, the move over the step, is as large as the inputs where it is their difference.
bool is_lost(double most, double step, double size, double largest, const InputSizes& inputs) {
  if (largest == 0) return most > 4 * inputs.largest;
  return most * step > 0.25 * size && most * step > 1e-3 * largest;
}

void set_bounds(const Evaluation& all, ExpectedTensor& out, Moves& moves, double roundings,
                const FloatingFormat& computed, const InputSizes& sizes) {
  const FloatingFormat own = format_of(out.dtype);
  const double step = step_for(computed);
  double largest = 0;
  for (const double value : moves.wide)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  const double unit = computed.unit_roundoff();
  // As a sum of its own is allowed: one after the other, where all may round to one side.
  const double factor = roundings * (4 + std::log2(sizes.count)) + sizes.count;
  const double power = power_on_the_way(all);
  // Of a function of one number nothing is added up, nor of its derivative.
  const bool adds_up = all.op().kind != BP_KIND_POINTWISE || all.problem.tensors.size() > 1;
  const bool keeps_wide = all.is(Trait::computes_wide) || all.is(Trait::wide_statistics);
  const bool overflows =
      power * std::log2(std::max(sizes.largest, 1e-300)) + (adds_up ? std::log2(sizes.count) : 0) >
      (keeps_wide ? compute_format(out.dtype) : computed).highest_exponent;
  // A sum of powers below the smallest normal number is lost, and its root is taken.
  const double lost =
      all.is(Trait::root)
          ? std::pow(sizes.count * computed.smallest_normal(), 1 / std::max(power, 2.0))
          : sizes.count *
                (all.flushes(out.dtype) ? computed.smallest_normal() : computed.smallest());
  // What rounding makes in any case, whatever the result's own size.
  const double ground = all.is(Trait::logarithms) ? 1 : 0;
  const std::vector<double> shifts = shifts_by_mean(all, out);
  // A root by a power whose exponent, 1 / p, was rounded: off by so much as the logarithm is large.
  const bool has_rounded_exponent = all.is(Trait::root) && power > 2;
  // What infinite and NaN inputs make does not come from rounding: no step moves it.
  std::vector<bool> is_settled(moves.wide.size());
  for (std::size_t i = 0; i < is_settled.size(); ++i)
    is_settled[i] = !std::isfinite(moves.wide[i]) && moves.most[i] == 0 &&
                    (own.digits < 53 || !overflows) && !is_complex(out.dtype);
  share_along(all, out, moves.most);
  raise_lucky(moves.most, moves.wide);
  out.bound.assign(moves.wide.size(), 0);
  for (std::size_t i = 0; i < out.bound.size(); ++i) {
    const double size = std::isfinite(moves.wide[i]) ? std::fabs(moves.wide[i]) : 0;
    out.bound[i] = factor * unit * (moves.most[i] + ground) +
                   4 * (unit * size + 0.5 * own.ulp(moves.wide[i])) + lost;
    if (all.ulps > 0) out.bound[i] = std::max(out.bound[i], all.ulps * computed.ulp(moves.wide[i]));
    if (has_rounded_exponent && size > 0)
      out.bound[i] += 2 * unit * size * std::fabs(std::log(size));
    if (i < shifts.size()) out.bound[i] += roundings * unit * shifts[i];
    if (overflows || size >= std::min(own.overflow(), computed.overflow() / 256) ||
        std::isnan(out.bound[i]) || is_lost(moves.most[i], step, size, largest, sizes))
      out.bound[i] = is_settled[i] ? 0 : HUGE_VAL;
  }
  out.rule = fmt::format("{:.3g} * 2^-{} * what the result moves by relative steps of its inputs",
                         factor, std::max(computed.digits, 8));
}

}  // namespace

void bound_by_conditioning(const Evaluation& all, const Evaluate& evaluate, double roundings,
                           std::vector<ExpectedTensor>& out, std::size_t first) {
  std::vector<Moves> moves(out.size());
  const auto computed_in = [&](std::size_t r) {
    return first != 0 || (all.is_composite && !all.is(Trait::computes_wide))
               ? format_of(out[r].dtype)
               : compute_format(out[r].dtype);
  };
  FloatingFormat widest{53, 0, 0};
  for (std::size_t r = first; r < out.size(); ++r)
    if (has_fractions(out[r].dtype) && computed_in(r).digits < widest.digits)
      widest = computed_in(r);
  const double step = step_for(widest);
  for (std::size_t r = first; r < out.size(); ++r) {
    moves[r].wide = doubles_of(out[r].wide);
    moves[r].most.assign(moves[r].wide.size(), 0);
  }
  std::int64_t elements = 0;
  for (const Tensor& input : all.inputs) elements += input.numel();
  for (int run = elements > large ? 2 : 0; run < num_runs; ++run) {
    const std::vector<Tensor> moved =
        evaluate(random_step(mix(all.one.seed, static_cast<std::uint64_t>(run)), run, step));
    for (std::size_t r = first; r < out.size(); ++r) {
      if (!has_fractions(out[r].dtype)) continue;
      const std::vector<double> values = doubles_of(moved[r]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double difference =
            values[i] == moves[r].wide[i] ? 0 : std::fabs(values[i] - moves[r].wide[i]) / step;
        // Not finite on one side only: such a result is at an edge.
        if (std::isnan(difference) && std::isnan(values[i]) == std::isnan(moves[r].wide[i]))
          continue;
        moves[r].most[i] =
            std::isnan(difference) ? HUGE_VAL : std::max(moves[r].most[i], difference);
      }
    }
  }
  const InputSizes sizes = sizes_of(all);
  for (std::size_t r = first; r < out.size(); ++r)
    if (has_fractions(out[r].dtype))
      set_bounds(all, out[r], moves[r], roundings, computed_in(r), sizes);
}

// ---- Derivatives on the oracle, in float64

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

// The gradients of all floating tensors, in order, for inputs and cotangents (of results that have one) that are changed;
// computed in float32 if that is asked for.
std::vector<Tensor> gradients_of(const Evaluation& all,
                                 const std::vector<std::optional<Laid>>& cotangents,
                                 const Change& change, bool is_narrow) {
  const EnableGrad recorded;
  std::vector<Tensor> inputs = all.changed(change), leaves;
  CallOptions options = all.options;
  if (is_narrow && options.dtype) options.dtype = narrowed(*options.dtype);
  if (is_narrow)
    for (Tensor& input : inputs) input = to(input, narrowed(input.dtype()));
  for (std::size_t t = 0; t < inputs.size(); ++t)
    if (is_differentiable(all.problem.tensors[t].dtype))
      leaves.push_back(set_requires_grad(inputs[t]));
  const std::vector<Tensor> results = call_row(all.problem, inputs, options);
  std::vector<Tensor> outputs, weights;
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (!cotangents[r] || !requires_grad(results[r])) continue;
    outputs.push_back(results[r]);
    weights.push_back(laid_out_wide(*cotangents[r], std::nullopt));
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
    all.inputs = all.changed(unchanged);
  }
  all.ulps = 0;
  std::vector<std::optional<Laid>> cotangents;
  for (const ExpectedTensor& each : expected.results) {
    const std::size_t r = cotangents.size();
    cotangents.push_back(is_differentiable(each.dtype)
                             ? std::optional(cotangent_of(each, all.one, r))
                             : std::nullopt);
  }
  const std::size_t first = expected.results.size();
  const std::vector<Tensor> gradients = gradients_of(all, cotangents, unchanged, false);
  std::size_t next = 0;
  for (const Laid& laid : all.problem.tensors) {
    if (!is_differentiable(laid.dtype)) continue;
    expected.results.push_back({laid.dtype, laid.shape, contiguous(detach(gradients.at(next++)))});
  }
  const Evaluate again = [&](const Change& change) {
    std::vector<Tensor> results(first);
    for (Tensor& gradient : gradients_of(all, cotangents, change, false))
      results.push_back(std::move(gradient));
    return results;
  };
  bound_by_conditioning(all, again, 8, expected.results, first);
  allow_cancelling(expected.results, first, gradients_of(all, cotangents, unchanged, true));
}

}  // namespace bp::conform
