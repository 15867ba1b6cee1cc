// A few results times a few places, or points, stay in registers: 12 sums of AVX2's 16 for gradients, and 8, as many as hide the
// latency of the additions, for results. What vectors hold behind the end of a line is not used: it is multiplied by zeros, or not stored.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/windows_of_planes.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/windows_of_planes.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Lanes>;
constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(Lanes()));
constexpr int at_once = results_at_once, places_at_once = 3, lines_at_once = 2;

using GradientSums = Vector[at_once][places_at_once];

template <bool whole>
HWY_INLINE void add_vectors(const float* gradients, int64_t step,
                            const float* const (&seen)[places_at_once], int64_t seen_at,
                            int64_t last_result, hn::Mask<Lanes> inside, GradientSums& sums) {
  const Lanes d;
  Vector numbers[places_at_once];
#pragma GCC unroll 3
  for (int j = 0; j < places_at_once; ++j) numbers[j] = hn::LoadU(d, seen[j] + seen_at);
#pragma GCC unroll 4
  for (int i = 0; i < at_once; ++i) {
    const float* const from =
        gradients + (last_result == at_once - 1 ? i : std::min<int64_t>(i, last_result)) * step;
    const auto gradient = whole ? hn::LoadU(d, from) : hn::MaskedLoad(inside, d, from);
#pragma GCC unroll 3
    for (int j = 0; j < places_at_once; ++j)
      sums[i][j] = hn::MulAdd(gradient, numbers[j], sums[i][j]);
  }
}

// Four results times three places; where there are fewer, the last one stands in for the others.
template <bool all_results>
HWY_NOINLINE void gradient_block(const WindowGradient& g, int64_t result, int64_t place) {
  const Lanes d;
  const PlaneWindows& w = g.windows;
  const int64_t plane = w.height * w.width, whole = w.width / lanes * lanes;
  const auto inside = hn::FirstN(d, static_cast<size_t>(w.width - whole));
  const int64_t last_result = all_results ? at_once - 1 : g.num_results - result - 1,
                num_places = std::min<int64_t>(places_at_once, w.num_places - place);
  GradientSums sums;
#pragma GCC unroll 4
  for (int i = 0; i < at_once; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < places_at_once; ++j) sums[i][j] = hn::Zero(d);
  for (int64_t picture = 0; picture < w.pictures; ++picture) {
    const float* gradients = g.gradients + picture * g.gradients_picture + result * plane;
    const float* seen[places_at_once];
#pragma GCC unroll 3
    for (int64_t j = 0; j < places_at_once; ++j)
      seen[j] =
          w.padded + picture * w.padded_picture + w.places[place + std::min(j, num_places - 1)];
    int64_t line = 0;
    for (int64_t y = 0; y < w.height; ++y, line += w.padded_width) {
      for (int64_t x = 0; x < whole; x += lanes, gradients += lanes)
        add_vectors<true>(gradients, plane, seen, line + x, last_result, inside, sums);
      if (whole == w.width) continue;
      add_vectors<false>(gradients, plane, seen, line + whole, last_result, inside, sums);
      gradients += w.width - whole;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < at_once; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < places_at_once; ++j) {
      if (i > last_result || j >= num_places) continue;
      float& to = g.weight[(result + i) * w.num_places + place + j];
      const float sum = hn::GetLane(hn::SumOfLanes(d, sums[i][j]));
      to = g.add ? to + sum : sum;
    }
}

void add_window_gradients_f32(const WindowGradient& g) {
  for (int64_t result = 0; result < g.num_results; result += at_once)
    for (int64_t place = 0; place < g.windows.num_places; place += places_at_once)
      g.num_results - result >= at_once ? gradient_block<true>(g, result, place)
                                        : gradient_block<false>(g, result, place);
}

// The columns x of lines y and y + 1 for four results.
HWY_NOINLINE void sum_block(const WindowSums& s, int64_t picture, int64_t result, int64_t y,
                            int64_t x) {
  const Lanes d;
  const PlaneWindows& w = s.windows;
  const int64_t num_results = std::min<int64_t>(at_once, s.num_results - result),
                num_lines = std::min<int64_t>(lines_at_once, w.height - y);
  const float* const seen = w.padded + picture * w.padded_picture + y * w.padded_width + x;
  const float* const seen_below = seen + (num_lines - 1) * w.padded_width;
  const float* weight[at_once];
  Vector sums[at_once][lines_at_once];
#pragma GCC unroll 4
  for (int i = 0; i < at_once; ++i) {
    const int64_t own = result + std::min<int64_t>(i, num_results - 1);
    weight[i] = s.weight + own * w.num_places;
    sums[i][0] = sums[i][1] = hn::Set(d, s.bias ? s.bias[own] : 0.0f);
  }
  for (int64_t place = 0; place < w.num_places; ++place) {
    const int64_t at = w.places[place];
    const auto above = hn::LoadU(d, seen + at), below = hn::LoadU(d, seen_below + at);
#pragma GCC unroll 4
    for (int i = 0; i < at_once; ++i) {
      const auto factor = hn::Set(d, weight[i][place]);
      sums[i][0] = hn::MulAdd(factor, above, sums[i][0]);
      sums[i][1] = hn::MulAdd(factor, below, sums[i][1]);
    }
  }
  const int64_t left = std::min(lanes, w.width - x);
  float* const to = s.results + picture * s.results_picture + (result * w.height + y) * w.width + x;
  const auto inside = hn::FirstN(d, static_cast<size_t>(left));
#pragma GCC unroll 4
  for (int i = 0; i < at_once; ++i)
#pragma GCC unroll 2
    for (int line = 0; line < lines_at_once; ++line) {
      if (i >= num_results || line >= num_lines) continue;
      float* const place = to + i * w.height * w.width + line * w.width;
      if (left == lanes)
        hn::StoreU(sums[i][line], d, place);
      else
        hn::BlendedStore(sums[i][line], inside, d, place);
    }
}

void sum_windows_f32(const WindowSums& s) {
  const PlaneWindows& w = s.windows;
  for (int64_t picture = 0; picture < w.pictures; ++picture)
    for (int64_t result = 0; result < s.num_results; result += at_once)
      for (int64_t y = 0; y < w.height; y += lines_at_once)
        for (int64_t x = 0; x < w.width; x += lanes) sum_block(s, picture, result, y, x);
}

// What is infinite or NaN, times zero, is NaN.
bool are_finite_f32(const float* numbers, int64_t count) {
  const Lanes d;
  auto first = hn::Zero(d), second = first, third = first, fourth = first;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    first = hn::MulAdd(hn::LoadU(d, numbers + i), hn::Zero(d), first);
    second = hn::MulAdd(hn::LoadU(d, numbers + i + lanes), hn::Zero(d), second);
    third = hn::MulAdd(hn::LoadU(d, numbers + i + 2 * lanes), hn::Zero(d), third);
    fourth = hn::MulAdd(hn::LoadU(d, numbers + i + 3 * lanes), hn::Zero(d), fourth);
  }
  float zero =
      hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(first, second), hn::Add(third, fourth))));
  for (; i < count; ++i) zero += numbers[i] * 0.0f;
  return zero == 0.0f;
}

}  // namespace
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(add_window_gradients_f32);
HWY_EXPORT(sum_windows_f32);
HWY_EXPORT(are_finite_f32);

void add_window_gradients(const WindowGradient& gradient) {
  HWY_DYNAMIC_DISPATCH(add_window_gradients_f32)(gradient);
}
void sum_windows(const WindowSums& sums) {
  HWY_DYNAMIC_DISPATCH(sum_windows_f32)(sums);
}
bool are_finite(const float* numbers, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(are_finite_f32)(numbers, count);
}

}  // namespace bp::cpu::tile
#endif
