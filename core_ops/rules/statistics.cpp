// Reductions that are more than a sum: products, variances, norms, and whether any or all hold.
#include <cmath>
#include <limits>

#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "reduction.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void quantifier(const Call& call, Inferred& out, bool of_nothing) {
  compute_in(call, out, boolean);
  out.outputs[0].dtype = boolean;
  out.fills = reduce_shape(call, out);
  out.fill_value = of_nothing;
}

// A reduction whose result has the argument's dtype, a floating one, or that of a complex one's parts.
void keep_floating(const Call& call, Inferred& out, ReductionPlaces places, double of_nothing) {
  const Dtype dtype = dtype_of(impl_arg(call, 0));
  check_dtype(call.op, dtype);
  compute_in(call, out, dtype);
  out.outputs[0].dtype = call.op.complex_gives_real ? to_real(dtype) : dtype;
  out.fills = reduce_shape(call, out, places);
  out.fill_value = of_nothing;
}

}  // namespace

void prod(const Call& call, Inferred& out) {
  const Dtype dtype = dtype_or(call, 3, i64);
  compute_in(call, out, dtype);
  out.outputs[0].dtype = dtype;
  out.fills = reduce_shape(call, out);
  out.fill_value = 1;
}

void variance(const Call& call, Inferred& out) {
  const Scalar correction = scalar_arg(call, 2);
  BP_CHECK(!correction.is_complex(), "{}: 'correction' is {} + {}i; pass a real number",
           call.op.name(), correction.to_complex().real(), correction.to_complex().imag());
  keep_floating(call, out, {.dim = 1, .keepdim = 3}, std::nan(""));
}

void any_of(const Call& call, Inferred& out) {
  quantifier(call, out, false);
}

void all_of(const Call& call, Inferred& out) {
  quantifier(call, out, true);
}

void logsumexp(const Call& call, Inferred& out) {
  const Dtype own = dtype_of(impl_arg(call, 0));
  const Dtype dtype = is_integral(own) || own == boolean ? default_dtype() : own;
  compute_in(call, out, dtype);
  out.outputs[0].dtype = dtype;
  out.fills = reduce_shape(call, out);
  out.fill_value = -infinity;
}

void norm(const Call& call, Inferred& out) {
  keep_floating(call, out, {.dim = 2, .keepdim = 3}, 0);
  const double p = real_arg(call, 1);
  BP_CHECK(!out.fills || (p >= 0 && p != infinity) || !has_elements(out.outputs[0].shape),
           "norm: no elements along dimensions {} of shape {}; the norm of nothing is only defined "
           "for p from 0 up to, without, inf, not for {}",
           bp::to_string(out.lists[0]), bp::to_string(shape_of(impl_arg(call, 0))), p);
}

}  // namespace bp::rules
