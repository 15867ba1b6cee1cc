#include "decompositions/arranging.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// The dimension, and the tensor that has it: without one all elements in a row.
struct Line {
  Tensor input;
  std::int64_t dim;
};
Line line_of(const char* op, const Tensor& input, std::optional<std::int64_t> dim) {
  if (!dim || input.ndim() == 0) {
    if (dim) wrap_dim(op, *dim, 0);
    return {reshape(input, {input.numel()}), 0};
  }
  return {input, wrap_dim(op, *dim, input.ndim())};
}

void check_shuffle_factor(const char* op, std::int64_t factor) {
  BP_CHECK(factor > 0 && factor < 1 << 20, "{}: the factor is {}; pass 1 to {}", op, factor,
           (1 << 20) - 1);
}

}  // namespace

Tensor moved_dims(const Tensor& input, IntList source, IntList destination) {
  BP_CHECK(source.size() == destination.size(),
           "movedim: {} dimensions and {} places; pass a place for each", source.size(),
           destination.size());
  const auto rank = static_cast<std::uint32_t>(input.ndim());
  Dims order(rank, -1);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::int64_t from = wrap_dim("movedim", source[i], input.ndim());
    const std::int64_t to = wrap_dim("movedim", destination[i], input.ndim());
    if (input.ndim() == 0) continue;
    BP_CHECK(
        !(moved >> from & 1u) && order[to] < 0,
        "movedim: dimension {} to place {}, of which one is taken in {} and {}; list each once",
        from, to, to_string(source), to_string(destination));
    order[to] = from;
    moved |= std::uint64_t{1} << from;
  }
  std::int64_t next = 0;
  for (std::int64_t& from : order) {
    if (from >= 0) continue;
    while (moved >> next & 1u) ++next;
    from = next++;
  }
  return permute(input, order);
}

Tensor split_dim(const Tensor& input, std::int64_t dim, IntList sizes) {
  BP_CHECK(input.ndim() > 0, "unflatten: a 0-dim tensor has nothing to split; reshape it");
  BP_CHECK(!sizes.empty(), "unflatten: no sizes; pass at least one");
  const std::int64_t at = wrap_dim("unflatten", dim, input.ndim()), whole = input.size(at);
  std::int64_t known = 1, found = -1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    BP_CHECK(sizes[i] >= 0 || (sizes[i] == -1 && found < 0),
             "unflatten: the sizes are {}; one may be -1, and none else below 0", to_string(sizes));
    if (sizes[i] == -1)
      found = static_cast<std::int64_t>(i);
    else
      known = checked_numel("unflatten", {known, sizes[i]});
  }
  BP_CHECK(found < 0 ? known == whole : known > 0 && whole % known == 0,
           "unflatten: sizes {} for dimension {} of {} elements; make their product that",
           to_string(sizes), at, whole);
  Dims shape;
  for (std::int64_t d = 0; d < input.ndim(); ++d) {
    if (d != at) {
      shape.push_back(input.size(d));
      continue;
    }
    for (const std::int64_t size : sizes) shape.push_back(size == -1 ? whole / known : size);
  }
  return reshape(input, shape);
}

Tensor tiled(const Tensor& input, IntList dims) {
  Dims repeats;
  for (std::int64_t d = static_cast<std::int64_t>(dims.size()); d < input.ndim(); ++d)
    repeats.push_back(1);
  for (const std::int64_t times : dims) repeats.push_back(times);
  return repeat(input, repeats);
}

Tensor each_repeated(const Tensor& input, std::int64_t repeats, std::optional<std::int64_t> dim) {
  BP_CHECK(repeats >= 0, "repeat_interleave: {} times; pass 0 or more", repeats);
  const Line line = line_of("repeat_interleave", input, dim);
  Dims wide(line.input.shape()), shape(line.input.shape());
  shape[line.dim] = checked_numel("repeat_interleave", {shape[line.dim], repeats});
  wide.push_back(0);
  for (std::int64_t d = static_cast<std::int64_t>(wide.size()) - 1; d > line.dim + 1; --d)
    wide[d] = wide[d - 1];
  wide[line.dim + 1] = repeats;
  return reshape(copy(expand(unsqueeze(line.input, line.dim + 1), wide)), shape);
}

// Which slice stands at a place: the one before whose end it lies.
Tensor each_repeated_by(const Tensor& input, const Tensor& repeats,
                        std::optional<std::int64_t> dim) {
  BP_CHECK(is_integral(repeats.dtype()) && repeats.ndim() <= 1,
           "repeat_interleave: repeats is {} of shape {}; pass a vector of whole numbers",
           name(repeats.dtype()), to_string(repeats.shape()));
  const Line line = line_of("repeat_interleave", input, dim);
  const std::int64_t size = line.input.size(line.dim);
  BP_CHECK(repeats.numel() == 1 || repeats.numel() == size,
           "repeat_interleave: {} repeats for {} slices; pass one for each, or one for all",
           repeats.numel(), size);
  if (size == 0) return copy(line.input);
  const Tensor times = expand(reshape(cast(repeats, i64), {repeats.numel()}), {size});
  BP_CHECK(item<std::int64_t>(min(times)) >= 0,
           "repeat_interleave: a number of repeats is below 0; pass 0 or more");
  const float count = item<float>(sum(cast(times, f32)));
  BP_CHECK(count < 0x1p62f, "repeat_interleave: {:g} slices in all; there is no room for so many",
           count);
  const Tensor ends = cumsum(times, 0);
  const std::int64_t total = item<std::int64_t>(select(ends, 0, -1));
  const Tensor places = arange(0, total, 1, i64, input.device());
  return index_select(line.input, line.dim, searchsorted(ends, places, false, true));
}

Tensor diagonal_of_or_with(const Tensor& input, std::int64_t diagonal_number) {
  BP_CHECK(input.ndim() == 1 || input.ndim() == 2,
           "diag: the shape is {}; pass a vector or a matrix, or call diagonal or diag_embed",
           to_string(input.shape()));
  if (input.ndim() == 1) return diag_embed(input, diagonal_number);
  return copy(diagonal(input, diagonal_number));
}

// Each row sees all elements, moved to their columns, and keeps the one on the diagonal.
Tensor matrices_with_diagonal(const Tensor& input, std::int64_t offset, std::int64_t dim1,
                              std::int64_t dim2) {
  BP_CHECK(input.ndim() > 0, "diag_embed: a 0-dim tensor has no elements in a row; reshape it");
  const std::int64_t rank = input.ndim() + 1;
  const std::int64_t rows_at = wrap_dim("diag_embed", dim1, rank);
  const std::int64_t columns_at = wrap_dim("diag_embed", dim2, rank);
  BP_CHECK(rows_at != columns_at, "diag_embed: dim1 and dim2 are both {}; make them differ",
           rows_at);
  constexpr std::int64_t far = std::int64_t{1} << 48;
  BP_CHECK(offset > -far && offset < far, "diag_embed: the offset is {}; pass a nearer one",
           offset);
  const std::int64_t size = input.size(-1) + (offset < 0 ? -offset : offset);
  const Tensor by_column = constant_pad_nd(
      input, {std::max<std::int64_t>(offset, 0), std::max<std::int64_t>(-offset, 0)});
  const Tensor columns = arange(0, size, 1, i64, input.device());
  const Tensor is_on = eq(sub(columns, reshape(columns, {size, 1})), offset);
  const Scalar zero = input.dtype() == boolean ? Scalar(false) : Scalar(0);
  const Tensor matrices = where(is_on, unsqueeze(by_column, -2), zero);
  if (rows_at == rank - 2 && columns_at == rank - 1) return matrices;
  return contiguous(moved_dims(matrices, {rank - 2, rank - 1}, {rows_at, columns_at}));
}

Tensor turned(const Tensor& input, std::int64_t k, IntList dims) {
  BP_CHECK(dims.size() == 2, "rot90: {} dimensions; a plane has two", dims.size());
  const std::int64_t from = wrap_dim("rot90", dims[0], input.ndim());
  const std::int64_t to = wrap_dim("rot90", dims[1], input.ndim());
  BP_CHECK(input.ndim() >= 2 && from != to,
           "rot90: dimensions {} and {} of shape {}; pass two that differ", dims[0], dims[1],
           to_string(input.shape()));
  switch ((k % 4 + 4) % 4) {
    case 1: return copy(transpose(flip(input, {to}), from, to));
    case 2: return flip(input, {from, to});
    case 3: return copy(transpose(flip(input, {from}), from, to));
    default: return copy(input);
  }
}

Tensor channels_to_space(const Tensor& input, std::int64_t factor) {
  check_shuffle_factor("pixel_shuffle", factor);
  BP_CHECK(input.ndim() >= 3 && input.size(-3) % (factor * factor) == 0,
           "pixel_shuffle: shape {} and factor {}; the third last size must be a multiple of {}",
           to_string(input.shape()), factor, factor * factor);
  const std::int64_t channels = input.size(-3) / (factor * factor);
  const std::int64_t rows = input.size(-2), columns = input.size(-1);
  Dims shape(input.shape());
  shape.resize(shape.size() - 3);
  const auto leading = static_cast<std::int64_t>(shape.size());
  Dims split(shape), order;
  for (const std::int64_t size : {channels, factor, factor, rows, columns}) split.push_back(size);
  for (std::int64_t d = 0; d < leading; ++d) order.push_back(d);
  for (const std::int64_t d : {0, 3, 1, 4, 2}) order.push_back(leading + d);
  shape.push_back(channels);
  for (const std::int64_t size : {rows, columns})
    shape.push_back(checked_numel("pixel_shuffle", {size, factor}));
  return fresh(reshape(permute(reshape(input, split), order), shape), input);
}

Tensor space_to_channels(const Tensor& input, std::int64_t factor) {
  check_shuffle_factor("pixel_unshuffle", factor);
  BP_CHECK(input.ndim() >= 3 && input.size(-2) % factor == 0 && input.size(-1) % factor == 0,
           "pixel_unshuffle: shape {} and factor {}; the last two sizes must be multiples of it",
           to_string(input.shape()), factor);
  const std::int64_t channels = input.size(-3);
  const std::int64_t rows = input.size(-2) / factor, columns = input.size(-1) / factor;
  Dims shape(input.shape());
  shape.resize(shape.size() - 3);
  const auto leading = static_cast<std::int64_t>(shape.size());
  Dims split(shape), order;
  for (const std::int64_t size : {channels, rows, factor, columns, factor}) split.push_back(size);
  for (std::int64_t d = 0; d < leading; ++d) order.push_back(d);
  for (const std::int64_t d : {0, 2, 4, 1, 3}) order.push_back(leading + d);
  for (const std::int64_t size : {channels * factor * factor, rows, columns}) shape.push_back(size);
  return fresh(reshape(permute(reshape(input, split), order), shape), input);
}

}  // namespace bp
