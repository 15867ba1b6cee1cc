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

int64_t listed(const bp_value& list, int dim, int64_t rank) {
  if (list.aux == 1) return static_cast<const int64_t*>(list.u.ptr)[0];
  return static_cast<const int64_t*>(list.u.ptr)[rank == 2 ? dim : 0];
}

// `lists`: kernel_size, stride and padding; `dilation` may be NULL.
PoolWindows windows_of_call(const bp_tensor& large, const bp_tensor& small, const bp_value* lists,
                            const bp_value* dilation) {
  PoolWindows w{
      large.dl.shape[0], large.dl.shape[1], {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  const int64_t rank = large.dl.ndim - 2;
  for (int dim = rank == 2 ? 0 : 1; dim < 2; ++dim) {
    const int64_t place = rank == 2 ? dim + 2 : 2;
    w.size[dim] = large.dl.shape[place];
    w.count[dim] = small.dl.shape[place];
    w.kernel[dim] = listed(lists[0], dim, rank);
    w.stride[dim] = listed(lists[lists[1].aux == 0 ? 0 : 1], dim, rank);
    w.padding[dim] = listed(lists[2], dim, rank);
    if (dilation) w.dilation[dim] = listed(*dilation, dim, rank);
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

bool is_pooled_here(const bp_tensor& tensor) {
  return tensor.dl.ndim <= 4 && tensor.numel != 0;
}

bp_code takes_pool(void*, const bp_call* call) noexcept {
  return is_pooled_here(tensor_arg(call, 0)) ? BP_OK : BP_UNSUPPORTED;
}

bp_code run_max_pool(void*, const bp_call* call) noexcept {
  return guarded("max_pool_with_indices", [&]() -> bp_code {
    const bp_tensor &a = tensor_arg(call, 0), &values = *call->outputs[0],
                    &indices = *call->outputs[1];
    const PoolWindows w = windows_of_call(a, values, call->args + 1, call->args + 4);
    const bool by_channels = is_by_channels(a, values) && indices.dl.strides[1] == 1;
    visit_dtype<pool_dtypes>(a.dtype, [&]<class T>(Tag<T>) {
      max_pool(w, by_channels, Pictures<const T>(a), Pictures<T>(values),
               Pictures<int64_t>(indices));
    });
    return BP_OK;
  });
}

// count_include_pad and divisor_override, from `place` on.
Divisor divisor_of(const bp_call* call, uint32_t place) {
  const bp_value& given = call->args[place + 1];
  return {call->args[place].u.i != 0, given.tag == BP_NONE ? 0 : given.u.i};
}

bp_code run_avg_pool(void*, const bp_call* call) noexcept {
  return guarded("avg_pool", [&]() -> bp_code {
    const bp_tensor &a = tensor_arg(call, 0), &means = *call->outputs[0];
    const PoolWindows w = windows_of_call(a, means, call->args + 1, nullptr);
    visit_dtype<pool_dtypes>(a.dtype, [&]<class T>(Tag<T>) {
      avg_pool(w, is_by_channels(a, means), divisor_of(call, 5), Pictures<const T>(a),
               Pictures<T>(means));
    });
    return BP_OK;
  });
}

bp_code run_avg_pool_backward(void*, const bp_call* call) noexcept {
  return guarded("avg_pool_backward", [&]() -> bp_code {
    const bp_tensor &grad = tensor_arg(call, 0), &result = *call->outputs[0];
    const PoolWindows w = windows_of_call(result, grad, call->args + 2, nullptr);
    const uint8_t zero = 0;
    fill_bytes(address(result), static_cast<uint64_t>(result.numel) * result.itemsize, &zero, 1);
    visit_dtype<pool_dtypes>(grad.dtype, [&]<class T>(Tag<T>) {
      avg_pool_backward(w, is_by_channels(result, grad), divisor_of(call, 6),
                        Pictures<const T>(grad), Pictures<T>(result));
    });
    return BP_OK;
  });
}

}  // namespace

void add_pooling_kernels(const bp_host& host, KernelList& list) {
  constexpr uint32_t layouts = BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_CHANNELS_LAST;
  const bp_arg in = tensor_place(pool_dtypes), out = tensor_place(pool_dtypes, layouts);
  const bp_arg indices = tensor_place(dtype_set({BP_I64}), layouts), no = any_place();
  constexpr uint32_t flags = BP_KERNEL_DETERMINISTIC;
  list.add(host, "max_pool_with_indices", {in, no, no, no, no, no, out, indices}, run_max_pool,
           flags, nullptr, takes_pool);
  list.add(host, "avg_pool", {in, no, no, no, no, no, no, out}, run_avg_pool, flags, nullptr,
           takes_pool);
  list.add(host, "avg_pool_backward", {in, no, no, no, no, no, no, no, out}, run_avg_pool_backward,
           flags, nullptr, takes_pool);
}

}  // namespace bp::cpu
