#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

// The tensor's values in its wide dtype, row-major.
Tensor widened_values(const Tensor& given) {
  return contiguous(to(given, wide_dtype(given.dtype())));
}

void take_exactly(ExpectedTensor& out, const Tensor& given, const Evaluation& all) {
  out.wide = widened_values(given);
  out.any_zero = all.is(Trait::extrema);  // which zero they choose is left open
  out.rule = out.any_zero ? "exact, but for the sign of zero" : "exact";
  // A number that 16 bits cannot hold may stay float32 or be rounded first.
  if (all.op().kind != BP_KIND_POINTWISE || (out.dtype != f16 && out.dtype != bf16)) return;
  if (!has_number_beyond(all.problem, out.dtype)) return;
  out.ulp = 1;
  for (const double value : doubles_of(out.wide))
    out.bound.push_back(format_of(out.dtype).ulp(value));
  out.rule = "exact, but for the number's own rounding: 1 ulp";
}

// What else is right where denormals may count as 0: the result for inputs without them.
void allow_flushing(const Evaluation& all, std::vector<ExpectedTensor>& out) {
  // A copy computes nothing, but for one into another dtype.
  const bool moves = all.op().kind == BP_KIND_COPY && !converts(all.op());
  const bool may_flush = all.flushes(f32) || all.flushes(bf16);
  if (!may_flush || all.kind == RuleKind::shape || moves) return;
  Problem flushed = all.problem.with_tensors(all.problem.tensors);
  bool is_other = false;
  for (Laid& laid : flushed.tensors) {
    if (!all.flushes(laid.dtype)) continue;
    const Dtype part = laid.dtype == bf16 ? bf16 : f32;  // of complex numbers, too
    unsigned char* at = laid.storage.data();
    for (const double value : to_doubles(at, laid.storage.size() / itemsize(part), part)) {
      if (value != 0 && std::fabs(value) < format_of(part).smallest_normal()) {
        store_element(Number::of(std::copysign(0.0, value)), part, at);
        is_other = true;
      }
      at += itemsize(part);
    }
  }
  for (ExpectedTensor& each : out)
    if (all.flushes(each.dtype)) {
      each.zero_below = format_of(each.dtype).smallest_normal();
      each.rule += "; denormals may be 0, as declared";
    }
  if (!is_other) return;
  const std::vector<Tensor> results = call_as_given(flushed, all.one.seed);
  for (std::size_t r = 0; r < out.size(); ++r) out[r].flushed = widened_values(results[r]);
}

// The same call with a tensor for each argument.
Problem with_tensors_apart(const Problem& problem) {
  Problem apart = problem.with_tensors({});
  for (Argument& argument : apart.arguments)
    for (int& place : argument.tensors) {
      apart.tensors.push_back(problem.tensors[static_cast<std::size_t>(place)]);
      place = static_cast<int>(apart.tensors.size()) - 1;
    }
  return apart;
}

// Where two arguments are one tensor, what a kernel rounds of the one is not what it rounds of the other: the bound is also
// that of two tensors, each moved by steps of its own, where that is one.
void bound_apart(const Evaluation& all, std::vector<ExpectedTensor>& out) {
  const Problem apart = with_tensors_apart(all.problem);
  if (apart.tensors.size() <= all.problem.tensors.size()) return;
  const Evaluate again = [&](const Change& change) {
    return call_row(apart, changed_inputs(apart, all.through, change), all.options);
  };
  std::vector<ExpectedTensor> moved_apart = out;
  bound_by_conditioning(all, again, 4, moved_apart, 0);
  for (std::size_t r = 0; r < out.size(); ++r)
    for (std::size_t i = 0; i < out[r].bound.size(); ++i)
      if (const double bound = moved_apart[r].bound[i]; std::isfinite(bound))
        out[r].bound[i] = std::max(out[r].bound[i], bound);
}

// What is written into arguments is bounded as further results of the same call.
void bound_with_written(const Evaluation& all, Expected& expected) {
  std::vector<ExpectedTensor> together = std::move(expected.results);
  const std::size_t num_results = together.size();
  for (WrittenTensor& each : expected.written) together.push_back(std::move(each.after));
  const Evaluate again = [&](const Change& change) {
    const std::vector<Tensor> inputs = all.changed(change);
    std::vector<Tensor> results = call_row(all.problem, inputs, all.options);
    for (const WrittenTensor& each : expected.written) results.push_back(inputs[each.tensor]);
    return results;
  };
  bound_by_conditioning(all, again, 4, together, 0);
  if (expected.written.empty()) bound_apart(all, together);
  for (std::size_t w = 0; w < expected.written.size(); ++w)
    expected.written[w].after = std::move(together[num_results + w]);
  together.resize(num_results);
  expected.results = std::move(together);
}

void set_bounds(const Evaluation& all, Expected& expected) {
  std::vector<ExpectedTensor>& out = expected.results;
  if (all.kind == RuleKind::products) return bound_by_products(all, out);
  if (all.kind == RuleKind::conditioned) return bound_with_written(all, expected);
  for (ExpectedTensor& each : out) {
    if (!has_fractions(each.dtype)) continue;
    (all.kind == RuleKind::functions ? bound_complex_function : bound_elementwise)(all, each);
  }
}

Expected evaluated(const Problem& problem, const Case& one, const Numerics& numerics,
                   bool gradients) {
  Expected expected;
  std::vector<std::size_t> written;
  const std::vector<Tensor> given = call_as_given(problem, one.seed, &written);
  expected.num_results = given.size();
  Evaluation all = evaluation_of(problem, one, numerics, given);
  const bool is_wide = all.kind != RuleKind::exact && all.kind != RuleKind::shape;
  const bool by_functions = all.kind == RuleKind::functions;
  if (is_wide && !by_functions) all.results = call_row(problem, all.inputs, all.options);
  for (std::size_t r = 0; r < given.size(); ++r) {
    ExpectedTensor& out = expected.results.emplace_back(
        ExpectedTensor{given[r].dtype(), given[r].shape().to_vector()});
    out.only_shape = all.kind == RuleKind::shape;
    if (out.only_shape) {
      out.wide = widened_values(given[r]);
      out.rule = "shape and dtype; values are not determined";
    } else if (!is_wide || !has_fractions(out.dtype)) {
      take_exactly(out, given[r], all);
    } else {
      out.wide =
          by_functions ? complex_function(all, all.inputs, out) : widened_values(all.results[r]);
    }
  }
  for (const std::size_t tensor : written) {
    if (all.kind != RuleKind::conditioned || !has_fractions(problem.tensors[tensor].dtype))
      throw_error(ErrorClass::internal,
                  std::string(problem.op->name()) +
                      ": writes an argument, and the suite has no bound for it");
    const Laid& laid = problem.tensors[tensor];  // and its values as the wide call has left them
    expected.written.push_back({tensor, {laid.dtype, laid.shape, contiguous(all.inputs[tensor])}});
  }
  if (is_wide) set_bounds(all, expected);
  allow_flushing(all, expected.results);
  if (one.values != "normal")
    for (ExpectedTensor& each : expected.results) each.typical.clear();
  if (gradients) add_gradients(all, expected);
  return expected;
}

// Elements that lie gigabytes apart beside each other.
Problem put_together(const Problem& problem) {
  Problem together = problem.with_tensors(problem.tensors);
  together.outputs = problem.outputs;
  for (Laid& laid : together.tensors) {
    if (laid.sparse_bytes == 0) continue;
    laid.strides = row_major_strides(laid.shape);
    laid.offset = 0;
    laid.sparse_bytes = 0;
  }
  return together;
}

}  // namespace

Expected expect(const Problem& problem, const Case& one, const Numerics& numerics, bool gradients) {
  try {
    const auto is_sparse = [](const Laid& laid) { return laid.sparse_bytes != 0; };
    return std::ranges::any_of(problem.tensors, is_sparse)
               ? evaluated(put_together(problem), one, numerics, gradients)
               : evaluated(problem, one, numerics, gradients);
  } catch (const Error& error) {
    if (error.error_class() == ErrorClass::internal) throw;
    Expected expected;
    expected.error = problem.op->name();
    expected.error_class = static_cast<int>(error.error_class());
    return expected;
  }
}

namespace {

constexpr int num_told = 3;
constexpr double usual_errors = 4;        // root mean square of errors, in those that are typical
constexpr std::size_t least_errors = 16;  // of so many on

std::string index_text(std::size_t element, const Sizes& shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[d]);
    text = fmt::format("{}{}{}", element % size, text.empty() ? "" : ", ", text);
    element /= size;
  }
  return "[" + text + "]";
}

void tell_wrong(Comparison& comparison, const ExpectedTensor& expected, std::size_t element,
                const std::string& got, const std::string& wanted, const std::string& bound) {
  comparison.ok = false;
  if (++comparison.wrong > num_told) return;
  comparison.why +=
      fmt::format("{}element {}: {}, expected {}{}", comparison.why.empty() ? "" : "; ",
                  index_text(element, expected.shape), got, wanted, bound);
}

// Byte for byte: a true of 2 is wrong as well.
void compare_integers(const unsigned char* bytes, const ExpectedTensor& expected,
                      Comparison& comparison) {
  const std::size_t size = itemsize(expected.dtype);
  const auto at = [&](const Tensor& tensor, std::size_t i) {
    return static_cast<const unsigned char*>(tensor.data_ptr()) + i * size;
  };
  for (std::size_t i = 0; i < comparison.of; ++i) {
    const unsigned char *got = bytes + i * size, *wanted = at(expected.wide, i);
    if (std::memcmp(got, wanted, size) == 0) continue;
    if (expected.flushed.defined() && std::memcmp(got, at(expected.flushed, i), size) == 0)
      continue;
    tell_wrong(comparison, expected, i, integer_text(expected.dtype, got),
               integer_text(expected.dtype, wanted), "");
  }
}

// One floating result, or one part of a complex one.
struct Judge {
  const ExpectedTensor& expected;
  const FloatingFormat format = format_of(expected.dtype);
  double error = 0, bound = 0;

  // Whether `got` will do for `wanted`; error and bound are left in `error` and `bound`.
  bool takes(double got, double wanted, std::size_t i) {
    bound = expected.bound.empty() ? 0 : expected.bound[i];
    error = 0;
    if (bound == HUGE_VAL) return true;
    if (expected.nan_spreads && std::isnan(got)) return true;
    if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) == std::isnan(got);
    if (expected.zero_below > 0 && got == 0 && std::fabs(wanted) < expected.zero_below) return true;
    if (expected.bound.empty()) {
      if (got == wanted &&
          (std::signbit(got) == std::signbit(wanted) || (got == 0 && expected.any_zero)))
        return true;
      error = got == wanted ? 0 : std::fabs(got - wanted);
      return false;
    }
    if (std::isinf(wanted) && std::isinf(got)) return std::signbit(wanted) == std::signbit(got);
    if (expected.signed_zero && wanted == 0 && got == 0 &&
        std::signbit(wanted) != std::signbit(got))
      return false;
    // An infinite expectation may stand at the edge of float64: then the bound is infinite as well.
    error = std::fabs(in_range(got) - in_range(wanted));
    return error <= bound;
  }

  // Beyond the largest number all are as one step further: so an overflow of few ulps is an error of few ulps.
  double in_range(double value) const {
    const double edge = format.overflow();
    return std::fabs(value) > edge ? std::copysign(edge, value) : value;
  }
};

void compare_floats(const unsigned char* bytes, const ExpectedTensor& expected,
                    Comparison& comparison) {
  const auto count = static_cast<std::size_t>(comparison.of);
  const std::vector<double> got = to_doubles(bytes, count, expected.dtype);
  const std::vector<double> wanted = doubles_of(expected.wide);
  std::vector<double> flushed;
  if (expected.flushed.defined()) flushed = doubles_of(expected.flushed);
  Judge judge{expected};
  double bias = 0, squares = 0;
  std::size_t num_biased = 0, num_typical = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    bool ok = judge.takes(got[i], wanted[i], i);
    const double error = judge.error, bound = judge.bound;
    comparison.unbounded += bound == HUGE_VAL;
    if (!ok && !flushed.empty()) ok = judge.takes(got[i], flushed[i], i);
    if (!ok)
      tell_wrong(comparison, expected, i / parts_of(expected.dtype), fmt::format("{:.9g}", got[i]),
                 fmt::format("{:.17g}", wanted[i]),
                 bound > 0 ? fmt::format(" within {:.3g}", bound) : "");
    if (!std::isfinite(got[i]) || !std::isfinite(wanted[i]) || bound == HUGE_VAL) continue;
    comparison.worst = std::max(comparison.worst, error / judge.format.ulp(wanted[i]));
    if (bound <= 0) continue;
    comparison.worst_share = std::max(comparison.worst_share, error / bound);
    // Away from 0 counts as up, so that cutting off digits leans to one side.
    bias += std::copysign(1.0, wanted[i]) * (got[i] - wanted[i]) / bound;
    ++num_biased;
    if (expected.typical.empty()) continue;
    squares += error / expected.typical[i] * (error / expected.typical[i]);
    ++num_typical;
  }
  if (num_biased != 0) comparison.bias = bias / static_cast<double>(num_biased);
  if (num_typical < least_errors) return;
  const double root = std::sqrt(squares / static_cast<double>(num_typical));
  if (root <= usual_errors) return;
  comparison.why += fmt::format(
      "{}the errors of {} elements are on the whole {:.3g} times what rounding in the declared "
      "accumulator makes{}",
      comparison.ok ? "" : "; ", num_typical, root,
      comparison.ok ? " (rule: " + expected.rule + ")" : "");
  comparison.ok = false;
}

}  // namespace

Comparison compare(const Bytes& bytes, const ExpectedTensor& expected) {
  Comparison comparison;
  comparison.of = static_cast<std::uint64_t>(numel_of(expected.shape));
  if (bytes.size() != comparison.of * itemsize(expected.dtype)) {
    comparison.ok = false;
    comparison.why = fmt::format("{} bytes where {} elements of {} are expected", bytes.size(),
                                 comparison.of, name(expected.dtype));
    return comparison;
  }
  if (comparison.of == 0 || expected.only_shape) return comparison;
  (has_fractions(expected.dtype) ? compare_floats : compare_integers)(bytes.data(), expected,
                                                                      comparison);
  if (comparison.wrong != 0)
    comparison.why +=
        fmt::format(" (rule: {}); {} of {} differ", expected.rule, comparison.wrong, comparison.of);
  return comparison;
}

namespace {

constexpr std::uint64_t most_draws = 8;
constexpr std::int64_t few = 4;  // may happen to be all such as decide nothing

bool is_open(const ExpectedTensor& expected) {
  return !expected.only_shape && !expected.bound.empty() &&
         std::ranges::all_of(expected.bound, [](double bound) { return bound == HUGE_VAL; });
}

bool are_all_alike(const ExpectedTensor& expected) {
  constexpr std::int64_t large = 64;
  if (expected.only_shape || !is_floating(expected.dtype) || !expected.wide.defined()) return false;
  const std::int64_t count = expected.wide.numel();
  if (count < large || !expected.wide.is_contiguous()) return false;
  const auto* bytes = static_cast<const unsigned char*>(expected.wide.data_ptr());
  const std::size_t size = expected.wide.itemsize();
  return std::memcmp(bytes, bytes + size, static_cast<std::size_t>(count - 1) * size) == 0;
}

bool depends_on_few_numbers(const Case& one, const Problem& problem) {
  const bool rounds = is_floating(one.dtype) || is_complex(one.dtype);
  return rounds && one.form != "error" &&
         std::ranges::any_of(problem.tensors, [](const Laid& laid) {
           return laid.sparse_bytes == 0 && numel_of(laid.shape) <= few && numel_of(laid.shape) > 0;
         });
}

bool is_decided(const Case& one, const Problem& problem, const Numerics& numerics) {
  try {
    const Expected expected = expect(problem, one, numerics, one.form == "grad");
    return !expected.error.empty() ||
           std::ranges::none_of(expected.results, [&](const ExpectedTensor& each) {
             return is_open(each) || is_unvaried(one, problem, each);
           });
  } catch (const Error&) {
    return true;  // the trial meets it, and says so
  }
}

}  // namespace

bool is_unvaried(const Case& one, const Problem& problem, const ExpectedTensor& expected) {
  return !problem.tensors.empty() && one.form != "aliased" &&
         (one.values == "normal" || one.values == "exact" || one.values == "positive") &&
         one.layouts.find("expand") == std::string::npos &&
         one.layouts.find("inner") == std::string::npos && are_all_alike(expected);
}

Problem decisive_problem(const Case& one, const Numerics& numerics) {
  Problem first = make_problem(one);
  if (!depends_on_few_numbers(one, first)) return first;
  Case plain = one;  // other layouts get the same values
  plain.layouts = one.shape.starts_with("sample:") ? "own" : "plain";
  for (std::uint64_t draw = 0; draw < most_draws; ++draw)
    if (is_decided(plain, make_problem(plain, draw), numerics)) return make_problem(one, draw);
  return first;
}

}  // namespace bp::conform
