// Convolutions and pools. Padding that the rows do not take - other before than behind, or wider than half of the window - is put
// around the input first.
#include "windows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bp::onnx {
namespace {

struct Resolved {
  Dims stride, dilation, before, after;
  bool is_symmetric = true;  // as much before as behind, and no window ends farther out
  bool is_plain = true;      // without dilation
  bool is_narrow = true;     // padding is at most half of the window
};

Resolved resolve(const Window& window, IntList shape) {
  Resolved r;
  r.stride = ones_or(window.strides, window.count);
  r.dilation = ones_or(window.dilations, window.count);
  for (std::size_t i = 0; i < window.count; ++i) {
    const std::int64_t size = shape[i + 2], step = r.stride[i],
                       span = (window.kernel[i] - 1) * r.dilation[i] + 1;
    std::int64_t before = 0, after = 0;
    if (window.auto_pad.starts_with("SAME")) {
      const std::int64_t total =
          std::max<std::int64_t>(((size + step - 1) / step - 1) * step + span - size, 0);
      before = window.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    } else if (window.pads && window.auto_pad != "VALID") {
      before = (*window.pads)[i];
      after = (*window.pads)[i + window.count];
    }
    if (window.ceil) {
      std::int64_t count = (size + before + after - span + step - 1) / step + 1;
      if ((count - 1) * step >= size + before) --count;  // it would begin in the padding behind
      const std::int64_t needed = (count - 1) * step + span - size - before;
      if (needed > after) after = needed, r.is_symmetric = false;
    }
    r.before.push_back(before);
    r.after.push_back(after);
    r.is_symmetric &= before == after;
    r.is_plain &= r.dilation[i] == 1;
    r.is_narrow &= before * 2 <= window.kernel[i];
  }
  return r;
}

// `before` and `after` are of the dimensions of a window.
Tensor around(const Tensor& input, const Dims& before, const Dims& after, const Scalar& value) {
  Dims first(2, 0), last(2, 0);
  for (std::size_t i = 0; i < before.size(); ++i) {
    first.push_back(before[i]);
    last.push_back(after[i]);
  }
  return padded(input, first, last, value);
}

Dims zeros_of(std::size_t count) {
  return Dims(static_cast<std::uint32_t>(count), 0);
}

Scalar least_of(Dtype dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (dtype == u8 || dtype == u16 || dtype == u32 || dtype == u64) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * itemsize(dtype));
}

// Sums over windows, of each channel on its own.
Tensor window_sums(const Tensor& input, const Window& window, const Resolved& r) {
  Dims shape{input.size(0) * input.size(1), 1}, result{input.size(0), input.size(1)}, kernel{1, 1};
  for (std::size_t i = 0; i < window.count; ++i) {
    shape.push_back(input.size(static_cast<std::int64_t>(i) + 2));
    kernel.push_back(window.kernel[i]);
  }
  const Tensor weight = ones(kernel, {.dtype = input.dtype(), .device = input.device()});
  const Dims none = zeros_of(window.count);
  const Tensor sums =
      convolution(reshape(input, shape), weight, {}, r.stride, none, r.dilation, false, none, 1);
  for (std::size_t i = 0; i < window.count; ++i)
    result.push_back(sums.size(static_cast<std::int64_t>(i) + 2));
  return reshape(sums, result);
}

Tensor max_pool(const Tensor& input, const Window& window, const Resolved& r, const Dims& padding,
                bool ceil) {
  switch (window.count) {
    case 1: return max_pool1d(input, window.kernel, r.stride, padding, r.dilation, ceil);
    case 2: return max_pool2d(input, window.kernel, r.stride, padding, r.dilation, ceil);
    default: return max_pool3d(input, window.kernel, r.stride, padding, r.dilation, ceil);
  }
}

// Whether rows that pad as much behind as before have the same windows, rounding up: what lies beside the input is never
// the largest, so it does not matter how far a window reaches there.
bool has_windows_rounded_up(const Window& window, const Resolved& r, IntList shape) {
  for (std::size_t i = 0; i < window.count; ++i) {
    const std::int64_t size = shape[i + 2], step = r.stride[i],
                       span = (window.kernel[i] - 1) * r.dilation[i] + 1;
    if (size + r.before[i] + r.after[i] < span || size + 2 * r.before[i] < span) return false;
    const std::int64_t count = (size + r.before[i] + r.after[i] - span) / step + 1;
    std::int64_t rounded = (size + 2 * r.before[i] - span + step - 1) / step + 1;
    if ((rounded - 1) * step >= size + r.before[i]) --rounded;
    if (count != rounded) return false;
  }
  return true;
}

// From places in planes with padding around to places in the tensor.
Tensor places_in(const Tensor& input, const Tensor& places, const Dims& before, const Dims& after,
                 std::size_t count, bool column_major) {
  std::int64_t plane = 1;
  for (std::size_t i = 0; i < count; ++i) plane *= input.size(static_cast<std::int64_t>(i) + 2);
  Tensor rest = places, result;
  std::int64_t factor = column_major ? plane : 1;
  for (std::size_t i = count; i-- > 0;) {
    const std::int64_t size = input.size(static_cast<std::int64_t>(i) + 2),
                       with_padding = size + before[i] + after[i];
    const Tensor coordinate = remainder(rest, with_padding) - before[i];
    rest = floor_divide(rest, with_padding);
    if (column_major) factor /= size;
    result = result.defined() ? result + coordinate * factor : coordinate * factor;
    if (!column_major) factor *= size;
  }
  Dims planes{input.size(0), input.size(1)};
  for (std::size_t i = 0; i < count; ++i) planes.push_back(1);
  const Tensor first =
      arange(0, input.size(0) * input.size(1), 1, {.dtype = i64, .device = input.device()});
  return result + reshape(first, planes) * plane;
}

}  // namespace

Dims kernel_of(const Tensor& weight) {
  const IntList shape = weight.shape();
  return IntList(shape.data() + 2, shape.size() - 2);
}
Dims ones_or(const Axes& list, std::size_t count) {
  return list && !list->empty() ? Dims(*list) : Dims(static_cast<std::uint32_t>(count), 1);
}
Dims first_half(const Axes& pads, std::size_t count) {
  return pads && !pads->empty() ? Dims(IntList(pads->data(), count)) : zeros_of(count);
}
bool is_symmetric(const Axes& pads) {
  if (!pads) return true;
  const std::size_t half = pads->size() / 2;
  for (std::size_t i = 0; i < half; ++i)
    if ((*pads)[i] != (*pads)[i + half]) return false;
  return true;
}

Dims padding_of(const Window& window, IntList shape) {
  const Resolved r = resolve(window, shape);
  Dims padding = r.before;
  for (const std::int64_t each : r.after) padding.push_back(each);
  return padding;
}

Tensor convolved(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const Window& window, std::int64_t groups) {
  const Resolved r = resolve(window, input.shape());
  const Dims none = zeros_of(window.count);
  if (r.is_symmetric)
    return convolution(input, weight, bias, r.stride, r.before, r.dilation, false, none, groups);
  return convolution(around(input, r.before, r.after, 0), weight, bias, r.stride, none, r.dilation,
                     false, none, groups);
}

Tensor deconvolved(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Window& window, const Axes& output_padding, const Axes& output_shape,
                   std::int64_t groups) {
  const Dims stride = ones_or(window.strides, window.count),
             dilation = ones_or(window.dilations, window.count);
  Dims more =
      output_padding && !output_padding->empty() ? Dims(*output_padding) : zeros_of(window.count);
  Dims before, after;
  bool is_same = true, is_inside = true;
  for (std::size_t i = 0; i < window.count; ++i) {
    const std::int64_t size = input.size(static_cast<std::int64_t>(i) + 2);
    std::int64_t whole =
        stride[i] * (size - 1) + more[i] + (window.kernel[i] - 1) * dilation[i] + 1;
    if (output_shape || window.auto_pad.starts_with("SAME")) {
      const std::int64_t wanted = output_shape
                                      ? (*output_shape)[output_shape->size() - window.count + i]
                                      : size * stride[i];
      if (wanted > whole) {
        more[i] += wanted - whole;
        whole = wanted;
      }
      const std::int64_t total = whole - wanted;
      before.push_back(window.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2);
      after.push_back(total - before[i]);
    } else {
      const bool has_pads = window.pads && window.auto_pad != "VALID";
      before.push_back(has_pads ? (*window.pads)[i] : 0);
      after.push_back(has_pads ? (*window.pads)[i + window.count] : 0);
    }
    is_same &= before[i] == after[i];
    is_inside &= before[i] >= 0 && after[i] >= 0;
  }
  if (is_same && is_inside)
    return convolution(input, weight, bias, stride, before, dilation, true, more, groups);
  const Tensor whole = convolution(input, weight, bias, stride, zeros_of(window.count), dilation,
                                   true, more, groups);
  if (!is_inside) refuse("negative padding");
  for (std::size_t i = 0; i < window.count; ++i) before[i] = -before[i], after[i] = -after[i];
  return around(whole, before, after, 0);
}

Tensor deformed(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& bias,
                const Tensor& mask, const Axes& strides, const Axes& pads, const Axes& dilations) {
  const Dims stride = ones_or(strides, 2), dilation = ones_or(dilations, 2);
  if (is_symmetric(pads))
    return deform_conv2d(input, offset, weight, bias, stride, first_half(pads, 2), dilation, mask);
  const Dims before{(*pads)[0], (*pads)[1]}, after{(*pads)[2], (*pads)[3]};
  return deform_conv2d(around(input, before, after, 0), offset, weight, bias, stride, {0, 0},
                       dilation, mask);
}

Tensors highest(const Tensor& input, const Window& window, bool with_places, bool column_major) {
  const Resolved r = resolve(window, input.shape());
  const bool ceil =
      !r.is_symmetric && r.is_narrow && has_windows_rounded_up(window, r, input.shape());
  const bool fits = ceil || (r.is_symmetric && r.is_narrow);
  const Tensor whole = fits ? input : around(input, r.before, r.after, least_of(input.dtype()));
  const Dims none = zeros_of(window.count), &padding = fits ? r.before : none;
  if (!with_places) return {max_pool(whole, window, r, padding, ceil)};
  const MaxPoolWithIndicesResult found =
      max_pool_with_indices(whole, window.kernel, r.stride, padding, r.dilation, ceil);
  return {found.values, places_in(input, found.indices, fits ? none : r.before,
                                  fits ? none : r.after, window.count, column_major)};
}

Tensor averaged(const Tensor& input, const Window& window, bool count_padding) {
  const Resolved r = resolve(window, input.shape());
  if (r.is_symmetric && r.is_narrow && r.is_plain)
    return avg_pool(input, window.kernel, r.stride, r.before, false, count_padding);
  const Tensor sums = window_sums(around(input, r.before, r.after, 0), window, r);
  // What counts: the input, and the padding that was asked for.
  Dims shape{1, 1}, before = r.before, after = r.after;
  for (std::size_t i = 0; i < window.count; ++i) {
    std::int64_t size = input.size(static_cast<std::int64_t>(i) + 2);
    if (count_padding) {
      const bool has_pads = window.pads && window.auto_pad == "NOTSET";
      const std::int64_t asked = has_pads ? (*window.pads)[i + window.count]
                                 : window.auto_pad.starts_with("SAME") ? r.after[i]
                                                                       : 0;
      size += r.before[i] + asked;
      before[i] = 0;
      after[i] = r.after[i] - asked;
    }
    shape.push_back(size);
  }
  const Tensor counts = window_sums(
      around(ones(shape, {.dtype = input.dtype(), .device = input.device()}), before, after, 0),
      window, r);
  return div(sums, counts);
}

Tensor power_averaged(const Tensor& input, const Window& window, double power) {
  const Resolved r = resolve(window, input.shape());
  const Tensor sums = window_sums(around(pow(abs(input), power), r.before, r.after, 0), window, r);
  return pow(sums, 1 / power);
}

Tensor put_back(const Tensor& input, const Tensor& indices, const Axes& output_shape,
                const Window& window) {
  const Dims stride = ones_or(window.strides, window.count);
  Dims shape{input.size(0), input.size(1)};
  std::int64_t numel = shape[0] * shape[1];
  for (std::size_t i = 0; i < window.count; ++i) {
    const std::int64_t pads =
        window.pads ? (*window.pads)[i] + (*window.pads)[i + window.count] : 0;
    shape.push_back((input.size(static_cast<std::int64_t>(i) + 2) - 1) * stride[i] - pads +
                    window.kernel[i]);
    numel *= shape[i + 2];
  }
  const Tensor nothing = zeros({numel}, {.dtype = input.dtype(), .device = input.device()});
  const Tensor whole = reshape(scatter(nothing, 0, flatten(indices), flatten(input)), shape);
  if (!output_shape) return whole;
  Dims more;
  for (std::size_t i = shape.size(); i-- > 0;) {
    more.push_back(0);
    more.push_back((*output_shape)[i] - shape[i]);
  }
  return constant_pad_nd(whole, more, 0);
}

}  // namespace bp::onnx
