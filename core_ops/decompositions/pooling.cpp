#include "decompositions/pooling.hpp"

#include <algorithm>
#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/operators.hpp>

#include "decompositions/windows.hpp"

namespace bp {
namespace {

// ---- Maxima

Tensor counting(std::int64_t count, const Tensor& like) {
  return arange(0, count, 1, Dtype::i64, like.device());
}

// [windows, kernel]: the coordinates that each window of one dimension takes. One outside is moved by
// whole dilations to the first inside.
Tensor coordinates_of_windows(const Tensor& like, std::int64_t size, std::int64_t windows,
                              std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                              std::int64_t dilation) {
  const Tensor starts = reshape(counting(windows, like) * stride - padding, {windows, 1});
  Tensor at = starts + counting(kernel, like) * dilation;
  for (std::int64_t below = padding; below > 0; below -= dilation)
    at = where(at < 0, at + dilation, at);
  const std::int64_t last = (windows - 1) * stride - padding + (kernel - 1) * dilation;
  for (std::int64_t above = last - size + 1; above > 0; above -= dilation)
    at = where(at >= size, at - dilation, at);
  return at;
}

// Only a kernel of two with a dilation that steps over all that there is has no element inside, and it is the one window.
bool is_padding_alone(std::int64_t size, std::int64_t kernel, std::int64_t padding,
                      std::int64_t dilation) {
  return kernel == 2 && padding == 1 && dilation > size;
}

Scalar lowest(Dtype dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (contains(set_of(u8, u16, u32, u64), dtype)) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * itemsize(dtype));
}

// The least and the one past the greatest coordinate of each of `count` windows that cover a dimension.
struct Cover {
  Tensor begin, end;
  std::int64_t longest;
};

// By counting coordinates, since whole numbers do not divide exactly on every device: floor(i * size / n)
// of them have (j + 1) * n <= i * size, and ceil((i + 1) * size / n) have j * n < (i + 1) * size.
Cover cover(const Tensor& like, std::int64_t size, std::int64_t count) {
  const Tensor window = reshape(counting(count, like), {count, 1}) * size;
  const Tensor place = counting(size, like) * count;
  Cover found{sum(place + count <= window, 1, true), sum(place < window + size, 1, true), 0};
  for (std::int64_t i = 0; i < count; ++i)
    found.longest =
        std::max(found.longest, ((i + 1) * size + count - 1) / count - i * size / count);
  return found;
}

// [windows, longest]: shorter ones repeat their last coordinate.
Tensor coordinates_of_cover(const Tensor& like, std::int64_t size, std::int64_t count) {
  const Cover covered = cover(like, size, count);
  return minimum(covered.begin + counting(covered.longest, like), covered.end - 1);
}

// [batch, channels, windows..., kernel of all dimensions]: what lies at the coordinates.
Tensor gathered(const Tensor& input, const std::vector<Tensor>& coordinates) {
  const auto rank = static_cast<std::int64_t>(coordinates.size());
  Tensor taken = input;
  Dims split{input.shape()[0], input.shape()[1]}, order{0, 1},
      shape{input.shape()[0], input.shape()[1]};
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    const Tensor& table = coordinates[static_cast<std::size_t>(dim)];
    taken = index_select(taken, dim + 2, reshape(table, {-1}));
    split.push_back(table.shape()[0]);
    split.push_back(table.shape()[1]);
    order.push_back(2 + 2 * dim);
    shape.push_back(table.shape()[0]);
  }
  std::int64_t each = 1;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    order.push_back(3 + 2 * dim);
    each *= split[static_cast<std::size_t>(3 + 2 * dim)];
  }
  shape.push_back(each);
  return reshape(permute(reshape(taken, split), order), shape);
}

// [windows..., kernel of all dimensions]: the place in the plane of each element of each window.
Tensor places_of(const std::vector<Tensor>& coordinates, IntList size) {
  const std::size_t rank = coordinates.size();
  Tensor places;
  Dims shape;
  std::int64_t each = 1;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const Tensor& table = coordinates[dim];
    Dims apart(static_cast<std::uint32_t>(2 * rank), 1);
    apart[dim] = table.shape()[0];
    apart[rank + dim] = table.shape()[1];
    const Tensor along = reshape(table, apart);
    places = places.defined() ? places * size[dim] + along : along;
    shape.push_back(table.shape()[0]);
    each *= table.shape()[1];
  }
  shape.push_back(each);
  return reshape(places, shape);
}

struct Largest {
  Tensor values, indices;
};

Largest largest_at(const Tensor& input, const std::vector<Tensor>& coordinates) {
  const Tensor windows = gathered(input, coordinates);
  const Tensor places = places_of(coordinates, behind(input.shape(), 2));
  const Tensor chosen = unsqueeze(argmax(windows, -1), -1);
  return {max(windows, -1), squeeze(gather(expand(places, windows.shape()), -1, chosen), -1)};
}

// ---- Means

struct Windows {
  IntList kernel, stride, padding;
  Dims size;   // of the input's plane
  Dims count;  // of windows

  std::int64_t stride_of(std::size_t dim) const {
    return of_dim(stride.empty() ? kernel : stride, dim);
  }
  Dims kernel_sizes() const {
    Dims sizes;
    for (std::size_t dim = 0; dim < size.size(); ++dim) sizes.push_back(of_dim(kernel, dim));
    return sizes;
  }
};

Windows windows_over(IntList size, IntList kernel, IntList stride, IntList padding,
                     bool ceil_mode) {
  Windows windows{kernel, stride, padding, behind(size, 2), {}};
  for (std::size_t dim = 0; dim < windows.size.size(); ++dim)
    windows.count.push_back(num_pool_windows(windows.size[dim], of_dim(kernel, dim),
                                             windows.stride_of(dim), of_dim(padding, dim), 1,
                                             ceil_mode));
  return windows;
}

// [windows]: how many elements each window of one dimension has.
Tensor counts_along(const Tensor& like, const Windows& windows, std::size_t dim,
                    bool with_padding) {
  const std::int64_t size = windows.size[dim], padding = of_dim(windows.padding, dim);
  const Tensor begin = counting(windows.count[dim], like) * windows.stride_of(dim) - padding;
  const auto limit = [&](std::int64_t value) { return full({}, value, Dtype::i64, like.device()); };
  const Tensor end = minimum(begin + of_dim(windows.kernel, dim), limit(size + padding));
  return with_padding ? end - begin : minimum(end, limit(size)) - maximum(begin, limit(0));
}

// Do all windows have as many elements as the kernel?
bool are_alike(const Windows& windows, bool with_padding) {
  for (std::size_t dim = 0; dim < windows.size.size(); ++dim) {
    const std::int64_t padding = of_dim(windows.padding, dim);
    const std::int64_t end =
        (windows.count[dim] - 1) * windows.stride_of(dim) - padding + of_dim(windows.kernel, dim);
    if (padding != 0 && !with_padding) return false;
    if (end > windows.size[dim] + padding) return false;
  }
  return true;
}

// Whole numbers lose their fraction, as in PyTorch.
template <class Divisor> Tensor quotient(const Tensor& sums, const Divisor& divisor) {
  if (!is_integral(sums.dtype())) return div(sums, divisor);
  return floor_divide(sub(sums, fmod(sums, divisor)), divisor);
}

// Sums over windows become means; gradients of means those of sums.
Tensor divided(const Tensor& sums, const Windows& windows, bool with_padding,
               std::optional<std::int64_t> divisor) {
  if (divisor) return quotient(sums, *divisor);
  if (are_alike(windows, with_padding)) return quotient(sums, product_of(windows.kernel_sizes()));
  Tensor counts;
  const std::size_t rank = windows.size.size();
  for (std::size_t dim = 0; dim < rank; ++dim) {
    Dims apart(static_cast<std::uint32_t>(rank), 1);
    apart[dim] = windows.count[dim];
    const Tensor along = reshape(counts_along(sums, windows, dim, with_padding), apart);
    counts = counts.defined() ? counts * along : along;
  }
  return quotient(sums, cast(counts, sums.dtype()));
}

// Over every place of the kernel at once.
Tensor summed(const Tensor& input, IntList kernel, IntList windows, IntList stride) {
  Dims dims;
  for (std::size_t dim = 0; dim < kernel.size(); ++dim)
    dims.push_back(static_cast<std::int64_t>(dim) + 2);
  return sum(windows_of(input, kernel, windows, stride, {1}), dims);
}

}  // namespace

MaxPoolWithIndicesResult max_pool_by_gather(const Tensor& input, IntList kernel_size,
                                            IntList stride, IntList padding, IntList dilation,
                                            bool ceil_mode) {
  std::vector<Tensor> coordinates;
  Dims shape{input.shape()[0], input.shape()[1]};
  bool has_elements = true;
  for (std::size_t dim = 0; dim + 2 < input.shape().size(); ++dim) {
    const std::int64_t size = input.shape()[dim + 2], kernel = of_dim(kernel_size, dim);
    const std::int64_t step = of_dim(stride.empty() ? kernel_size : stride, dim);
    const std::int64_t before = of_dim(padding, dim), apart = of_dim(dilation, dim);
    const std::int64_t windows = num_pool_windows(size, kernel, step, before, apart, ceil_mode);
    shape.push_back(windows);
    if (is_padding_alone(size, kernel, before, apart)) has_elements = false;
    coordinates.push_back(
        coordinates_of_windows(input, size, windows, kernel, step, before, apart));
  }
  if (!has_elements)
    return {full(shape, lowest(input.dtype()), input.dtype(), input.device()),
            full(shape, 0, Dtype::i64, input.device())};
  auto [values, indices] = largest_at(input, coordinates);
  return {std::move(values), std::move(indices)};
}

AdaptiveMaxPoolWithIndicesResult adaptive_max_pool_by_gather(const Tensor& input,
                                                             IntList output_size) {
  std::vector<Tensor> coordinates;
  for (std::size_t dim = 0; dim + 2 < input.shape().size(); ++dim)
    coordinates.push_back(
        coordinates_of_cover(input, input.shape()[dim + 2], of_dim(output_size, dim)));
  auto [values, indices] = largest_at(input, coordinates);
  return {std::move(values), std::move(indices)};
}

Tensor max_pool_backward_by_scatter(const Tensor& grad_output, const Tensor& indices,
                                    IntList size) {
  const Dims flat{size[0], size[1], product_of(behind(grad_output.shape(), 2))};
  const Tensor planes = full({size[0], size[1], product_of(behind(size, 2))}, 0,
                             grad_output.dtype(), grad_output.device());
  return reshape(scatter_add(planes, 2, reshape(indices, flat), reshape(grad_output, flat)), size);
}

Tensor avg_pool_by_sums(const Tensor& input, IntList kernel_size, IntList stride, IntList padding,
                        bool ceil_mode, bool count_include_pad,
                        std::optional<std::int64_t> divisor_override) {
  const Windows windows = windows_over(input.shape(), kernel_size, stride, padding, ceil_mode);
  Spread spreads[3];
  Dims steps;
  for (std::size_t dim = 0; dim < windows.size.size(); ++dim) {
    const std::int64_t before = of_dim(padding, dim);
    const std::int64_t end =
        (windows.count[dim] - 1) * windows.stride_of(dim) + of_dim(kernel_size, dim);
    spreads[dim] = {std::max(end, windows.size[dim] + before), before, 1};
    steps.push_back(windows.stride_of(dim));
  }
  const Tensor sums =
      summed(spread_out(input, spreads), windows.kernel_sizes(), windows.count, steps);
  return divided(sums, windows, count_include_pad, divisor_override);
}

// An element gets the gradients of the windows that have it: those that begin within a kernel's size before
// it. So it is a sum over windows of the gradients, laid out where the windows begin.
Tensor avg_pool_backward_by_sums(const Tensor& grad_output, IntList size, IntList kernel_size,
                                 IntList stride, IntList padding, bool ceil_mode,
                                 bool count_include_pad,
                                 std::optional<std::int64_t> divisor_override) {
  const Windows windows = windows_over(size, kernel_size, stride, padding, ceil_mode);
  Spread spreads[3];
  for (std::size_t dim = 0; dim < windows.size.size(); ++dim) {
    const std::int64_t most = of_dim(kernel_size, dim) - 1;
    spreads[dim] = {windows.size[dim] + most, most - of_dim(padding, dim), windows.stride_of(dim)};
  }
  const Tensor shares = divided(grad_output, windows, count_include_pad, divisor_override);
  return summed(spread_out(shares, spreads), windows.kernel_sizes(), windows.size, {1});
}

Tensor max_pool_over(std::int64_t rank, const char* name, const Tensor& input, IntList kernel_size,
                     IntList stride, IntList padding, IntList dilation, bool ceil_mode) {
  return with_batch(rank, name, input, [&](const Tensor& batch) {
    return max_pool_with_indices(batch, kernel_size, stride, padding, dilation, ceil_mode).values;
  });
}

Tensor avg_pool_over(std::int64_t rank, const char* name, const Tensor& input, IntList kernel_size,
                     IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                     std::optional<std::int64_t> divisor_override) {
  return with_batch(rank, name, input, [&](const Tensor& batch) {
    return avg_pool(batch, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override);
  });
}

Tensor adaptive_max_pool_over(std::int64_t rank, const char* name, const Tensor& input,
                              IntList output_size) {
  return with_batch(rank, name, input, [&](const Tensor& batch) {
    return adaptive_max_pool_with_indices(batch, output_size).values;
  });
}

namespace {

// Means over windows of unequal sizes along one dimension.
Tensor means_along(const Tensor& input, std::int64_t dim, std::int64_t count) {
  const std::int64_t size = input.size(dim);
  const Cover covered = cover(input, size, count);
  const Tensor at = covered.begin + counting(covered.longest, input);
  Dims apart(static_cast<std::uint32_t>(input.ndim() + 1), 1), split(input.shape());
  const auto place = static_cast<std::size_t>(dim);
  apart[place] = split[place] = count;
  split.insert(place + 1, covered.longest);
  const Tensor counts = reshape(cast(covered.end - covered.begin, input.dtype()), apart);
  apart[place + 1] = covered.longest;
  const Tensor inside = reshape(at < covered.end, apart);
  const Tensor taken = index_select(input, dim, reshape(minimum(at, covered.end - 1), {-1}));
  const Tensor kept =
      where(inside, reshape(taken, split), full({}, 0, input.dtype(), input.device()));
  return sum(kept / counts, dim + 1);
}

Tensor adaptive_means(const Tensor& input, IntList output_size) {
  const IntList size = behind(input.shape(), 2);
  bool is_even = true;
  Dims kernel;
  for (std::size_t dim = 0; dim < size.size(); ++dim) {
    const std::int64_t count = of_dim(output_size, dim);
    is_even = is_even && count > 0 && size[dim] > 0 && size[dim] % count == 0;
    kernel.push_back(is_even ? size[dim] / count : 1);
  }
  if (is_even) return avg_pool(input, kernel);
  Tensor means = input;
  for (std::size_t dim = 0; dim < size.size(); ++dim)
    means = means_along(means, static_cast<std::int64_t>(dim) + 2, of_dim(output_size, dim));
  return means;
}

}  // namespace

Tensor adaptive_avg_pool_over(std::int64_t rank, const char* name, const Tensor& input,
                              IntList output_size) {
  BP_CHECK(output_size.size() == 1 || static_cast<std::int64_t>(output_size.size()) == rank,
           "{}: output_size {} has {} elements for {} dimensions; give one, or one for each", name,
           to_string(output_size), output_size.size(), rank);
  for (std::int64_t size : output_size)
    BP_CHECK(size >= 0, "{}: output_size {} has {}; it must be at least 0", name,
             to_string(output_size), size);
  return with_batch(rank, name, input,
                    [&](const Tensor& batch) { return adaptive_means(batch, output_size); });
}

}  // namespace bp
