#include "decompositions/ordering.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

Tensor in_a_row(const Tensor& input) {
  return reshape(input, {input.numel()});
}

Tensor constant(IntList shape, std::int64_t value, const Tensor& like) {
  return full(shape, value, i64, like.device());
}

// `sequence` is a vector, or has the sizes of `input` but for the last one.
void check_sequence(const Tensor& sequence, const Tensor& input) {
  BP_CHECK(sequence.ndim() > 0, "searchsorted: the sequence is 0-dim; pass a vector");
  bool fits = sequence.ndim() == 1 || sequence.ndim() == input.ndim();
  for (std::int64_t d = 0; fits && sequence.ndim() > 1 && d + 1 < input.ndim(); ++d)
    fits = sequence.size(d) == input.size(d);
  BP_CHECK(
      fits,
      "searchsorted: a sequence of shape {} and values of shape {}; pass a vector, or make all "
      "sizes but the last equal",
      to_string(sequence.shape()), to_string(input.shape()));
}

// What a quantile looks at, sorted along the last dimension: the dimension that was given, or all elements.
struct SortedLines {
  Tensor sorted;
  std::int64_t along;
  bool is_whole;
};
SortedLines sorted_lines(const char* op, const Tensor& input, double q,
                         std::optional<std::int64_t> dim, std::string_view interpolation) {
  BP_CHECK(q >= 0 && q <= 1, "{}: q is {}; pass a part from 0 to 1", op, q);
  BP_CHECK(interpolation == "linear" || interpolation == "lower" || interpolation == "higher" ||
               interpolation == "nearest" || interpolation == "midpoint",
           "{}: the interpolation is '{}'; choose 'linear', 'lower', 'higher', 'nearest' or "
           "'midpoint'",
           op, interpolation);
  const bool is_whole = !dim || input.ndim() == 0;
  const std::int64_t along = dim ? wrap_dim(op, *dim, input.ndim()) : 0;
  const Tensor lines = is_whole ? in_a_row(input) : movedim(input, {along}, {-1});
  BP_CHECK(lines.size(-1) > 0, "{}: shape {} has no elements there; take another dimension", op,
           to_string(input.shape()));
  return {sort(widened(lines), -1).values, along, is_whole};
}

// One number for each line, in input's dtype and, with `keepdim`, its rank.
Tensor of_lines(const SortedLines& lines, const Tensor& result, const Tensor& input, bool keepdim) {
  const Tensor given = in_dtype(result, input.dtype());
  if (!keepdim) return given;
  Dims shape(input.shape());
  for (std::int64_t d = 0; d < input.ndim(); ++d)
    if (lines.is_whole || d == lines.along) shape[d] = 1;
  return reshape(given, shape);
}

}  // namespace

// Of the elements from `low` up to `high` the one in the middle says which half goes on.
Tensor places_by_halving(const Tensor& sequence, const Tensor& input, bool is_narrow, bool right) {
  check_sequence(sequence, input);
  BP_CHECK(sequence.dtype() == input.dtype(),
           "searchsorted: the sequence is {} and the values {}; cast one of them",
           name(sequence.dtype()), name(input.dtype()));
  const bool is_vector = sequence.ndim() == 1;
  const Tensor wanted = is_vector ? in_a_row(input) : input;
  const std::int64_t size = sequence.size(-1);
  Tensor low = constant(wanted.shape(), 0, input);
  if (size > 0 && wanted.numel() > 0) {
    Tensor high = constant(wanted.shape(), size, input);
    const int steps = std::bit_width(static_cast<std::uint64_t>(size));
    for (int i = 0; i < steps; ++i) {
      const Tensor middle = bitwise_right_shift(add(low, high), 1);
      const Tensor seen = gather(sequence, -1, clamp_max(middle, size - 1));
      // Written so that NaN, beside which nothing holds, is the largest.
      const Tensor goes_on =
          logical_and(lt(low, high), logical_not(right ? gt(seen, wanted) : ge(seen, wanted)));
      low = where(goes_on, add(middle, 1), low);
      high = where(goes_on, high, middle);
    }
  }
  const Tensor places = reshape(low, input.shape());
  return is_narrow ? cast(places, i32) : places;
}

Tensor found_in_sorted(const Tensor& elements, const Tensor& test_elements, bool invert) {
  if (test_elements.numel() == 0) return full(elements.shape(), invert, boolean, elements.device());
  const Dtype common = promote(elements.dtype(), test_elements.dtype());
  const Tensor wanted = in_a_row(in_dtype(elements, common));
  const Tensor sorted = sort(in_a_row(in_dtype(test_elements, common))).values;
  const Tensor places =
      clamp_max(places_by_halving(sorted, wanted, false, false), sorted.numel() - 1);
  const Tensor nearest = gather(sorted, 0, places);
  return reshape(invert ? ne(nearest, wanted) : eq(nearest, wanted), elements.shape());
}

Tensor counted_by_value(const Tensor& input, const Tensor& weights, std::int64_t minlength) {
  BP_CHECK(input.ndim() == 1 && is_integral(input.dtype()),
           "bincount: input is {} of shape {}; pass a vector of whole numbers", name(input.dtype()),
           to_string(input.shape()));
  BP_CHECK(minlength >= 0, "bincount: minlength is {}; pass 0 or more", minlength);
  BP_CHECK(!weights.defined() || weights.shape() == input.shape(),
           "bincount: {} weights for {} numbers; pass one for each", weights.numel(),
           input.numel());
  const bool widens = weights.defined() && weights.dtype() != f32 && weights.dtype() != f64;
  const Tensor each = !weights.defined() ? constant(input.shape(), 1, input)
                      : widens           ? cast(weights, f64)
                                         : weights;
  std::int64_t length = minlength;
  if (input.numel() > 0) {
    BP_CHECK(item<std::int64_t>(min(input)) >= 0,
             "bincount: a number is below 0; take the smallest off first");
    const std::int64_t largest = item<std::int64_t>(max(input));
    BP_CHECK(largest < std::int64_t{1} << 48,
             "bincount: the largest number is {}, and a count of each smaller one has no room",
             largest);
    length = std::max(length, largest + 1);
  }
  if (input.numel() == 0) return constant({length}, 0, input);
  const Tensor none = full({length}, 0, each.dtype(), input.device());
  return scatter_add(none, 0, in_dtype(input, i64), each);
}

Tensor counted_in_parts(const Tensor& input, std::int64_t bins, const Scalar& min_given,
                        const Scalar& max_given) {
  BP_CHECK(bins > 0, "histc: {} bins; pass 1 or more", bins);
  double low = min_given.to_double(), high = max_given.to_double();
  const Tensor line = in_a_row(input);
  const Tensor none = full({bins}, 0, i64, input.device());
  if (line.numel() == 0) return cast(none, input.dtype());
  if (low == high) {
    low = item<double>(min(line));
    high = item<double>(max(line));
  }
  BP_CHECK(low <= high && low - low == 0 && high - high == 0,
           "histc: parts from {} to {}; pass finite bounds, the larger one last", low, high);
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const Dtype counted_in = input.dtype() == f64 ? f64 : f32;
  const double widest =
      counted_in == f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  BP_CHECK(high - low <= widest,
           "histc: from {} to {} is further than {} reaches; pass closer bounds", low, high,
           name(counted_in));
  const Tensor is_inside = logical_and(ge(line, low), le(line, high));
  const Tensor wide = in_dtype(where(is_inside, line, low), counted_in);
  const Tensor part = mul(div(sub(wide, low), high - low), static_cast<double>(bins));
  const Tensor places = clamp_max(cast(part, i64), bins - 1);
  return cast(scatter_add(none, 0, places, cast(is_inside, i64)), input.dtype());
}

// Sorted, the first of equal ones begins a new element.
UniqueAllResult different_elements(const Tensor& input) {
  const std::int64_t count = input.numel();
  const Tensor line = in_a_row(input);
  if (count == 0) {
    const Tensor none = constant({0}, 0, input);
    return {copy(line), none, constant(input.shape(), 0, input), copy(none)};
  }
  const SortResult sorted = sort(line);
  const Tensor first = full({1}, true, boolean, input.device());
  const Tensor begins = cat(
      {first, ne(narrow(sorted.values, 0, 1, count - 1), narrow(sorted.values, 0, 0, count - 1))});
  const Tensor starts = select(nonzero(begins), 1, 0);
  const Tensor which = sub(cumsum(cast(begins, i64), 0), 1);
  const Tensor inverse = scatter(constant({count}, 0, input), 0, sorted.indices, which);
  const Tensor ends = cat({narrow(starts, 0, 1, starts.numel() - 1), constant({1}, count, input)});
  return {index_select(sorted.values, 0, starts), index_select(sorted.indices, 0, starts),
          reshape(inverse, input.shape()), sub(ends, starts)};
}

// The dimension comes last for the sort. A NaN is sorted behind all else.
Tensor quantile_by_sort(const Tensor& input, double q, std::optional<std::int64_t> dim,
                        bool keepdim, std::string_view interpolation) {
  const SortedLines lines = sorted_lines("quantile", input, q, dim, interpolation);
  const double place = q * static_cast<double>(lines.sorted.size(-1) - 1);
  const auto at = [&](double where_at) {
    return select(lines.sorted, -1, static_cast<std::int64_t>(where_at));
  };
  const double below = std::floor(place), above = std::ceil(place);
  Tensor result;
  if (interpolation == "lower") {
    result = at(below);
  } else if (interpolation == "higher") {
    result = at(above);
  } else if (interpolation == "nearest") {
    result = at(std::nearbyint(place));
  } else {
    const double share = below == above ? 0 : interpolation == "linear" ? place - below : 0.5;
    result = share == 0 ? at(below) : add(at(below), mul(sub(at(above), at(below)), share));
  }
  const Tensor last = at(static_cast<double>(lines.sorted.size(-1) - 1));
  return of_lines(lines, where(eq(last, last), result, last), input, keepdim);
}

// NaN is sorted behind all else, so that the count of the others says where the part `q` lies.
Tensor quantile_without_nan(const Tensor& input, double q, std::optional<std::int64_t> dim,
                            bool keepdim, std::string_view interpolation) {
  const SortedLines lines = sorted_lines("nanquantile", input, q, dim, interpolation);
  const Tensor& sorted = lines.sorted;
  const Tensor count = sum(cast(eq(sorted, sorted), sorted.dtype()), {-1}, true);
  const Tensor place = mul(clamp_min(sub(count, 1), 0), q);
  const Tensor below = floor(place), above = ceil(place);
  const auto at = [&](const Tensor& where_at) { return gather(sorted, -1, cast(where_at, i64)); };
  Tensor result;
  if (interpolation == "lower") {
    result = at(below);
  } else if (interpolation == "higher") {
    result = at(above);
  } else if (interpolation == "nearest") {
    result = at(round(place));
  } else {
    const Tensor low = at(below), is_between = ne(above, below);
    const Tensor share =
        interpolation == "linear" ? sub(place, below) : mul(cast(is_between, place.dtype()), 0.5);
    result = where(is_between, add(low, mul(sub(at(above), low), share)), low);
  }
  return of_lines(lines, squeeze(result, {-1}), input, keepdim);
}

}  // namespace bp
