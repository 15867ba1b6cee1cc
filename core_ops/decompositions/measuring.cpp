#include "decompositions/measuring.hpp"

#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor is_nan(const Tensor& input) {
  return ne(input, input);
}

// The largest number that a floating dtype holds.
double largest_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 65504;
    case Dtype::bf16: return 0x1.FEp127;
    case Dtype::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

Tensor as_summed(const Tensor& input, std::optional<Dtype> dtype) {
  if (dtype) return in_dtype(input, *dtype);
  return is_integral(input.dtype()) || input.dtype() == boolean ? cast(input, i64) : input;
}

}  // namespace

AminmaxResult both_extremes(const Tensor& input, std::optional<std::int64_t> dim, bool keepdim) {
  if (!dim) return {min(input, {}, keepdim), max(input, {}, keepdim)};
  return {min(input, {*dim}, keepdim), max(input, {*dim}, keepdim)};
}

Tensor nan_as_zero(const Tensor& input) {
  return is_floating(input.dtype()) ? where(is_nan(input), 0, input) : input;
}

Tensor mean_without_nan(const Tensor& input, const DimList& dim, bool keepdim,
                        std::optional<Dtype> dtype) {
  BP_CHECK(is_floating(input.dtype()), "nanmean: input is {}; cast it to a floating dtype",
           name(input.dtype()));
  const Tensor wide = widened(dtype ? in_dtype(input, *dtype) : input);
  const Tensor counts = sum(cast(eq(wide, wide), wide.dtype()), dim, keepdim);
  return in_dtype(div(sum(nan_as_zero(wide), dim, keepdim), counts),
                  dtype ? *dtype : input.dtype());
}

VarMeanResult variance_and_mean(const Tensor& input, const DimList& dim, const Scalar& correction,
                                bool keepdim) {
  return {var(input, dim, correction, keepdim), mean(input, dim, keepdim)};
}

StdMeanResult deviation_and_mean(const Tensor& input, const DimList& dim, const Scalar& correction,
                                 bool keepdim) {
  return {std(input, dim, correction, keepdim), mean(input, dim, keepdim)};
}

Tensor numbers_alone(const Tensor& input, std::optional<double> nan, std::optional<double> posinf,
                     std::optional<double> neginf) {
  if (is_complex(input.dtype()))
    return view_as_complex(numbers_alone(view_as_real(input), nan, posinf, neginf));
  if (!is_floating(input.dtype())) return copy(input);
  const double largest = largest_of(input.dtype());
  const Tensor finite = where(eq(input, infinity), posinf.value_or(largest),
                              where(eq(input, -infinity), neginf.value_or(-largest), input));
  return where(is_nan(input), nan.value_or(0), finite);
}

// As in PyTorch the distance of whole numbers is taken in the default dtype, and must be finite.
Tensor are_close(const Tensor& input, const Tensor& other, double rtol, double atol,
                 bool equal_nan) {
  BP_CHECK(input.dtype() == other.dtype(), "isclose: input is {} and other is {}; cast one of them",
           name(input.dtype()), name(other.dtype()));
  BP_CHECK(rtol >= 0 && atol >= 0, "isclose: rtol is {} and atol {}; pass 0 or more", rtol, atol);
  Tensor close = eq(input, other);
  const bool has_fractions = is_floating(input.dtype()) || is_complex(input.dtype());
  if (equal_nan && has_fractions)
    close = logical_or(close, logical_and(is_nan(input), is_nan(other)));
  if (rtol == 0 && atol == 0) return close;
  const Dtype computed = has_fractions ? input.dtype() : default_dtype();
  const Tensor from = in_dtype(input, computed), to = in_dtype(other, computed);
  const Tensor distance = abs(sub(from, to));
  const Tensor allowed = add(abs(mul(to, rtol)), atol);
  return logical_or(close, logical_and(lt(distance, infinity), le(distance, allowed)));
}

Tensor differences_along(const Tensor& input, std::int64_t n, std::int64_t dim,
                         const Tensor& prepend, const Tensor& append) {
  BP_CHECK(input.ndim() > 0, "diff: a 0-dim tensor has no neighbours; reshape it");
  BP_CHECK(n >= 0, "diff: n is {}; pass 0 or more", n);
  const std::int64_t along = wrap_dim("diff", dim, input.ndim());
  if (n == 0) return copy(input);
  std::vector<Tensor> parts;
  for (const Tensor& part : {prepend, input, append}) {
    if (!part.defined()) continue;
    BP_CHECK(part.ndim() == input.ndim(), "diff: shapes {} and {} do not join; make ranks equal",
             to_string(part.shape()), to_string(input.shape()));
    parts.push_back(part);
  }
  Tensor result = parts.size() == 1 ? input : cat(parts, along);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t size = result.size(along);
    if (size == 0) break;
    const Tensor later = narrow(result, along, 1, size - 1),
                 earlier = narrow(result, along, 0, size - 1);
    result = result.dtype() == boolean ? ne(later, earlier) : sub(later, earlier);
  }
  return result.is_same(input) ? copy(input) : result;
}

// From left to right: a product of some in the middle may leave the range where that of all before does not.
Tensor running_product(const Tensor& input, std::int64_t dim, std::optional<Dtype> dtype) {
  const std::int64_t along = wrap_dim("cumprod", dim, input.ndim());
  const Tensor taken = as_summed(input, dtype);
  if (input.numel() == 0 || input.ndim() == 0) return copy(taken);
  const Tensor wide = widened(taken);
  empty_like(wide);  // what has no room fails before the walk
  std::vector<Tensor> products{narrow(wide, along, 0, 1)};
  for (std::int64_t i = 1; i < input.size(along); ++i)
    products.push_back(mul(products.back(), narrow(wide, along, i, 1)));
  const Tensor result = in_dtype(cat(products, along), taken.dtype());
  return result.shares_storage(input) ? copy(result) : result;
}

// Where all are -infinity zeros stand in for them, so that neither a result nor a gradient is NaN.
Tensor softmax_or_zero(const Tensor& input, std::int64_t dim, std::optional<Dtype> dtype) {
  const Tensor taken = dtype ? in_dtype(input, *dtype) : input;
  const std::int64_t along = wrap_dim("_safe_softmax", dim, input.ndim());
  const Tensor is_low = eq(taken, -infinity);
  const Tensor is_none = input.ndim() == 0 ? is_low : all(is_low, {along}, true);
  return where(is_none, 0, softmax(where(is_none, 0, taken), dim));
}

// Sorted NaN comes last: the middle of what is none, or the first NaN.
MiddleElement middle_element(const Tensor& input, std::int64_t dim, bool keepdim,
                             bool leaves_nan_out) {
  const char* const op = leaves_nan_out ? "nanmedian" : "median";
  if (input.ndim() == 0) {
    wrap_dim(op, dim, 0);
    return {copy(input), full({}, 0, i64, input.device())};
  }
  const std::int64_t along = wrap_dim(op, dim, input.ndim()), size = input.size(along);
  BP_CHECK(size > 0, "{}: dimension {} of shape {} has no elements; take another", op, along,
           to_string(input.shape()));
  const SortResult sorted = sort(input, along);
  Dims line(input.shape());
  line[along] = 1;
  Tensor place = full(line, (size - 1) / 2, i64, input.device());
  if (is_floating(input.dtype())) {
    const Tensor count = sum(cast(eq(input, input), i64), {along}, true);
    place = leaves_nan_out ? clamp_min(floor_divide(sub(count, 1), 2), 0)
                           : where(eq(count, size), place, count);
  }
  const Tensor values = gather(sorted.values, along, place);
  const Tensor indices = gather(sorted.indices, along, place);
  if (keepdim) return {values, indices};
  return {squeeze(values, {along}), squeeze(indices, {along})};
}

}  // namespace bp
