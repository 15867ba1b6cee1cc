#include "decompositions/resample.hpp"

#include <algorithm>
#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr std::int64_t most_taps = 1 << 12;

// The arguments behind the mode.
struct ResampleRules {
  std::string_view coordinates, nearest_mode;
  double cubic_coeff_a;
  bool exclude_outside, antialias;
  std::optional<double> scale;
  double roi_start, roi_end, extrapolation_value;
};

// One dimension that is resampled: its sizes before and after, and how long it is before the size after is cut to a
// whole number.
struct Axis {
  std::int64_t dim, from, to;
  double ratio, length;
};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> choices) {
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

void check_rules(std::string_view mode, const ResampleRules& rules) {
  BP_CHECK(is_one_of(mode, {"nearest", "linear", "cubic"}),
           "resample: the mode is '{}'; choose 'nearest', 'linear' or 'cubic'", mode);
  BP_CHECK(is_one_of(rules.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners", "asymmetric", "tf_crop_and_resize"}),
           "resample: coordinates is '{}'; choose 'half_pixel', 'half_pixel_symmetric', "
           "'pytorch_half_pixel', 'align_corners', 'asymmetric' or 'tf_crop_and_resize'",
           rules.coordinates);
  BP_CHECK(
      is_one_of(rules.nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}),
      "resample: nearest_mode is '{}'; choose 'round_prefer_floor', 'round_prefer_ceil', "
      "'floor' or 'ceil'",
      rules.nearest_mode);
  BP_CHECK(!rules.scale || (*rules.scale > 0 && std::isfinite(*rules.scale)),
           "resample: the scale is {}; pass a positive number", rules.scale.value_or(0));
}

// The places of the new elements among the old ones. Sizes multiply before they divide, so that places that are whole
// numbers, or lie in the middle, are so exactly.
Tensor places_along(const Axis& axis, const ResampleRules& rules, Dtype dtype, Device device) {
  const Tensor at = cast(arange(0, axis.to, 1, i64, device), dtype);
  const auto from = static_cast<double>(axis.from), to = static_cast<double>(axis.to);
  const auto scaled = [&](const Tensor& places) {
    return rules.scale ? div(places, *rules.scale) : div(mul(places, from), to);
  };
  const bool is_one = axis.length == 1;
  if (rules.coordinates == "align_corners")
    return is_one ? mul(at, 0) : div(mul(at, from - 1), axis.length - 1);
  if (rules.coordinates == "asymmetric") return scaled(at);
  if (rules.coordinates == "tf_crop_and_resize") {
    const double begin = rules.roi_start, end = rules.roi_end;
    if (is_one) return add(mul(at, 0), 0.5 * (begin + end) * (from - 1));
    return add(div(mul(at, (end - begin) * (from - 1)), axis.length - 1), begin * (from - 1));
  }
  if (rules.coordinates == "pytorch_half_pixel" && is_one) return mul(at, 0);
  const Tensor middles = sub(scaled(add(at, 0.5)), 0.5);
  if (rules.coordinates != "half_pixel_symmetric") return middles;
  return add(middles, from / 2 * (1 - to / axis.length));
}

Tensor nearest_places(const Tensor& places, std::string_view mode) {
  if (mode == "floor") return floor(places);
  if (mode == "ceil") return ceil(places);
  return mode == "round_prefer_floor" ? ceil(sub(places, 0.5)) : floor(add(places, 0.5));
}

Tensor elements_at(const Tensor& input, const Axis& axis, const Tensor& places) {
  return index_select(input, axis.dim, cast(clamp(places, 0, axis.from - 1), i64));
}

// Keys' cubic of distances: up to 1, up to 2, and 0 beyond.
Tensor cubic_weights(const Tensor& distance, double a) {
  const Tensor near = add(mul(mul(sub(mul(distance, a + 2), a + 3), distance), distance), 1);
  const Tensor rest = sub(distance, 2);  // a (d - 1) (d - 2)^2, whose terms would cancel near 2
  const Tensor far = mul(mul(mul(sub(distance, 1), a), rest), rest);
  return where(le(distance, 1), near, where(lt(distance, 2), far, 0));
}

// A sum of neighbours, each with its weight. The element on the left lies before the place, never on it.
Tensor weighted_neighbours(const Tensor& input, const Axis& axis, const Tensor& places,
                           bool is_cubic, const ResampleRules& rules) {
  const double shrink = rules.antialias ? std::min(axis.ratio, 1.0) : 1.0;
  const double reach = std::floor((is_cubic ? -2 : -1) / shrink) + 1;
  BP_CHECK(reach > -most_taps,
           "resample: from {} to {} elements with antialias; shrink it in steps", axis.from,
           axis.to);
  const auto first = static_cast<std::int64_t>(reach), count = 2 - 2 * first;
  const Tensor left = reshape(sub(ceil(places), 1), {axis.to, 1});
  const Tensor part = sub(reshape(places, {axis.to, 1}), left);
  const Tensor offsets = cast(arange(first, first + count, 1, i64, input.device()), places.dtype());
  const Tensor distance = mul(abs(sub(offsets, part)), shrink);
  Tensor weights =
      is_cubic ? cubic_weights(distance, rules.cubic_coeff_a) : clamp(sub(1, distance), 0, 1);
  const Tensor at = add(left, offsets);
  if (rules.exclude_outside)
    weights = where(logical_and(ge(at, 0), le(at, axis.from - 1)), weights, 0);
  if (rules.exclude_outside || shrink < 1) weights = div(weights, sum(weights, 1, true));
  Dims split(input.shape()), apart(static_cast<std::uint32_t>(input.ndim()) + 1, 1);
  const auto place = static_cast<std::size_t>(axis.dim);
  split[place] = apart[place] = axis.to;
  split.insert(place + 1, count);
  apart[place + 1] = count;
  const Tensor taken = reshape(elements_at(input, axis, reshape(at, {axis.to * count})), split);
  return sum(mul(taken, reshape(weights, apart)), axis.dim + 1);
}

Tensor resampled_along(const Tensor& input, const Axis& axis, std::string_view mode,
                       const ResampleRules& rules) {
  const bool is_part = rules.coordinates == "tf_crop_and_resize";
  if (axis.from == axis.to && axis.ratio == 1 && !is_part) return input;
  const Tensor places = places_along(axis, rules, input.dtype() == f64 ? f64 : f32, input.device());
  const Tensor result = mode == "nearest"
                            ? elements_at(input, axis, nearest_places(places, rules.nearest_mode))
                            : weighted_neighbours(input, axis, places, mode == "cubic", rules);
  if (!is_part) return result;
  const Tensor is_inside = logical_and(ge(places, 0), le(places, axis.from - 1));
  return where(along_dim(is_inside, axis.dim, input.ndim()), result, rules.extrapolation_value);
}

}  // namespace

Tensor resampled(const Tensor& input, IntList size, DimList dim, std::string_view mode,
                 std::string_view coordinates, std::string_view nearest_mode, double cubic_coeff_a,
                 bool exclude_outside, bool antialias, std::optional<double> scale,
                 double roi_start, double roi_end, double extrapolation_value) {
  const ResampleRules rules{coordinates, nearest_mode, cubic_coeff_a, exclude_outside,    antialias,
                            scale,       roi_start,    roi_end,       extrapolation_value};
  check_rules(mode, rules);
  BP_CHECK(is_floating(input.dtype()), "resample: input is {}; cast it to float32",
           name(input.dtype()));
  const auto rank = static_cast<std::size_t>(input.ndim());
  const std::size_t count = dim.list() ? dim.list()->size() : rank;
  BP_CHECK(size.size() == count, "resample: {} sizes for {} dimensions; pass one for each",
           size.size(), count);
  Tensor result = widened(input);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t given = dim.list() ? (*dim.list())[i] : static_cast<std::int64_t>(i);
    const std::int64_t at = wrap_dim("resample", given, input.ndim());
    BP_CHECK(rank > 0 && !(seen >> at & 1u),
             "resample: dimension {} of shape {} is listed twice or does not exist; list each once",
             given, to_string(input.shape()));
    seen |= std::uint64_t{1} << at;
    const std::int64_t from = input.size(at), to = size[i];
    if (from == 0 && to == 0) continue;
    constexpr std::int64_t most = std::int64_t{1} << 24;  // whose numbers float32 holds
    BP_CHECK(from > 0 && from <= most && to > 0 && to <= most,
             "resample: from {} to {} elements; both need to be 1 or more, and at most {}", from,
             to, most);
    const double ratio = rules.scale.value_or(static_cast<double>(to) / static_cast<double>(from));
    const double length =
        rules.scale ? *rules.scale * static_cast<double>(from) : static_cast<double>(to);
    result = resampled_along(result, {at, from, to, ratio, length}, mode, rules);
  }
  return fresh(in_dtype(result, input.dtype()), input);
}

}  // namespace bp
