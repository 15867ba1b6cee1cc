#include "decompositions/resampling.hpp"

#include <array>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// Whose numbers float32 holds.
constexpr std::int64_t most_places = std::int64_t{1} << 24;

// ---- Other sizes: one dimension after the other -----------------------------------------------------------

// Along `dim` the elements at `places`, whole numbers in a floating dtype.
Tensor taken(const Tensor& input, std::int64_t dim, const Tensor& places) {
  return index_select(input, dim, cast(clamp(places, 0, input.size(dim) - 1), i64));
}

Tensor weighted(const Tensor& input, std::int64_t dim, const Tensor& places, const Tensor& parts) {
  return mul(taken(input, dim, places),
             along_dim(in_dtype(parts, input.dtype()), dim, input.ndim()));
}

Tensor numbers_to(std::int64_t to, Dtype dtype, Device device) {
  return cast(arange(0, to, 1, i64, device), dtype);
}

// PyTorch finds these places in float32.
Tensor nearest_along(const Tensor& input, std::int64_t dim, std::int64_t to, double shift) {
  const float scale = static_cast<float>(input.size(dim)) / static_cast<float>(to);
  const Tensor at = numbers_to(to, f32, input.device());
  return taken(input, dim,
               floor(mul(shift == 0 ? at : add(at, shift), static_cast<double>(scale))));
}

// Where the new elements lie among the old ones; made on the device, so that nothing waits for it.
Tensor source_places(const Tensor& input, std::int64_t dim, std::int64_t to, bool align_corners) {
  const auto old = static_cast<double>(input.size(dim)), now = static_cast<double>(to);
  const Tensor at = numbers_to(to, input.dtype() == f64 ? f64 : f32, input.device());
  if (align_corners) return mul(at, to > 1 ? (old - 1) / (now - 1) : 0.0);
  const double scale = old / now;
  return add(mul(at, scale), 0.5 * scale - 0.5);
}

Tensor linear_along(const Tensor& input, std::int64_t dim, std::int64_t to, bool align_corners) {
  const Tensor place = clamp(source_places(input, dim, to, align_corners), 0, input.size(dim) - 1);
  const Tensor below = floor(place), part = sub(place, below);
  return add(weighted(input, dim, below, sub(1, part)), weighted(input, dim, add(below, 1), part));
}

// Keys' cubic with a = -0.75, of a distance up to 1 and from 1 to 2.
Tensor near_part(const Tensor& x) {
  constexpr double a = -0.75;
  return add(mul(mul(sub(mul(x, a + 2), a + 3), x), x), 1);
}
Tensor far_part(const Tensor& x) {
  constexpr double a = -0.75;
  return sub(mul(add(mul(sub(mul(x, a), 5 * a), x), 8 * a), x), 4 * a);
}

Tensor cubic_along(const Tensor& input, std::int64_t dim, std::int64_t to, bool align_corners) {
  const Tensor place = source_places(input, dim, to, align_corners);
  const Tensor below = floor(place), part = sub(place, below);
  const Tensor left = add(weighted(input, dim, sub(below, 1), far_part(add(part, 1))),
                          weighted(input, dim, below, near_part(part)));
  const Tensor right = add(weighted(input, dim, add(below, 1), near_part(sub(1, part))),
                           weighted(input, dim, add(below, 2), far_part(sub(2, part))));
  return add(left, right);
}

Tensor averaged(const Tensor& input, IntList size) {
  if (size.size() == 1) return adaptive_avg_pool1d(input, size);
  return size.size() == 2 ? adaptive_avg_pool2d(input, size) : adaptive_avg_pool3d(input, size);
}

// ---- Windows --------------------------------------------------------------------------------------------------

struct ImageWindows {
  std::array<std::int64_t, 2> kernel, dilation, padding, stride, count, padded;
};

std::array<std::int64_t, 2> pair_of(const char* op, const char* name, IntList values,
                                    std::int64_t least) {
  BP_CHECK(values.size() == 1 || values.size() == 2, "{}: {} has {} numbers; pass one or two", op,
           name, values.size());
  const std::array<std::int64_t, 2> pair{values[0], values[values.size() - 1]};
  constexpr std::int64_t most = std::int64_t{1} << 28;  // two of them multiplied stay in int64
  BP_CHECK(pair[0] >= least && pair[1] >= least && pair[0] <= most && pair[1] <= most,
           "{}: {} is {}; pass {} to {}", op, name, to_string(values), least, most);
  return pair;
}

ImageWindows image_windows_of(const char* op, IntList image, IntList kernel_size, IntList dilation,
                              IntList padding, IntList stride) {
  ImageWindows all{pair_of(op, "kernel_size", kernel_size, 1),
                   pair_of(op, "dilation", dilation, 1),
                   pair_of(op, "padding", padding, 0),
                   pair_of(op, "stride", stride, 1),
                   {},
                   {}};
  for (std::size_t d = 0; d < 2; ++d) {
    all.padded[d] = image[d] + 2 * all.padding[d];
    const std::int64_t reach = all.dilation[d] * (all.kernel[d] - 1) + 1;
    BP_CHECK(reach <= all.padded[d],
             "{}: a window reaches over {} elements of {}, padding counted; make it smaller", op,
             reach, all.padded[d]);
    all.count[d] = (all.padded[d] - reach) / all.stride[d] + 1;
  }
  return all;
}

}  // namespace

Tensor resized(const Tensor& input, IntList given, std::string_view mode, bool align_corners) {
  const std::int64_t spatial = input.ndim() - 2;
  BP_CHECK(spatial >= 1 && spatial <= 3,
           "interpolate: the shape is {}; pass [N, C, ...] with one to three more dimensions",
           to_string(input.shape()));
  BP_CHECK(given.size() == 1 || static_cast<std::int64_t>(given.size()) == spatial,
           "interpolate: {} sizes for shape {}; pass one, or one for each of the last dimensions",
           given.size(), to_string(input.shape()));
  Dims size;
  for (std::int64_t d = 0; d < spatial; ++d) {
    size.push_back(given[given.size() == 1 ? 0 : static_cast<std::size_t>(d)]);
    BP_CHECK(size[d] > 0 && size[d] <= most_places && input.size(d + 2) > 0,
             "interpolate: size {} from shape {}; all sizes need to be 1 or more, and at most {}",
             to_string(given), to_string(input.shape()), most_places);
  }
  const bool is_linear = (mode == "linear" && spatial == 1) ||
                         (mode == "bilinear" && spatial == 2) ||
                         (mode == "trilinear" && spatial == 3);
  const bool is_cubic = mode == "bicubic" && spatial == 2;
  const bool is_nearest = mode == "nearest" || mode == "nearest-exact";
  BP_CHECK(is_linear || is_cubic || is_nearest || mode == "area",
           "interpolate: mode '{}' for shape {}; choose 'nearest', 'nearest-exact' or 'area', or "
           "'linear', 'bilinear' or 'bicubic', and 'trilinear' by the number of dimensions",
           mode, to_string(input.shape()));
  BP_CHECK(!align_corners || is_linear || is_cubic,
           "interpolate: mode '{}' takes no align_corners; leave it out", mode);
  if (mode == "area") return averaged(input, size);
  Tensor result = input;
  for (std::int64_t d = 0; d < spatial; ++d) {
    const std::int64_t dim = d + 2, to = size[d];
    result = is_linear  ? linear_along(result, dim, to, align_corners)
             : is_cubic ? cubic_along(result, dim, to, align_corners)
                        : nearest_along(result, dim, to, mode == "nearest" ? 0 : 0.5);
  }
  return result;
}

// The places before the map, [x, y, 1] of each; the maps are a product.
Tensor mapped_places(const Tensor& theta, IntList size, bool align_corners) {
  BP_CHECK(theta.ndim() == 3 && theta.size(1) == 2 && theta.size(2) == 3 && size.size() == 4 &&
               size[0] == theta.size(0),
           "affine_grid: theta has shape {} and size is {}; pass [N, 2, 3] and [N, C, H, W]",
           to_string(theta.shape()), to_string(size));
  const std::int64_t rows = size[2], columns = size[3];
  BP_CHECK(rows > 0 && columns > 0 && rows <= most_places / columns,
           "affine_grid: size {}; an image needs elements, and at most {}", to_string(size),
           most_places);
  const auto places = [&](std::int64_t count) {
    const auto of = static_cast<double>(count);
    const Tensor at = numbers_to(count, theta.dtype() == f64 ? f64 : f32, theta.device());
    if (align_corners) return add(mul(at, count > 1 ? 2 / (of - 1) : 0.0), count > 1 ? -1 : 0);
    return add(mul(at, 2 / of), 1 / of - 1);
  };
  const Dims image{rows, columns};
  const Tensor x = expand(places(columns), image);
  const Tensor y = expand(reshape(places(rows), {rows, 1}), image);
  const Tensor ones = full(image, 1, x.dtype(), theta.device());
  const Tensor base = in_dtype(reshape(stack({x, y, ones}, 2), {rows * columns, 3}), theta.dtype());
  return reshape(matmul(base, transpose(theta, 1, 2)), {size[0], rows, columns, 2});
}

Tensor windows_as_columns(const Tensor& input, IntList kernel_size, IntList dilation,
                          IntList padding, IntList stride) {
  BP_CHECK(input.ndim() == 4, "im2col: the shape is {}; pass [N, C, H, W]",
           to_string(input.shape()));
  const ImageWindows all = image_windows_of("im2col", {input.size(2), input.size(3)}, kernel_size,
                                            dilation, padding, stride);
  Tensor windows =
      constant_pad_nd(input, {all.padding[1], all.padding[1], all.padding[0], all.padding[0]});
  for (std::int64_t d = 0; d < 2; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t reach = all.dilation[at] * (all.kernel[at] - 1) + 1;
    windows = slice(unfold(windows, 2 + d, reach, all.stride[at]), 4 + d, {}, {}, all.dilation[at]);
  }
  // [N, C, windows down, windows across, a window's rows, its columns].
  return copy(reshape(
      permute(windows, {0, 1, 4, 5, 2, 3}),
      {input.size(0), input.size(1) * all.kernel[0] * all.kernel[1], all.count[0] * all.count[1]}));
}

Tensor columns_as_windows(const Tensor& input, IntList output_size, IntList kernel_size,
                          IntList dilation, IntList padding, IntList stride) {
  const auto image = pair_of("col2im", "output_size", output_size, 1);
  const ImageWindows all =
      image_windows_of("col2im", {image[0], image[1]}, kernel_size, dilation, padding, stride);
  const std::int64_t elements = all.kernel[0] * all.kernel[1];
  BP_CHECK(input.ndim() == 3 && input.size(1) % elements == 0 &&
               input.size(2) == all.count[0] * all.count[1],
           "col2im: the shape is {}; windows of {} elements at {} places need [N, C * {}, {}]",
           to_string(input.shape()), elements, all.count[0] * all.count[1], elements,
           all.count[0] * all.count[1]);
  const std::int64_t batch = input.size(0), channels = input.size(1) / elements;
  // The row, or the column, of each of a window's elements in each window.
  const auto places = [&](std::size_t d) {
    const auto steps = [&](std::int64_t count, std::int64_t step) {
      return mul(arange(0, count, 1, i64, input.device()), step);
    };
    return add(reshape(steps(all.kernel[d], all.dilation[d]), {all.kernel[d], 1}),
               steps(all.count[d], all.stride[d]));
  };
  const Tensor down = reshape(places(0), {all.kernel[0], 1, all.count[0], 1});
  const Tensor across = reshape(places(1), {1, all.kernel[1], 1, all.count[1]});
  const std::int64_t line = elements * all.count[0] * all.count[1];
  const Tensor number = reshape(add(mul(down, all.padded[1]), across), {1, line});
  const Tensor none =
      full({batch * channels, all.padded[0] * all.padded[1]}, 0, input.dtype(), input.device());
  const Tensor added = scatter_add(none, 1, expand(number, {batch * channels, line}),
                                   reshape(input, {batch * channels, line}));
  const Tensor whole = reshape(added, {batch, channels, all.padded[0], all.padded[1]});
  return copy(narrow(narrow(whole, 2, all.padding[0], image[0]), 3, all.padding[1], image[1]));
}

}  // namespace bp
