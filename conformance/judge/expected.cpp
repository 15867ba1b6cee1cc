#include "judge/expected.hpp"

#include <algorithm>
#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "inputs/layouts.hpp"
#include "judge/evaluation.hpp"

namespace bp::conform {
namespace {

ExpectedTensor like(const Tensor& given) {
  ExpectedTensor expected;
  expected.dtype = given.dtype();
  expected.shape = given.shape().to_vector();
  return expected;
}

// The tensor's values in its wide dtype, row-major.
Tensor widened_values(const Tensor& given) {
  const std::vector<std::int64_t> shape = given.shape().to_vector();
  Laid laid{given.dtype(), shape, row_major_strides(shape), 0, {}};
  const Tensor dense = contiguous(given);
  const auto* bytes =
      dense.numel() == 0 ? nullptr : static_cast<const unsigned char*>(dense.data_ptr());
  laid.storage.assign(bytes, bytes + dense.nbytes());
  return laid_out_wide(laid, std::nullopt);
}

void take_exactly(ExpectedTensor& out, const Tensor& given, const Evaluation& all) {
  out.wide = widened_values(given);
  out.any_zero = leaves_zero_open(all.op());
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
    const std::size_t bytes = laid.dtype == bf16 ? 2 : 4;
    for (std::size_t at = 0; at + bytes <= laid.storage.size(); at += bytes) {
      // Exponent bits all 0: in both formats the lower 15 bits but the last 7 or all of the 16 above.
      const unsigned high = laid.storage[at + bytes - 1], low = laid.storage[at + bytes - 2];
      if ((high & 0x7f) != 0 || (low & 0x80) != 0) continue;
      for (std::size_t b = 0; b < bytes; ++b) {
        unsigned char& byte = laid.storage[at + b];
        const unsigned char kept = b + 1 == bytes ? byte & 0x80 : 0;
        is_other |= byte != kept;
        byte = kept;
      }
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
    if (all.kind == RuleKind::functions)
      bound_complex_function(all, each);
    else if (all.kind == RuleKind::expression)
      bound_by_expression(all, each);
    else
      bound_by_ulp(all, each);
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
    ExpectedTensor& out = expected.results.emplace_back(like(given[r]));
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
    ExpectedTensor after;
    after.dtype = problem.tensors[tensor].dtype;
    after.shape = problem.tensors[tensor].shape;
    after.wide = contiguous(all.inputs[tensor]);  // as the wide call has left it
    expected.written.push_back({tensor, std::move(after)});
  }
  if (is_wide) set_bounds(all, expected);
  allow_flushing(all, expected.results);
  if (one.values != "normal")
    for (ExpectedTensor& each : expected.results) each.typical.clear();
  if (gradients) add_gradients(all, expected);
  return expected;
}

}  // namespace

Expected expect(const Problem& problem, const Case& one, const Numerics& numerics, bool gradients) {
  try {
    return evaluated(problem, one, numerics, gradients);
  } catch (const Error& error) {
    if (error.error_class() == ErrorClass::internal) throw;
    Expected expected;
    expected.error = problem.op->name();
    expected.error_class = static_cast<int>(error.error_class());
    return expected;
  }
}

}  // namespace bp::conform
