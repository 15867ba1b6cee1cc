// Means of windows over lines and pictures. Where channels lie next to each other, a window is taken for all of them at
// once; else plane by plane.
#include "pooling.hpp"

#include "../constants.hpp"
#include "../memory.hpp"
#include "../threads.hpp"

namespace bp::cpu {
namespace {

// Calls body(n, channels from, to, row, column) for the windows of the pictures, on all threads: a window with
// all channels, or a channel alone.
template <class Body>
void for_each_window(const PoolWindows& w, bool by_channels, const Body& body) {
  const int64_t windows = w.count[0] * w.count[1];
  const int64_t planes = by_channels ? w.batch : w.batch * w.channels;
  const int64_t work = w.kernel[0] * w.kernel[1] * (by_channels ? w.channels : 1);
  const int64_t grain = std::max<int64_t>(1, constants::averaged_elements / work);
  parallel_for(planes * windows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / windows, window = i % windows;
      const int64_t n = by_channels ? plane : plane / w.channels;
      const int64_t c = by_channels ? 0 : plane % w.channels;
      body(n, c, by_channels ? w.channels : 1, window / w.count[1], window % w.count[1]);
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
  const int64_t grain = std::max<int64_t>(1, constants::averaged_elements / work);
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
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
