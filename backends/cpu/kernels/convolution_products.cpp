#include "convolution_products.hpp"

#include "../constants.hpp"

#if defined(__x86_64__)
#  include <algorithm>
#  include <vector>

#  include "../threads.hpp"
#  include "matmul_onednn.hpp"
#  include "matmul_split.hpp"
#  include "split_packing.hpp"
#  include "strided.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw")

namespace bp::cpu {
namespace {

constexpr int64_t nowhere = -1;

// Of pictures in two dimensions; those of one have one line.
struct Windows {
  explicit Windows(const ConvolutionKey& key)
      : pictures(key.large[0]), channels(key.large[1]), results(key.small[1]) {
    for (int64_t dim = 0; dim < key.rank; ++dim) {
      Axis& axis = axes[2 - key.rank + dim];
      axis = {key.large[dim + 2], key.small[dim + 2], key.weight[dim + 2],
              key.stride[dim],    key.padding[dim],   key.dilation[dim]};
    }
  }

  struct Axis {
    int64_t large = 1, small = 1, window = 1, stride = 1, padding = 0, dilation = 1;

    // What window `i` sees at its place `tap`; nowhere beside the picture.
    int64_t seen(int64_t i, int64_t tap) const {
      const int64_t point = i * stride + tap * dilation - padding;
      return point >= 0 && point < large ? point : nowhere;
    }
    // The window that sees a point at its place `tap`.
    int64_t seeing(int64_t point, int64_t tap) const {
      const int64_t distance = point - tap * dilation + padding;
      return distance >= 0 && distance % stride == 0 && distance / stride < small
                 ? distance / stride
                 : nowhere;
    }
  };

  int64_t taps() const { return axes[0].window * axes[1].window; }
  int64_t rows() const { return channels * taps(); }
  int64_t plane() const { return axes[0].small * axes[1].small; }
  int64_t columns() const { return pictures * plane(); }
  int64_t large_plane() const { return axes[0].large * axes[1].large; }
  // Is the matrix of windows the picture itself?
  bool are_points() const {
    const auto is_point = [](const Axis& axis) {
      return axis.window == 1 && axis.stride == 1 && axis.padding == 0 && axis.large == axis.small;
    };
    return pictures == 1 && is_point(axes[0]) && is_point(axes[1]);
  }

  int64_t pictures, channels, results;
  Axis axes[2];
};

// How many items of so many numbers are worth a thread.
int64_t grain_of(int64_t numbers) {
  return (element_grain + numbers - 1) / numbers;
}

// For each tap, where each number of a plane comes from in another; nowhere: it is 0.
using Places = std::vector<int32_t>;

template <class Find>
Places find_places(const Windows& w, int64_t height, int64_t width, int64_t other_width,
                   Find&& find) {
  Places places;
  places.reserve(static_cast<size_t>(w.taps() * height * width));
  for (int64_t tap = 0; tap < w.taps(); ++tap)
    for (int64_t y = 0; y < height; ++y) {
      const int64_t line = find(w.axes[0], y, tap / w.axes[1].window);
      for (int64_t x = 0; x < width; ++x) {
        const int64_t column = find(w.axes[1], x, tap % w.axes[1].window);
        const bool is_there = line != nowhere && column != nowhere;
        places.push_back(static_cast<int32_t>(is_there ? line * other_width + column : nowhere));
      }
    }
  return places;
}

// 16 numbers at these places, of those that there are.
__m512 gather(const float* from, const int32_t* places, __mmask16 wanted) {
  const __m512i at = _mm512_maskz_loadu_epi32(wanted, places);
  const __mmask16 is_there = _mm512_mask_cmpge_epi32_mask(wanted, at, _mm512_setzero_si512());
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), is_there, at, from, 4);
}

// windows[(channel, tap)][(picture, y, x)]: what the window at (y, x) sees at its place `tap`, 0 beside the picture.
void gather_windows(const Windows& w, const float* pictures, float* windows) {
  const Places places = find_places(
      w, w.axes[0].small, w.axes[1].small, w.axes[1].large,
      [](const Windows::Axis& axis, int64_t i, int64_t tap) { return axis.seen(i, tap); });
  parallel_for(w.rows(), grain_of(w.columns()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int32_t* const of_tap = places.data() + row % w.taps() * w.plane();
      const float* from = pictures + row / w.taps() * w.large_plane();
      float* to = windows + row * w.columns();
      for (int64_t picture = 0; picture < w.pictures; ++picture, to += w.plane()) {
        for (int64_t i = 0; i < w.plane(); i += 16) {
          const __mmask16 wanted = first_of_16(w.plane() - i);
          _mm512_mask_storeu_ps(to + i, wanted, gather(from, of_tap + i, wanted));
        }
        from += w.channels * w.large_plane();
      }
    }
  });
}

// The sums of what windows hold of each point of the pictures.
void add_windows(const Windows& w, const float* windows, float* pictures) {
  const Places places = find_places(w, w.axes[0].large, w.axes[1].large, w.axes[1].small,
                                    [](const Windows::Axis& axis, int64_t point, int64_t tap) {
                                      return axis.seeing(point, tap);
                                    });
  const int64_t planes = w.pictures * w.channels;
  parallel_for(planes, grain_of(w.taps() * w.large_plane()), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t picture = plane / w.channels, channel = plane % w.channels;
      const float* const from = windows + channel * w.taps() * w.columns() + picture * w.plane();
      float* const to = pictures + plane * w.large_plane();
      for (int64_t i = 0; i < w.large_plane(); i += 16) {
        const __mmask16 wanted = first_of_16(w.large_plane() - i);
        __m512 sum = _mm512_setzero_ps();
        for (int64_t tap = 0; tap < w.taps(); ++tap)
          sum = _mm512_add_ps(sum, gather(from + tap * w.columns(),
                                          places.data() + tap * w.large_plane() + i, wanted));
        _mm512_mask_storeu_ps(to + i, wanted, sum);
      }
    }
  });
}

// [result][picture][plane], the rows of products, and [picture][result][plane], how pictures lie.
template <class F> void over_planes(const Windows& w, F&& body) {
  const int64_t grain = grain_of(w.plane());
  parallel_for(w.pictures * w.results, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t picture = i / w.results, result = i % w.results;
      body(result, (result * w.pictures + picture) * w.plane(), i * w.plane());
    }
  });
}

void rows_of_pictures(const Windows& w, const float* pictures, float* rows) {
  over_planes(w, [&](int64_t, int64_t row, int64_t place) {
    std::copy_n(pictures + place, w.plane(), rows + row);
  });
}

void pictures_of_rows(const Windows& w, const float* rows, const float* bias, float* pictures) {
  over_planes(w, [&](int64_t result, int64_t row, int64_t place) {
    const float added = bias ? bias[result] : 0.0f;
    for (int64_t i = 0; i < w.plane(); ++i) pictures[place + i] = rows[row + i] + added;
  });
}

Matrix by_rows(const char* data, int64_t row_length) {
  return {data, row_length, 1, 0};
}
Matrix by_columns(const char* data, int64_t column_length) {
  return {data, 1, column_length, 0};
}

// `windows` and `rows` of the results.
Product product_of(const ConvolutionKey& key, const Windows& w, char* weight, char* windows,
                   char* rows) {
  const int64_t inner = w.rows(), outer = w.columns();
  if (key.way == forwards)
    return {BP_F32, 1, w.results, outer, inner, by_rows(weight, inner), by_rows(windows, outer),
            rows};
  if (key.way == to_input)
    return {BP_F32, 1, inner, outer, w.results, by_columns(weight, inner), by_rows(rows, outer),
            windows};
  return {BP_F32, 1, w.results, inner, outer, by_rows(rows, outer), by_columns(windows, outer),
          weight};
}

float* numbers(char* data) {
  return reinterpret_cast<float*>(data);
}

// oneDNN's gradient to a window larger than the plane takes some ten times as long.
bool pays_without_amx(const ConvolutionKey& key, const Windows& w) {
  return key.way == to_weight && w.taps() > w.plane() && w.plane() <= constants::tiny_plane &&
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

}  // namespace

bool pays_by_products(const ConvolutionKey& key) {
  const auto lies_by_rows = [](int64_t order) { return order == row_major; };
  if (key.dtype != BP_F32 || key.groups != 1 || key.rank > 2 || !lies_by_rows(key.large_order) ||
      !lies_by_rows(key.small_order) || !lies_by_rows(key.weight_order))
    return false;
  const Windows w(key);
  return w.columns() <= constants::windowed_columns &&
         w.taps() * w.large_plane() <= constants::windowed_places &&
         (suits_split(product_of(key, w, nullptr, nullptr, nullptr)) || pays_without_amx(key, w));
}

bool convolve_by_products(const bp_call* call, const ConvolutionKey& key, const Addresses& at,
                          bp_code& code) {
  const Windows w(key);
  char *windows = at.large, *rows = at.small;
  if (!w.are_points())
    code = take_workspace(call, static_cast<uint64_t>(w.rows() * w.columns()) * 4, windows);
  if (code == BP_OK && (w.pictures != 1 || key.has_bias))
    code = take_workspace(call, static_cast<uint64_t>(w.results * w.columns()) * 4, rows);
  if (code != BP_OK) return true;
  if (key.way != to_input && windows != at.large)
    gather_windows(w, numbers(at.large), numbers(windows));
  if (key.way != forwards && rows != at.small)
    rows_of_pictures(w, numbers(at.small), numbers(rows));
  const Product product = product_of(key, w, at.weight, windows, rows);
  const bool is_done = suits_split(product) ? multiply_split(call, product, code)
                                            : multiply_by_onednn(call, product, code);
  if (!is_done) return false;
  if (code != BP_OK) return true;
  if (key.way == forwards && rows != at.small)
    pictures_of_rows(w, numbers(rows), key.has_bias ? numbers(at.bias) : nullptr,
                     numbers(at.small));
  if (key.way == to_input && windows != at.large)
    add_windows(w, numbers(windows), numbers(at.large));
  return true;
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES

#else

namespace bp::cpu {

bool pays_by_products(const ConvolutionKey&) {
  return false;
}
bool convolve_by_products(const bp_call*, const ConvolutionKey&, const Addresses&, bp_code&) {
  return false;
}

}  // namespace bp::cpu

#endif
