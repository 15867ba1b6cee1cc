// An image or a volume at the places of a grid.
#include <array>
#include <utility>
#include <vector>

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

// Places are in the order of the axes, slowest first.
using Places = std::vector<Tensor>;

class GridSampler {
 public:
  GridSampler(const Tensor& input, std::int64_t count, bool align_corners, Outside outside)
      : shape_{input.size(0), input.size(1), count} {
    std::int64_t num_elements = 1;
    for (std::int64_t dim = 2; dim < input.ndim(); ++dim) {
      axes_.push_back({input.size(dim), align_corners, outside});
      num_elements *= input.size(dim);
    }
    image_ = reshape(widened(input), {input.size(0), input.size(1), num_elements});
  }

  Tensor nearest(const Places& places) const {
    Places elements = moved(places);
    for (Tensor& each : elements) each = round(each);
    return at(elements);
  }

  Tensor linear(const Places& places) const {
    const Places elements = moved(places);
    Places before, past;
    for (const Tensor& each : elements) {
      before.push_back(floor(each));
      past.push_back(sub(each, before.back()));
    }
    Tensor result;
    for (std::size_t corner = 0; corner < std::size_t{1} << axes_.size(); ++corner) {
      Places here;
      Tensor part;
      for (std::size_t i = axes_.size(); i-- > 0;) {
        const bool is_far = (corner >> i) & 1;
        here.insert(here.begin(), add(before[i], static_cast<std::int64_t>(is_far)));
        const Tensor share = is_far ? past[i] : sub(1, past[i]);
        part = part.defined() ? mul(part, share) : share;
      }
      append(result, mul(at(here), unsqueeze(part, 1)));
    }
    return result;
  }

  // Of images. Each of the sixteen elements is moved inside by itself.
  Tensor bicubic(const Places& places) const {
    const Axis &rows = axes_[0], &columns = axes_[1];
    const Tensor row = rows.elements(places[0]), column = columns.elements(places[1]);
    const Tensor left = floor(column), top = floor(row);
    const std::array<Tensor, 4> across = cubic_shares(sub(column, left));
    const std::array<Tensor, 4> down = cubic_shares(sub(row, top));
    Tensor result;
    for (std::size_t i = 0; i < 4; ++i) {
      const Tensor at_row = rows.moved_inside(add(top, static_cast<std::int64_t>(i) - 1));
      Tensor line;
      for (std::size_t k = 0; k < 4; ++k) {
        const Tensor at_column = columns.moved_inside(add(left, static_cast<std::int64_t>(k) - 1));
        append(line, mul(at({at_row, at_column}), unsqueeze(across[k], 1)));
      }
      append(result, mul(line, unsqueeze(down[i], 1)));
    }
    return result;
  }

 private:
  static void append(Tensor& sum, const Tensor& term) {
    sum = sum.defined() ? add(sum, term) : term;
  }
  Places moved(const Places& places) const {
    Places elements;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      elements.push_back(axes_[i].moved_inside(axes_[i].elements(places[i])));
    return elements;
  }

  // The elements of these numbers, zeros outside.
  Tensor at(const Places& elements) const {
    Tensor inside, number;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const Axis& axis = axes_[i];
      const Tensor is_inside = axis.is_inside(elements[i]), index = axis.index(elements[i]);
      inside = inside.defined() ? logical_and(inside, is_inside) : is_inside;
      number = number.defined() ? add(mul(number, axis.size), index) : index;
    }
    const Tensor taken = gather(image_, 2, expand(unsqueeze(number, 1), shape_));
    return where(unsqueeze(inside, 1), taken, 0);
  }

  Tensor image_;  // [N, C, elements]
  Dims shape_;    // [N, C, places]
  std::vector<Axis> axes_;
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
  const std::int64_t num_axes = input.ndim() - 2;
  BP_CHECK((num_axes == 2 || num_axes == 3) && grid.ndim() == input.ndim() &&
               grid.size(-1) == num_axes && grid.size(0) == input.size(0) &&
               input.dtype() == grid.dtype(),
           "grid_sample: input is {} of shape {} and grid {} of {}; pass [N, C, H, W] and "
           "[N, H', W', 2], or [N, C, D, H, W] and [N, D', H', W', 3], of one dtype",
           name(input.dtype()), to_string(input.shape()), name(grid.dtype()),
           to_string(grid.shape()));
  BP_CHECK(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
           "grid_sample: the mode is '{}'; choose 'bilinear', 'nearest' or 'bicubic'", mode);
  BP_CHECK(mode != "bicubic" || num_axes == 2,
           "grid_sample: the mode 'bicubic' is for images, and input has shape {}; choose "
           "'bilinear' or 'nearest'",
           to_string(input.shape()));
  const Outside outside = outside_of(padding_mode);
  Dims result_shape{input.size(0), input.size(1)};
  std::int64_t count = 1;
  for (std::int64_t dim = 2; dim < input.ndim(); ++dim) {
    BP_CHECK(input.size(dim) > 0, "grid_sample: input has shape {}; an image needs elements",
             to_string(input.shape()));
    result_shape.push_back(grid.size(dim - 1));
    count *= grid.size(dim - 1);
  }
  // In 16 bits another element would be the nearest.
  const Tensor numbers = reshape(widened(grid), {grid.size(0), count, num_axes});
  Places places;
  for (std::int64_t i = num_axes; i-- > 0;) places.push_back(select(numbers, 2, i));  // x is first
  const GridSampler sampler(input, count, align_corners, outside);
  const Tensor result = mode == "nearest"    ? sampler.nearest(places)
                        : mode == "bilinear" ? sampler.linear(places)
                                             : sampler.bicubic(places);
  return in_dtype(reshape(result, result_shape), input.dtype());
}

}  // namespace bp
