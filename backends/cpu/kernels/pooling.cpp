// Pools over lines and pictures. Where channels lie next to each other, a window is taken for all of them at
// once; else plane by plane. Volumes are left to the decomposition.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../host.hpp"
#include "../memory.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "kernels.hpp"

namespace bp::cpu {
namespace {

constexpr bp_dtype_set pool_dtypes = dtype_set({BP_F32, BP_F64});

// Windows over pictures; a line is a picture of one row.
struct PoolWindows {
  int64_t batch, channels;
  int64_t size[2], count[2], kernel[2], stride[2], padding[2], dilation[2];

  // The first and the one past the last place of the kernel that lie inside.
  struct Taps {
    int64_t begin, first, end;
  };
  Taps taps(int dim, int64_t window) const {
    const int64_t begin = window * stride[dim] - padding[dim], step = dilation[dim];
    const int64_t first = begin < 0 ? (-begin + step - 1) / step : 0;
    const int64_t inside = size[dim] > begin ? (size[dim] - begin + step - 1) / step : 0;
    return {begin, first, std::min(kernel[dim], inside)};
  }
};

// Elements of a tensor by batch, channel, row and column.
template <class T> struct Pictures {
  T* data;
  int64_t batch, channel, row, column;

  explicit Pictures(const bp_tensor& tensor) : data(data_of<T>(tensor)) {
    const int64_t* const strides = tensor.dl.strides;
    batch = strides[0];
    channel = strides[1];
    row = tensor.dl.ndim == 4 ? strides[2] : 0;
    column = strides[tensor.dl.ndim - 1];
  }
  T* at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return data + n * batch + c * channel + y * row + x * column;
  }
};

int64_t listed(Ints list, int dim, int64_t rank) {
  return list[list.size() > 1 && rank == 2 ? static_cast<size_t>(dim) : 0];
}

// No `stride` is the kernel's size.
PoolWindows windows_of(const bp_tensor& large, const bp_tensor& small, Ints kernel_size,
                       Ints stride, Ints padding, Ints dilation) {
  PoolWindows w{
      large.dl.shape[0], large.dl.shape[1], {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  const int64_t rank = large.dl.ndim - 2;
  for (int dim = rank == 2 ? 0 : 1; dim < 2; ++dim) {
    const int64_t place = rank == 2 ? dim + 2 : 2;
    w.size[dim] = large.dl.shape[place];
    w.count[dim] = small.dl.shape[place];
    w.kernel[dim] = listed(kernel_size, dim, rank);
    w.stride[dim] = listed(stride.empty() ? kernel_size : stride, dim, rank);
    w.padding[dim] = listed(padding, dim, rank);
    if (!dilation.empty()) w.dilation[dim] = listed(dilation, dim, rank);
  }
  return w;
}

bool is_by_channels(const bp_tensor& a, const bp_tensor& b) {
  return a.dl.ndim == 4 && a.dl.strides[1] == 1 && b.dl.strides[1] == 1 && a.dl.shape[1] > 1;
}

// The largest so far; NaN is larger than all.
template <class T> bool beats(T value, T best) {
  return best == best && !(value <= best);
}

// Calls body(n, channels from, to, row, column) for the windows of the pictures, on all threads: a window with
// all channels, or a channel alone.
template <class Body>
void for_each_window(const PoolWindows& w, bool by_channels, const Body& body) {
  const int64_t windows = w.count[0] * w.count[1];
  const int64_t planes = by_channels ? w.batch : w.batch * w.channels;
  const int64_t work = w.kernel[0] * w.kernel[1] * (by_channels ? w.channels : 1);
  parallel_for(
      planes * windows, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t plane = i / windows, window = i % windows;
          const int64_t n = by_channels ? plane : plane / w.channels;
          const int64_t c = by_channels ? 0 : plane % w.channels;
          body(n, c, by_channels ? w.channels : 1, window / w.count[1], window % w.count[1]);
        }
      });
}

template <class T>
void max_pool(const PoolWindows& w, bool by_channels, const Pictures<const T>& a,
              const Pictures<T>& values, const Pictures<int64_t>& indices) {
  for_each_window(w, by_channels,
                  [&](int64_t n, int64_t c, int64_t channels, int64_t y, int64_t x) {
                    const auto rows = w.taps(0, y), columns = w.taps(1, x);
                    T* const best = values.at(n, c, y, x);
                    int64_t* const places = indices.at(n, c, y, x);
                    bool is_first = true;
                    for (int64_t i = rows.first; i < rows.end; ++i)
                      for (int64_t j = columns.first; j < columns.end; ++j) {
                        const int64_t row = rows.begin + i * w.dilation[0];
                        const int64_t column = columns.begin + j * w.dilation[1];
                        const int64_t place = row * w.size[1] + column;
                        const T* const from = a.at(n, c, row, column);
                        for (int64_t k = 0; k < channels; ++k) {
                          const bool taken = is_first || beats(from[k], best[k]);
                          best[k] = taken ? from[k] : best[k];
                          places[k] = taken ? place : places[k];
                        }
                        is_first = false;
                      }
                  });
}

struct Divisor {
  bool with_padding;
  int64_t given;  // 0: none

  int64_t of(const PoolWindows& w, const PoolWindows::Taps& rows,
             const PoolWindows::Taps& columns) const {
    if (given != 0) return given;
    if (!with_padding) return (rows.end - rows.first) * (columns.end - columns.first);
    const auto length = [&](int dim, int64_t begin) {
      return std::min(begin + w.kernel[dim], w.size[dim] + w.padding[dim]) - begin;
    };
    return length(0, rows.begin) * length(1, columns.begin);
  }
};

template <class T>
void avg_pool(const PoolWindows& w, bool by_channels, const Divisor& divisor,
              const Pictures<const T>& a, const Pictures<T>& means) {
  for_each_window(w, by_channels,
                  [&](int64_t n, int64_t c, int64_t channels, int64_t y, int64_t x) {
                    const auto rows = w.taps(0, y), columns = w.taps(1, x);
                    T* const mean = means.at(n, c, y, x);
                    std::fill_n(mean, channels, T(0));
                    for (int64_t i = rows.first; i < rows.end; ++i)
                      for (int64_t j = columns.first; j < columns.end; ++j) {
                        const T* const from = a.at(n, c, rows.begin + i, columns.begin + j);
                        for (int64_t k = 0; k < channels; ++k) mean[k] += from[k];
                      }
                    const T count = static_cast<T>(divisor.of(w, rows, columns));
                    for (int64_t k = 0; k < channels; ++k) mean[k] /= count;
                  });
}

// By planes, since windows that overlap add to the same elements.
template <class T>
void avg_pool_backward(const PoolWindows& w, bool by_channels, const Divisor& divisor,
                       const Pictures<const T>& grad, const Pictures<T>& result) {
  const int64_t planes = by_channels ? w.batch : w.batch * w.channels;
  const int64_t channels = by_channels ? w.channels : 1;
  const int64_t work = w.count[0] * w.count[1] * w.kernel[0] * w.kernel[1] * channels;
  parallel_for(planes, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t n = by_channels ? plane : plane / w.channels;
      const int64_t c = by_channels ? 0 : plane % w.channels;
      for (int64_t y = 0; y < w.count[0]; ++y)
        for (int64_t x = 0; x < w.count[1]; ++x) {
          const auto rows = w.taps(0, y), columns = w.taps(1, x);
          const T* const from = grad.at(n, c, y, x);
          const T count = static_cast<T>(divisor.of(w, rows, columns));
          for (int64_t i = rows.first; i < rows.end; ++i)
            for (int64_t j = columns.first; j < columns.end; ++j) {
              T* const to = result.at(n, c, rows.begin + i, columns.begin + j);
              for (int64_t k = 0; k < channels; ++k) to[k] += from[k] / count;
            }
        }
    }
  });
}

// ---- The rows

bool is_pooled_here(In a) {
  return a.ndim() <= 4 && a.numel() != 0;
}

Status run_max_pool(Stream, In input, Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                    bool, Out largest, Out places) {
  const bp_tensor &a = input.abi(), &values = largest.abi(), &indices = places.abi();
  const PoolWindows w = windows_of(a, values, kernel_size, stride, padding, dilation);
  const bool by_channels = is_by_channels(a, values) && indices.dl.strides[1] == 1;
  visit_dtype<pool_dtypes>(a.dtype, [&]<class T>(Tag<T>) {
    max_pool(w, by_channels, Pictures<const T>(a), Pictures<T>(values), Pictures<int64_t>(indices));
  });
  return ok;
}

Status run_avg_pool(Stream, In input, Ints kernel_size, Ints stride, Ints padding, bool,
                    bool count_include_pad, std::optional<int64_t> divisor_override, Out result) {
  const bp_tensor &a = input.abi(), &means = result.abi();
  const PoolWindows w = windows_of(a, means, kernel_size, stride, padding, {});
  const Divisor divisor{count_include_pad, divisor_override.value_or(0)};
  visit_dtype<pool_dtypes>(a.dtype, [&]<class T>(Tag<T>) {
    avg_pool(w, is_by_channels(a, means), divisor, Pictures<const T>(a), Pictures<T>(means));
  });
  return ok;
}

Status run_avg_pool_backward(Stream, In grad_output, Ints, Ints kernel_size, Ints stride,
                             Ints padding, bool, bool count_include_pad,
                             std::optional<int64_t> divisor_override, Out by_input) {
  const bp_tensor &grad = grad_output.abi(), &result = by_input.abi();
  const PoolWindows w = windows_of(result, grad, kernel_size, stride, padding, {});
  const Divisor divisor{count_include_pad, divisor_override.value_or(0)};
  const uint8_t zero = 0;
  fill_bytes(address(result), static_cast<uint64_t>(result.numel) * result.itemsize, &zero, 1);
  visit_dtype<pool_dtypes>(grad.dtype, [&]<class T>(Tag<T>) {
    avg_pool_backward(w, is_by_channels(result, grad), divisor, Pictures<const T>(grad),
                      Pictures<T>(result));
  });
  return ok;
}

}  // namespace

void add_pooling_kernels(Kernels& k) {
  constexpr DtypeSet dtypes{pool_dtypes};
  using max_place = op::max_pool_with_indices::place;
  k.add<op::max_pool_with_indices>(run_max_pool)
      .dtypes(dtypes)
      .dtypes(max_place::values, dtypes)
      .dtypes(max_place::indices, i64)
      .layouts(strided)
      .layouts(max_place::values, contiguous, channels_last)
      .layouts(max_place::indices, contiguous, channels_last)
      .deterministic()
      .supports(
          [](Stream, In a, Ints, Ints, Ints, Ints, bool, Out, Out) { return is_pooled_here(a); });
  using avg_place = op::avg_pool::place;
  k.add<op::avg_pool>(run_avg_pool)
      .dtypes(dtypes)
      .dtypes(avg_place::out, dtypes)
      .layouts(strided)
      .layouts(avg_place::out, contiguous, channels_last)
      .deterministic()
      .supports([](Stream, In a, Ints, Ints, Ints, bool, bool, std::optional<int64_t>, Out) {
        return is_pooled_here(a);
      });
  using back_place = op::avg_pool_backward::place;
  k.add<op::avg_pool_backward>(run_avg_pool_backward)
      .dtypes(dtypes)
      .dtypes(back_place::out, dtypes)
      .layouts(strided)
      .layouts(back_place::out, contiguous, channels_last)
      .deterministic()
      .supports([](Stream, In grad, Ints, Ints, Ints, Ints, bool, bool, std::optional<int64_t>,
                   Out) { return is_pooled_here(grad); });
}

}  // namespace bp::cpu
