// How a row is judged, and the calls of the oracle that this takes.
#include "judge/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <backplane/core_ops/creation.hpp>
#include <backplane/samples/row_facts.hpp>

namespace bp::conform {
namespace {

// "3 ulp"
bool read_ulps(std::string_view tolerance, double& ulps) {
  if (!tolerance.ends_with(" ulp")) return false;
  ulps = std::strtod(std::string(tolerance).c_str(), nullptr);
  return true;
}

// A product, a quotient or a square: of complex numbers that is several roundings.
bool ends_in_product(const Operator& op) {
  if (op.num_nodes == 0) return false;
  const std::uint16_t last = op.nodes[op.num_nodes - 1].code;
  return last == BP_X_MUL || last == BP_X_DIV;
}

RuleKind kind_of(const Evaluation& all, Dtype dtype, double& ulps) {
  const Operator& op = all.op();
  const std::string_view tolerance = op.tolerance;
  if (tolerance == "shape") return RuleKind::shape;
  if (!has_fractions(dtype)) return RuleKind::exact;
  if (op.decompose_complex && is_complex_function(all.problem)) {
    if (!read_ulps(tolerance, ulps)) ulps = 0;
    return RuleKind::functions;
  }
  const bool is_expression = op.kind == BP_KIND_POINTWISE && op.num_nodes != 0;
  if (tolerance == "exact")
    return is_expression && is_complex(dtype) && ends_in_product(op) ? RuleKind::expression
                                                                     : RuleKind::exact;
  if (is_expression) {
    if (!read_ulps(tolerance, ulps)) ulps = 4;
    return RuleKind::expression;
  }
  if (read_ulps(tolerance, ulps))
    return all.is(Trait::conditioned) ? RuleKind::conditioned : RuleKind::ulp;
  return all.is(Trait::sums_products) ? RuleKind::products : RuleKind::conditioned;
}

// Inputs that the call casts first are rounded to what it computes in, before they are widened.
std::optional<Dtype> dtype_cast_to(const Problem& problem, Dtype computed) {
  if (!has_fractions(computed)) return std::nullopt;
  const bool names_dtype = argument_value(problem, "dtype").tag == BP_DTYPE;
  for (std::size_t t = 0; t < problem.tensors.size(); ++t)
    if (names_dtype || !has_fractions(problem.tensors[t].dtype)) return computed;
  return std::nullopt;
}

// Is tensor `t` among those that promotion converts? Others, such as indices and conditions, stay as they are.
bool is_converted(const Problem& problem, std::size_t t) {
  const Operator& op = *problem.op;
  for (std::size_t i = 0; i < problem.arguments.size(); ++i)
    for (const int place : problem.arguments[i].tensors)
      if (static_cast<std::size_t>(place) == t) return (op.promoted >> i & 1u) != 0;
  return false;
}

bool shares_places(const Laid& laid) {
  std::int64_t elements = 1, places = 1;
  for (std::size_t d = 0; d < laid.shape.size(); ++d) {
    elements *= laid.shape[d];
    places += (laid.shape[d] - 1) * laid.strides[d];
  }
  return elements > places;
}

std::vector<Tensor> wide_inputs(const Problem& problem, std::optional<Dtype> through) {
  std::vector<Tensor> inputs;
  for (std::size_t t = 0; t < problem.tensors.size(); ++t)
    inputs.push_back(
        laid_out_wide(problem.tensors[t], is_converted(problem, t) ? through : std::nullopt));
  return inputs;
}

// Of what comes of the call: its first result, or the first tensor that it writes into.
Dtype dtype_of_first(const Problem& problem, const std::vector<Tensor>& results) {
  if (!results.empty()) return results[0].dtype();
  for (std::size_t i = 0; i < problem.arguments.size(); ++i) {
    const std::vector<int>& tensors = problem.arguments[i].tensors;
    if ((problem.op->mutates >> i & 1u) && !tensors.empty())
      return problem.tensors[static_cast<std::size_t>(tensors[0])].dtype;
  }
  return f32;
}

}  // namespace

std::vector<Tensor> changed_inputs(const Problem& problem, std::optional<Dtype> through,
                                   const Change& change) {
  std::vector<Tensor> fresh = wide_inputs(problem, through);
  for (std::size_t t = 0; t < fresh.size(); ++t) {
    // Elements that share a place are rounded each for itself: a mean of equal numbers need not be that number.
    if (shares_places(problem.tensors[t])) fresh[t] = contiguous(fresh[t]);
    if (!names_something(problem, t)) change_elements(fresh[t], t, change);
  }
  return fresh;
}

std::vector<Tensor> Evaluation::changed(const Change& change) const {
  return changed_inputs(problem, through, change);
}

bool Evaluation::flushes(Dtype dtype) const {
  if (dtype == bf16 && kind == RuleKind::products && numerics.flushes_bf16_products) return true;
  return numerics.flushes_denormals && (dtype == f32 || dtype == bf16 || dtype == complex64);
}

std::vector<Tensor> call_as_given(const Problem& problem, std::uint64_t seed,
                                  std::vector<std::size_t>* written) {
  std::vector<Tensor> tensors;
  for (const Laid& laid : problem.tensors) tensors.push_back(laid_out(laid));
  CallOptions options;
  options.seed = seed;
  std::vector<Tensor> results = call_row(problem, tensors, options);
  for (std::size_t t = 0; written && t < tensors.size(); ++t) {
    const Storage& storage = *tensors[t].impl()->storage;
    const std::vector<unsigned char>& before = problem.tensors[t].storage;
    if (!before.empty() &&
        std::memcmp(reinterpret_cast<const void*>(storage.handle + storage.offset), before.data(),
                    before.size()) != 0)
      written->push_back(t);
  }
  return results;
}

Evaluation evaluation_of(const Problem& problem, const Case& one, const Numerics& numerics,
                         const std::vector<Tensor>& given) {
  Evaluation all{problem, one, numerics};
  Dtype computed = dtype_of_first(problem, given);
  all.facts = find_row_facts(problem.op->name());
  all.kind = kind_of(all, computed, all.ulps);
  for (const Tensor& result : given)  // the first may be indices
    if (all.kind == RuleKind::exact && has_fractions(result.dtype()))
      all.kind = kind_of(all, computed = result.dtype(), all.ulps);
  all.is_composite = problem.op->kind == BP_KIND_COMPOSITE;
  all.options.seed = one.seed;
  if (all.kind == RuleKind::exact || all.kind == RuleKind::shape) return all;
  all.options.dtype = wide_dtype(computed);
  all.through = dtype_cast_to(problem, computed);
  if (all.is(Trait::own_step)) all.options.step = computed == f64 ? 0 : 0x1p-23;
  all.inputs = wide_inputs(problem, all.through);
  return all;
}

bool leaves_zero_open(const Operator& op) {
  return has_trait(op.name(), Trait::extrema);
}

}  // namespace bp::conform
