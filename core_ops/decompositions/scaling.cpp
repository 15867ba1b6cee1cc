#include "decompositions/scaling.hpp"

#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

Dims all_dims_but(std::int64_t kept, std::int64_t rank) {
  Dims dims;
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != kept) dims.push_back(d);
  return dims;
}

}  // namespace

Tensor ones_at_largest(const Tensor& input, std::int64_t dim) {
  const std::int64_t at = wrap_dim("hardmax", dim, input.ndim());
  if (input.numel() == 0) return copy(input);
  if (input.ndim() == 0) return full({}, 1, input.dtype(), input.device());
  const Tensor places = arange(0, input.size(at), 1, i64, input.device());
  return cast(eq(argmax(input, at, true), along_dim(places, at, input.ndim())), input.dtype());
}

// By a norm, whose derivative is 0 where all elements are equal; a root's is infinite there.
Tensor without_mean_over_deviation(const Tensor& input, DimList dim) {
  BP_CHECK(dim.list() || input.ndim() >= 2,
           "mean_variance_normalization: the shape is {}; pass [N, C, ...], or say `dim`",
           to_string(input.shape()));
  Dims dims = dim.list() ? Dims(*dim.list()) : all_dims_but(1, input.ndim());
  for (std::int64_t& d : dims) d = wrap_dim("mean_variance_normalization", d, input.ndim());
  const Tensor wide = widened(input);
  const Tensor centered = sub(wide, mean(wide, dims, true));
  const double count = static_cast<double>(num_reduced(wide, dims));
  const Tensor deviation = mul(norm(centered, 2, dims, true), 1 / std::sqrt(count));
  return in_dtype(div(centered, add(deviation, 1e-9)), input.dtype());
}

// Of few channels: parts of the padded tensor, shifted against each other, which chains add up in one pass.
Tensor sum_of_shifted(const Tensor& squares, std::int64_t dim, std::int64_t size) {
  const std::int64_t channels = squares.size(dim);
  Dims pads(static_cast<std::uint32_t>(2 * (squares.ndim() - dim)), 0);
  pads[pads.size() - 2] = size / 2;
  pads[pads.size() - 1] = (size - 1) / 2;
  const Tensor around = constant_pad_nd(squares, pads, 0);
  Tensor sum = narrow(around, dim, 0, channels);
  for (std::int64_t i = 1; i < size; ++i) sum = add(sum, narrow(around, dim, i, channels));
  return sum;
}

// Of whole numbers it is a whole number, as avg_pool's is.
Tensor mean_of_neighbours(const Tensor& squares, std::int64_t size) {
  const std::int64_t few = is_integral(squares.dtype()) ? 0 : 8;
  const double part = 1 / static_cast<double>(size);
  const bool are_last = squares.ndim() == 4 && !squares.is_contiguous() &&
                        squares.is_contiguous(MemoryFormat::channels_last);
  if (size <= few && are_last)
    return permute(mul(sum_of_shifted(permute(squares, {0, 2, 3, 1}), 3, size), part),
                   {0, 3, 1, 2});
  if (size <= few) return mul(sum_of_shifted(squares, 1, size), part);
  const std::int64_t batch = squares.size(0), channels = squares.size(1);
  const Tensor lines = reshape(squares, {batch, 1, channels, squares.numel() / (batch * channels)});
  const Tensor around = constant_pad_nd(lines, {0, 0, size / 2, (size - 1) / 2});
  return reshape(avg_pool(around, {size, 1}, {1}), squares.shape());
}

Tensor over_neighbouring_channels(const Tensor& input, std::int64_t size, double alpha, double beta,
                                  double k) {
  BP_CHECK(input.ndim() >= 3, "local_response_norm: the shape is {}; pass [N, C, ...]",
           to_string(input.shape()));
  constexpr std::int64_t most = std::int64_t{1} << 31;
  BP_CHECK(size >= 1 && size <= most, "local_response_norm: the size is {}; pass 1 to {}", size,
           most);
  if (input.numel() == 0) return copy(input);
  const Tensor wide = widened(input);
  const Tensor means = mean_of_neighbours(square(wide), size);
  const Tensor normalized = div(wide, pow(add(mul(means, alpha), k), beta));
  return is_integral(input.dtype()) ? normalized : in_dtype(normalized, input.dtype());
}

Tensor direction_times_length(const Tensor& v, const Tensor& g, std::int64_t dim) {
  BP_CHECK(dim >= -1 && dim < v.ndim(),
           "weight_norm: dim is {} for shape {}; pass 0 to {}, or -1 for one norm of all", dim,
           to_string(v.shape()), v.ndim() - 1);
  BP_CHECK(v.dtype() == g.dtype(), "weight_norm: v is {} and g is {}; cast one of them",
           name(v.dtype()), name(g.dtype()));
  Dims shape;
  for (std::int64_t d = 0; dim >= 0 && d < v.ndim(); ++d) shape.push_back(d == dim ? v.size(d) : 1);
  BP_CHECK(g.shape() == shape || (dim < 0 && g.numel() == 1),
           "weight_norm: g has shape {} for v of {}; it needs {}", to_string(g.shape()),
           to_string(v.shape()), to_string(shape));
  const Tensor wide = widened(v);
  const Tensor length = dim < 0         ? norm(wide)
                        : v.ndim() == 1 ? abs(wide)  // no dimension is left to take a norm over
                                        : norm(wide, 2, all_dims_but(dim, v.ndim()), true);
  const Tensor factor = div(widened(dim < 0 ? reshape(g, {}) : g), length);
  return in_dtype(mul(wide, factor), v.dtype());
}

}  // namespace bp
