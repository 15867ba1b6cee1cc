// A block of points times a panel of weights stays in registers: for AVX-512 12 points times 2 vectors, whose 24 sums hide
// the latency of the additions, with two loads of weights and 12 of numbers for each 24 of them. Where a panel is not full, fewer
// vectors meet more points.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/packed_convolution.cpp"
#include <algorithm>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/packed_convolution.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lanes>;
constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Lanes()));
constexpr auto vectors_of_panel = static_cast<int>(panel_width / lanes);
// 32 registers of AVX-512, and of Neon; 16 of AVX2, of which 12 are sums.
constexpr int most_points(int num_vectors) {
  return lanes == 16       ? static_cast<int>(points_at_once)
         : num_vectors > 4 ? 3
                           : static_cast<int>(points_at_once) / num_vectors;
}
// How many points are taken at once where fewer are left than `num_points`.
constexpr int fewer(int num_points) {
  return num_points > 8 ? 8 : num_points > 4 ? 4 : num_points / 2;
}

HWY_INLINE Vector finished(Vector sum, const Finish& finish) {
  const Lanes d;
  // In this order NaN stays: it is neither below nor above.
  const auto least = hn::Set(d, finish.least), most = hn::Set(d, finish.most);
  sum = hn::IfThenElse(hn::Lt(sum, least), least, sum);
  return hn::IfThenElse(hn::Gt(sum, most), most, sum);
}

// `num_steps` numbers of each point, so that the places of the points are read once for them.
template <int num_points, int num_vectors, int num_steps>
HWY_INLINE void add_products(const float* weight, const float* const (&from)[num_points], int64_t k,
                             Vector (&sums)[num_points][num_vectors]) {
  const Lanes d;
  Vector w[num_steps][num_vectors];
#pragma GCC unroll 2
  for (int step = 0; step < num_steps; ++step)
#pragma GCC unroll 32
    for (int j = 0; j < num_vectors; ++j)
      w[step][j] = hn::LoadU(d, weight + step * panel_width + j * lanes);
#pragma GCC unroll 12
  for (int i = 0; i < num_points; ++i) {
    const float* const at = from[i] + k;
#pragma GCC unroll 2
    for (int step = 0; step < num_steps; ++step) {
      const auto number = hn::Set(d, at[step]);
#pragma GCC unroll 32
      for (int j = 0; j < num_vectors; ++j) sums[i][j] = hn::MulAdd(number, w[step][j], sums[i][j]);
    }
  }
}

template <int num_points, int num_vectors>
HWY_INLINE void multiply(const PanelPoints& p, int64_t first,
                         Vector (&sums)[num_points][num_vectors]) {
  constexpr int steps = lanes == 16 ? 2 : 1;
  const float* weight = p.panel;
  for (int64_t tap = 0; tap < p.num_taps; ++tap, weight += p.run * panel_width) {
    const float* const* const seen = p.seen + tap * points_at_once + first;
    const float* from[num_points];
#pragma GCC unroll 12
    for (int i = 0; i < num_points; ++i) from[i] = seen[i];
    int64_t k = p.begin;
    for (; k + steps <= p.end; k += steps)
      add_products<num_points, num_vectors, steps>(weight + k * panel_width, from, k, sums);
    if (k < p.end)
      add_products<num_points, num_vectors, 1>(weight + k * panel_width, from, k, sums);
  }
}

// The first `count` numbers, by moves of 32, 16, 8 and 4 bytes: some processors take longer for one masked store than for all else
// that is done with a sum.
HWY_INLINE void store_first(Vector v, size_t count, float* to) {
  alignas(64) float numbers[lanes];
  hn::Store(v, Lanes(), numbers);
  const float* from = numbers;
#pragma GCC unroll 4
  for (size_t part = lanes / 2; part > 0; part /= 2)
    if (count & part) {
      std::memcpy(to, from, part * sizeof *to);
      to += part;
      from += part;
    }
}

// The results of vector `j` of the panel, for all points, each condition asked once for them.
template <bool is_full, int num_points, int num_vectors>
HWY_INLINE void write_results(const PanelPoints& p, int64_t first, int j, size_t left,
                              Vector (&sums)[num_points][num_vectors]) {
  const Lanes d;
  const auto inside = hn::FirstN(d, left);
  const auto load = [&](const float* from) {
    return is_full ? hn::LoadU(d, from) : hn::MaskedLoad(inside, d, from);
  };
  const int64_t place = first * p.to_step + j * lanes;
  if (p.is_whole && p.bias) {
    const auto bias = load(p.bias + j * lanes);
#pragma GCC unroll 12
    for (int i = 0; i < num_points; ++i) sums[i][j] = hn::Add(sums[i][j], bias);
  }
  if (p.is_whole && p.other) {
#pragma GCC unroll 12
    for (int i = 0; i < num_points; ++i)
      sums[i][j] = hn::Add(sums[i][j], load(p.other + place + i * p.to_step));
  }
  if (p.is_whole && p.finish.has_limits()) {
#pragma GCC unroll 12
    for (int i = 0; i < num_points; ++i) sums[i][j] = finished(sums[i][j], p.finish);
  }
#pragma GCC unroll 12
  for (int i = 0; i < num_points; ++i) {
    float* const to = p.to + place + i * p.to_step;
    if constexpr (is_full)
      hn::StoreU(sums[i][j], d, to);
    else
      store_first(sums[i][j], left, to);
  }
}

// How many results vector `j` of the panel has.
HWY_INLINE size_t results_of(const PanelPoints& p, int j) {
  return static_cast<size_t>(std::clamp<int64_t>(p.num_results - j * lanes, 0, lanes));
}

// What earlier parts of the depth have summed, so that no sum is longer than a part.
template <int num_points, int num_vectors>
HWY_INLINE void add_sums(const PanelPoints& p, int64_t first,
                         Vector (&sums)[num_points][num_vectors]) {
  const Lanes d;
#pragma GCC unroll 32
  for (int j = 0; j < num_vectors; ++j) {
    const auto inside = hn::FirstN(d, results_of(p, j));
#pragma GCC unroll 12
    for (int i = 0; i < num_points; ++i)
      sums[i][j] = hn::Add(sums[i][j],
                           hn::MaskedLoad(inside, d, p.to + (first + i) * p.to_step + j * lanes));
  }
}

template <int num_points, int num_vectors>
HWY_NOINLINE void block(const PanelPoints& p, int64_t first) {
  Vector sums[num_points][num_vectors];
#pragma GCC unroll 12
  for (int i = 0; i < num_points; ++i)
#pragma GCC unroll 32
    for (int j = 0; j < num_vectors; ++j) sums[i][j] = hn::Zero(Lanes());
  multiply<num_points, num_vectors>(p, first, sums);
  if (p.goes_on) add_sums(p, first, sums);
#pragma GCC unroll 32
  for (int j = 0; j < num_vectors; ++j) {
    const size_t left = results_of(p, j);
    if (left == lanes)
      write_results<true>(p, first, j, left, sums);
    else
      write_results<false>(p, first, j, left, sums);
  }
}

template <int num_points, int num_vectors> void of_points(const PanelPoints& p, int64_t first) {
  for (; p.num_points - first >= num_points; first += num_points)
    block<num_points, num_vectors>(p, first);
  if constexpr (num_points > 1) of_points<fewer(num_points), num_vectors>(p, first);
}

// As many vectors of the panel as have results; those behind are zeros.
template <int num_vectors> void of_vectors(const PanelPoints& p) {
  if constexpr (num_vectors < vectors_of_panel) {
    if (p.num_results > num_vectors * lanes)
      return of_vectors<(num_vectors < 4 ? num_vectors + 1 : vectors_of_panel)>(p);
  }
  of_points<most_points(num_vectors), num_vectors>(p, 0);
}

void convolve_points_f32(const PanelPoints& p) {
  of_vectors<1>(p);
}

// Of `num_points` points the channels from `c` on: several sums, which need not wait for each other, and each weight read once for all
// points.
template <int num_points, int num_vectors, class Load, class Store>
HWY_INLINE void depth_block(const DepthPoints& p, int64_t first, int64_t c, const Load& load,
                            const Store& store) {
  const Lanes d;
  Vector sums[num_points][num_vectors], w[num_vectors];
#pragma GCC unroll 4
  for (int i = 0; i < num_points; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < num_vectors; ++j)
      sums[i][j] = p.bias ? load(p.bias + c + j * lanes) : hn::Zero(d);
  const float* weight = p.weight + c;
  const float* const* seen = p.seen + first;
  for (int64_t tap = 0; tap < p.num_taps; ++tap, weight += p.channels, seen += depth_at_once) {
#pragma GCC unroll 2
    for (int j = 0; j < num_vectors; ++j) w[j] = load(weight + j * lanes);
#pragma GCC unroll 4
    for (int i = 0; i < num_points; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < num_vectors; ++j)
        sums[i][j] = hn::MulAdd(load(seen[i] + c + j * lanes), w[j], sums[i][j]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < num_points; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < num_vectors; ++j) {
      const int64_t place = (first + i) * p.channels + c + j * lanes;
      const auto sum = p.other ? hn::Add(sums[i][j], load(p.other + place)) : sums[i][j];
      store(finished(sum, p.finish), p.to + place);
    }
}

template <int num_points> void depth_of_points(const DepthPoints& p, int64_t first) {
  const Lanes d;
  const auto load = [&](const float* from) { return hn::LoadU(d, from); };
  const auto store = [&](Vector v, float* to) { hn::StoreU(v, d, to); };
  int64_t c = 0;
  for (; c + 2 * lanes <= p.channels; c += 2 * lanes)
    depth_block<num_points, 2>(p, first, c, load, store);
  for (; c + lanes <= p.channels; c += lanes) depth_block<num_points, 1>(p, first, c, load, store);
  if (c == p.channels) return;
  const auto inside = hn::FirstN(d, static_cast<size_t>(p.channels - c));
  depth_block<num_points, 1>(
      p, first, c, [&](const float* from) { return hn::MaskedLoad(inside, d, from); },
      [&](Vector v, float* to) { store_first(v, static_cast<size_t>(p.channels - c), to); });
}

void convolve_depth_f32(const DepthPoints& p) {
  int64_t first = 0;
  for (; p.num_points - first >= depth_at_once; first += depth_at_once)
    depth_of_points<depth_at_once>(p, first);
  for (; first < p.num_points; ++first) depth_of_points<1>(p, first);
}

}  // namespace
}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(convolve_points_f32);
HWY_EXPORT(convolve_depth_f32);

void convolve_points(const PanelPoints& points) {
  HWY_DYNAMIC_DISPATCH(convolve_points_f32)(points);
}
void convolve_depth(const DepthPoints& points) {
  HWY_DYNAMIC_DISPATCH(convolve_depth_f32)(points);
}

}  // namespace bp::cpu::tile
#endif
