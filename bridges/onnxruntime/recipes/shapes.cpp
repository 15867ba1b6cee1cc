// Shapes and parts.
#include <algorithm>
#include <array>
#include <cmath>

#include "helpers.hpp"

namespace bp::onnx {

void refuse(const char* what) {
  throw Error(ErrorClass::unsupported, what);
}

bool is_whole(const Tensor& tensor) {
  return is_integral(tensor.dtype());
}

std::int64_t wrapped(std::int64_t dim, std::int64_t ndim) {
  return dim < 0 ? dim + ndim : dim;
}

Tensor number_like(const Tensor& like, const Scalar& value) {
  return full({}, value, {.dtype = like.dtype(), .device = like.device()});
}

Dims resolved_shape(const Tensor& data, IntList shape, bool zero_is_zero) {
  Dims result(shape);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (result[i] == 0 && !zero_is_zero) result[i] = data.size(static_cast<std::int64_t>(i));
  return result;
}

Tensor flattened(const Tensor& input, std::int64_t axis) {
  std::int64_t rows = 1, columns = 1;
  const std::int64_t split = wrapped(axis, input.ndim());
  for (std::int64_t i = 0; i < input.ndim(); ++i) (i < split ? rows : columns) *= input.size(i);
  return reshape(input, {rows, columns});
}

Tensor unsqueezed(const Tensor& data, IntList axes) {
  const std::int64_t ndim = data.ndim() + static_cast<std::int64_t>(axes.size());
  std::vector<std::int64_t> sorted;
  for (const std::int64_t axis : axes) sorted.push_back(wrapped(axis, ndim));
  std::sort(sorted.begin(), sorted.end());
  Tensor result = data;
  for (const std::int64_t axis : sorted) result = unsqueeze(result, axis);
  return result;
}

Dims reversed_dims(const Tensor& data) {
  Dims dims;
  for (std::int64_t i = data.ndim(); i-- > 0;) dims.push_back(i);
  return dims;
}

Tensor reshaped(const Tensor& data, IntList shape) {
  const IntList from = data.shape(), strides = data.strides();
  const bool joins_channels = data.ndim() == 5 && shape.size() == 4 && from[0] == shape[0] &&
                              from[1] * from[2] == shape[1] && from[3] == shape[2] &&
                              from[4] == shape[3];
  const bool lie_last = joins_channels && strides[4] == shape[1] &&
                        strides[3] == shape[1] * shape[3] && !data.is_contiguous();
  if (!lie_last) return reshape(data, shape);
  const Tensor pictures =
      reshape(permute(data, {0, 3, 4, 1, 2}), {shape[0], shape[2], shape[3], shape[1]});
  return permute(pictures, {0, 3, 1, 2});
}

bool has_channels_last(const Tensor& tensor) {
  return tensor.ndim() == 4 && tensor.is_contiguous(MemoryFormat::channels_last);
}

Tensor padded(const Tensor& input, IntList before, IntList after, const Scalar& value) {
  const bool are_pictures = has_channels_last(input) && !input.is_contiguous();
  const std::array<std::size_t, 4> channels_last{0, 2, 3, 1};
  Dims last_first;
  for (std::size_t i = before.size(); i-- > 0;) {
    const std::size_t dim = are_pictures ? channels_last[i] : i;
    last_first.push_back(before[dim]);
    last_first.push_back(after[dim]);
  }
  if (!are_pictures) return constant_pad_nd(input, last_first, value);
  return permute(constant_pad_nd(permute(input, {0, 2, 3, 1}), last_first, value), {0, 3, 1, 2});
}

Tensor joined(const Tensors& inputs, std::int64_t axis) {
  const bool are_pictures =
      std::all_of(inputs.begin(), inputs.end(), has_channels_last) &&
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return !t.is_contiguous(); });
  if (!are_pictures || wrapped(axis, 4) != 1) return cat(inputs, axis);
  Tensors pictures;
  for (const Tensor& input : inputs) pictures.push_back(permute(input, {0, 2, 3, 1}));
  return permute(cat(pictures, 3), {0, 3, 1, 2});
}

Tensors in_parts(const Tensor& input, std::int64_t count, std::int64_t axis) {
  const std::int64_t size = input.size(axis), part = (size + count - 1) / count;
  Tensors parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = std::min(i * part, size);
    parts.push_back(narrow(input, axis, begin, std::min(part, size - begin)));
  }
  return parts;
}

Tensor sliced(const Tensor& data, IntList starts, IntList ends, const Axes& axes,
              const Axes& steps) {
  Tensor result = data;
  if (starts.size() != ends.size() || (axes && axes->size() != starts.size()) ||
      (steps && steps->size() != starts.size()))
    throw Error(ErrorClass::bad_argument, "starts, ends, axes and steps differ in length");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = axes ? (*axes)[i] : static_cast<std::int64_t>(i),
                       step = steps ? (*steps)[i] : 1;
    const std::int64_t size = result.size(axis);
    if (step == 0) throw Error(ErrorClass::bad_argument, "a step is 0");
    const auto within = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      // Numbers near the ends of int64 stand for the ends of the dimension.
      if (at < 0) at = at < -size ? (step > 0 ? 0 : -1) : at + size;
      return std::clamp(at, low, high);
    };
    if (step > 0) {
      const std::int64_t begin = within(starts[i], 0, size),
                         end = std::max(begin, within(ends[i], 0, size));
      result = slice(result, axis, begin, end, std::min(step, std::max<std::int64_t>(size, 1)));
    } else {
      // From the other end: flipped, then forward.
      const std::int64_t begin = within(starts[i], -1, size - 1),
                         end = std::min(begin, within(ends[i], -1, size - 1));
      const std::int64_t stride = step < -size ? std::max<std::int64_t>(size, 1) : -step;
      result = slice(flip(result, {axis}), axis, size - 1 - begin, size - 1 - end, stride);
    }
  }
  return result;
}

Tensor expanded(const Tensor& input, IntList shape) {
  // Both ways: a 1 in `shape` leaves the input's size.
  const IntList own = input.shape();
  Dims result(static_cast<std::uint32_t>(std::max(own.size(), shape.size())), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t behind = result.size() - i;
    if (behind <= shape.size()) result[i] = shape[shape.size() - behind];
    if (behind <= own.size() && result[i] == 1) result[i] = own[own.size() - behind];
  }
  return expand(input, result);
}

namespace {

// Reads at places along a dimension.
Tensor picked(const Tensor& data, std::int64_t axis, const std::vector<std::int64_t>& places) {
  return index_select(data, axis, tensor(places, {.device = data.device()}));
}

std::int64_t reflected(std::int64_t at, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1);
  at = ((at % period) + period) % period;
  return at < size ? at : period - at;
}

}  // namespace

Tensor padded(const Tensor& data, IntList pads, const Axes& axes, std::string_view mode,
              const std::optional<Scalar>& value) {
  const std::int64_t ndim = data.ndim();
  const auto count =
      static_cast<std::int64_t>(axes ? axes->size() : static_cast<std::size_t>(ndim));
  if (static_cast<std::int64_t>(pads.size()) != 2 * count)
    throw Error(ErrorClass::bad_argument, "pads has " + std::to_string(pads.size()) +
                                              " numbers for " + std::to_string(count) + " axes");
  Dims before(static_cast<std::uint32_t>(ndim), 0), after(static_cast<std::uint32_t>(ndim), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto axis =
        static_cast<std::size_t>(wrapped(axes ? (*axes)[static_cast<std::size_t>(i)] : i, ndim));
    before[axis] = pads[static_cast<std::size_t>(i)];
    after[axis] = pads[static_cast<std::size_t>(i + count)];
  }
  Tensor result = data;
  if (mode == "constant") return padded(data, before, after, value ? *value : Scalar(0));
  for (std::int64_t axis = 0; axis < ndim; ++axis) {
    const std::int64_t size = data.size(axis), begin = before[static_cast<std::size_t>(axis)],
                       end = after[static_cast<std::size_t>(axis)];
    if (begin == 0 && end == 0) continue;
    if (size == 0)
      throw Error(ErrorClass::bad_argument, "nothing to pad with along a dimension of size 0");
    std::vector<std::int64_t> places;
    for (std::int64_t at = -begin; at < size + end; ++at)
      places.push_back(mode == "edge"   ? std::clamp<std::int64_t>(at, 0, size - 1)
                       : mode == "wrap" ? ((at % size) + size) % size
                                        : reflected(at, size));
    result = picked(result, axis, places);
  }
  return result;
}

Tensor shape_of(const Tensor& data, std::int64_t start, std::optional<std::int64_t> end) {
  const std::int64_t ndim = data.ndim();
  const std::int64_t begin = std::clamp<std::int64_t>(wrapped(start, ndim), 0, ndim);
  const std::int64_t stop =
      std::clamp<std::int64_t>(wrapped(end.value_or(ndim), ndim), begin, ndim);
  const IntList shape = data.shape();
  return tensor(std::vector<std::int64_t>(shape.begin() + begin, shape.begin() + stop),
                {.device = data.device()});
}

Tensor counted(const Scalar& start, const Scalar& limit, const Scalar& delta, Dtype dtype,
               Device device) {
  const TensorOptions options{.dtype = dtype, .device = device};
  if (is_floating(dtype)) {
    const double count = std::ceil((limit.to_double() - start.to_double()) / delta.to_double());
    if (!(count > 0)) return empty({0}, options);
    return to(
        arange(0, static_cast<std::int64_t>(count), 1, {.dtype = f64, .device = device}) * delta +
            start,
        dtype);
  }
  const std::int64_t step = delta.to_int(), distance = limit.to_int() - start.to_int();
  if (step == 0) throw Error(ErrorClass::bad_argument, "the step of Range is 0");
  if ((step > 0) != (distance > 0) || distance == 0) return empty({0}, options);
  return arange(start, limit, delta, options);
}

}  // namespace bp::onnx
