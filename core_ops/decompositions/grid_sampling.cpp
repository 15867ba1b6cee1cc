// An image at the places of a grid.
#include <array>
#include <utility>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/resampling.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

enum class Outside { zeros, border, reflection };

Tensor zero_for_nan(const Tensor& place) {
  return where(eq(place, place), place, 0);
}

// Back and forth between two borders. The derivative is -1 on the way back, the far border included, and 1 elsewhere.
Tensor reflected(const Tensor& place, double low, double high) {
  if (low == high) return mul(zero_for_nan(place), 0);
  const double span = high - low;
  const Tensor from_low = sub(place, low);
  const Tensor distance = where(lt(from_low, 0), neg(from_low), from_low);
  const Tensor in_period = fmod(distance, 2 * span);
  return add(where(ge(in_period, span), sub(2 * span, in_period), in_period), low);
}

// How the places of one dimension, -1 to 1, become numbers of its elements.
struct Axis {
  std::int64_t size;
  bool align_corners;
  Outside outside;

  Tensor elements(const Tensor& place) const {
    const auto count = static_cast<double>(size);
    const Tensor at = add(place, 1);
    return align_corners ? mul(at, (count - 1) / 2) : mul(sub(mul(at, count), 1), 0.5);
  }
  // What is outside goes to the border or back inside; by 'zeros' it stays where it is.
  Tensor moved_inside(const Tensor& element) const {
    if (outside == Outside::zeros) return element;
    const auto last = static_cast<double>(size - 1);
    Tensor moved = element;
    if (outside == Outside::reflection)
      moved = align_corners ? reflected(element, 0, last) : reflected(element, -0.5, last + 0.5);
    return clamp(zero_for_nan(moved), 0, size - 1);
  }
  Tensor is_inside(const Tensor& element) const {
    return logical_and(ge(element, 0), le(element, size - 1));
  }
  Tensor index(const Tensor& element) const {
    return cast(clamp(zero_for_nan(element), 0, size - 1), i64);
  }
};

// Keys' cubic with a = -0.75: the shares of the four elements from one before on, of which the second is `part` away.
std::array<Tensor, 4> cubic_shares(const Tensor& part) {
  constexpr double a = -0.75;
  const auto near = [](const Tensor& x) {
    return add(mul(mul(sub(mul(x, a + 2), a + 3), x), x), 1);
  };
  const auto far = [](const Tensor& x) {
    return sub(mul(add(mul(sub(mul(x, a), 5 * a), x), 8 * a), x), 4 * a);
  };
  return {far(add(part, 1)), near(part), near(sub(1, part)), far(sub(2, part))};
}

class GridSampler {
 public:
  GridSampler(const Tensor& input, std::int64_t count, bool align_corners, Outside outside)
      : image_(
            reshape(widened(input), {input.size(0), input.size(1), input.size(2) * input.size(3)})),
        shape_{input.size(0), input.size(1), count}, rows_{input.size(2), align_corners, outside},
        columns_{input.size(3), align_corners, outside} {}

  Tensor nearest(const Tensor& x, const Tensor& y) const {
    return at(round(moved_column(x)), round(moved_row(y)));
  }

  Tensor bilinear(const Tensor& x, const Tensor& y) const {
    const Tensor column = moved_column(x), row = moved_row(y);
    const Tensor left = floor(column), top = floor(row);
    const Tensor to_right = sub(column, left), to_bottom = sub(row, top);
    Tensor result;
    for (const int right : {0, 1})
      for (const int bottom : {0, 1}) {
        const Tensor part =
            mul(right ? to_right : sub(1, to_right), bottom ? to_bottom : sub(1, to_bottom));
        append(result, mul(at(add(left, right), add(top, bottom)), unsqueeze(part, 1)));
      }
    return result;
  }

  // Each of the sixteen elements is moved inside by itself.
  Tensor bicubic(const Tensor& x, const Tensor& y) const {
    const Tensor column = columns_.elements(x), row = rows_.elements(y);
    const Tensor left = floor(column), top = floor(row);
    const std::array<Tensor, 4> across = cubic_shares(sub(column, left));
    const std::array<Tensor, 4> down = cubic_shares(sub(row, top));
    Tensor result;
    for (std::size_t i = 0; i < 4; ++i) {
      const Tensor at_row = rows_.moved_inside(add(top, static_cast<std::int64_t>(i) - 1));
      Tensor line;
      for (std::size_t k = 0; k < 4; ++k) {
        const Tensor at_column = columns_.moved_inside(add(left, static_cast<std::int64_t>(k) - 1));
        append(line, mul(at(at_column, at_row), unsqueeze(across[k], 1)));
      }
      append(result, mul(line, unsqueeze(down[i], 1)));
    }
    return result;
  }

 private:
  static void append(Tensor& sum, const Tensor& term) {
    sum = sum.defined() ? add(sum, term) : term;
  }
  Tensor moved_column(const Tensor& x) const { return columns_.moved_inside(columns_.elements(x)); }
  Tensor moved_row(const Tensor& y) const { return rows_.moved_inside(rows_.elements(y)); }

  // The elements of a column and row, zeros outside.
  Tensor at(const Tensor& column, const Tensor& row) const {
    const Tensor inside = logical_and(columns_.is_inside(column), rows_.is_inside(row));
    const Tensor number = add(mul(rows_.index(row), columns_.size), columns_.index(column));
    const Tensor taken = gather(image_, 2, expand(unsqueeze(number, 1), shape_));
    return where(unsqueeze(inside, 1), taken, 0);
  }

  Tensor image_;  // [N, C, H * W]
  Dims shape_;    // [N, C, places]
  Axis rows_, columns_;
};

Outside outside_of(std::string_view padding_mode) {
  if (padding_mode == "zeros") return Outside::zeros;
  if (padding_mode == "border") return Outside::border;
  BP_CHECK(padding_mode == "reflection",
           "grid_sample: the padding is '{}'; choose 'zeros', 'border' or 'reflection'",
           padding_mode);
  return Outside::reflection;
}

}  // namespace

Tensor sampled_at(const Tensor& input, const Tensor& grid, std::string_view mode,
                  std::string_view padding_mode, bool align_corners) {
  BP_CHECK(input.ndim() == 4 && grid.ndim() == 4 && grid.size(3) == 2 &&
               grid.size(0) == input.size(0) && input.dtype() == grid.dtype(),
           "grid_sample: input is {} of shape {} and grid {} of {}; pass [N, C, H, W] and "
           "[N, H', W', 2] of one dtype",
           name(input.dtype()), to_string(input.shape()), name(grid.dtype()),
           to_string(grid.shape()));
  BP_CHECK(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
           "grid_sample: the mode is '{}'; choose 'bilinear', 'nearest' or 'bicubic'", mode);
  const Outside outside = outside_of(padding_mode);
  BP_CHECK(input.size(2) > 0 && input.size(3) > 0,
           "grid_sample: input has shape {}; an image needs elements", to_string(input.shape()));
  const std::int64_t count = grid.size(1) * grid.size(2);
  // In 16 bits another element would be the nearest.
  const Tensor places = reshape(widened(grid), {grid.size(0), count, 2});
  const Tensor x = select(places, 2, 0), y = select(places, 2, 1);
  const GridSampler sampler(input, count, align_corners, outside);
  const Tensor result = mode == "nearest"    ? sampler.nearest(x, y)
                        : mode == "bilinear" ? sampler.bilinear(x, y)
                                             : sampler.bicubic(x, y);
  return in_dtype(reshape(result, {input.size(0), input.size(1), grid.size(1), grid.size(2)}),
                  input.dtype());
}

}  // namespace bp
