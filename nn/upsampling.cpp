#include <algorithm>
#include <cmath>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/upsampling.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

constexpr std::string_view all_modes[] = {"nearest",   "nearest-exact", "linear", "bilinear",
                                          "trilinear", "bicubic",       "area"};

// One dimension to `size`, read in steps of 1 / `scale` as PyTorch does for a given factor.
Tensor resampled(const Tensor& x, std::int64_t dim, std::int64_t size, double scale,
                 std::string_view mode, bool align_corners) {
  // Where a size stays or doubles, PyTorch's nearest mode of two dimensions goes by the sizes, whatever the factor, as
  // its linear ones do where it stays.
  const bool stays = x.size(dim) == size, doubles = 2 * x.size(dim) == size;
  const bool is_linear = mode.find("linear") != mode.npos;
  if (is_linear && stays) return x;
  if (mode == "nearest" && x.ndim() == 4 && (stays || doubles)) scale = doubles ? 2 : 1;
  const bool nearest = mode == "nearest" || mode == "nearest-exact";
  const char* kind = nearest ? "nearest" : mode == "bicubic" ? "cubic" : "linear";
  const char* coordinates = align_corners       ? "align_corners"
                            : mode == "nearest" ? "asymmetric"
                                                : "half_pixel";
  const char* nearest_mode = mode == "nearest" ? "floor" : "round_prefer_ceil";
  return resample(x, {size}, dim, kind, coordinates, nearest_mode, -0.75, false, false,
                  align_corners ? std::nullopt : std::optional(scale));
}

}  // namespace

Upsample::Upsample(const UpsampleOptions& options) : options_(options) {
  BP_CHECK(options.size.is_given() != !options.scale_factor.empty(),
           "Upsample: size is {} and scale_factor has {} numbers; pass one of the two",
           options.size.text(), options.scale_factor.size());
  BP_CHECK(
      std::find(std::begin(all_modes), std::end(all_modes), options.mode) != std::end(all_modes),
      "Upsample: mode is '{}'; pass 'nearest', 'nearest-exact', 'linear', 'bilinear', "
      "'trilinear', 'bicubic' or 'area'",
      options.mode);
  for (std::int64_t size : options.size.list())
    BP_CHECK(size > 0, "Upsample: size is {}; pass sizes of 1 or more", options.size.text());
  for (double factor : options.scale_factor)
    BP_CHECK(factor > 0, "Upsample: scale_factor is {}; pass factors above 0", factor);
  const bool has_corners =
      options.mode.find("linear") != std::string::npos || options.mode == "bicubic";
  BP_CHECK(!options.align_corners || has_corners,
           "Upsample: mode '{}' takes no align_corners; leave it out", options.mode);
}

Tensor Upsample::forward(const Tensor& x) const {
  BP_CHECK(x.ndim() >= 3 && x.ndim() <= 5,
           "Upsample: the input is {}; pass [N, C, ...] with one to three more dimensions",
           to_string(x.shape()));
  const bool align_corners = options_.align_corners.value_or(false);
  const auto rank = static_cast<std::size_t>(x.ndim()) - 2;
  if (options_.size.is_given())
    return interpolate(x, options_.size.each(rank, "Upsample", "size", 1).list(), options_.mode,
                       align_corners);
  std::vector<double> factors = options_.scale_factor;
  if (factors.size() == 1) factors.assign(rank, factors[0]);
  BP_CHECK(factors.size() == rank, "Upsample: {} factors for an input of {}; pass one, or {}",
           factors.size(), to_string(x.shape()), rank);
  std::vector<std::int64_t> sizes(rank);
  bool is_exact = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const double size = static_cast<double>(x.shape()[i + 2]) * factors[i];
    BP_CHECK(size < static_cast<double>(most_of_each),
             "Upsample: scale_factor {} makes {} elements of the {} at dimension {}; scale by less",
             factors[i], size, x.shape()[i + 2], i + 2);
    sizes[i] = static_cast<std::int64_t>(std::floor(size));
    is_exact &= static_cast<double>(sizes[i]) == size;
  }
  if (is_exact || options_.recompute_scale_factor || options_.mode == "area")
    return interpolate(x, sizes, options_.mode, align_corners);
  Tensor result = x;
  for (std::size_t i = 0; i < rank; ++i)
    result = resampled(result, static_cast<std::int64_t>(i) + 2, sizes[i], factors[i],
                       options_.mode, align_corners);
  return result;
}

std::string Upsample::extra_repr() const {
  std::string text = "size=" + options_.size.text();
  if (!options_.scale_factor.empty()) {
    text.clear();
    for (double factor : options_.scale_factor) text += (text.empty() ? "" : ", ") + repr(factor);
    if (options_.scale_factor.size() > 1) text = "(" + text + ")";
    text = "scale_factor=" + text;
  }
  return text + ", mode='" + options_.mode + "'";
}

}  // namespace bp::nn
