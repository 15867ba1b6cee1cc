#include "convolution_planes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <backplane/abi.h>

#include "../constants.hpp"
#include "../host.hpp"
#include "../rounding.hpp"
#include "../threads.hpp"
#include "convolution_parts.hpp"
#include "tile/windows_of_planes.hpp"

namespace bp::cpu {
namespace {

using tile::results_at_once;

// What is padded, and what is seen of it by the points of the other pictures. The gradient to the input sees the results'
// gradients through the turned kernel.
struct Planes {
  explicit Planes(const ConvolutionKey& key)
      : pictures(key.large[0]), channels(key.way == to_input ? key.small[1] : key.large[1]),
        results(key.way == to_input ? key.large[1] : key.small[1]) {
    const int64_t* const from = key.way == to_input ? key.small : key.large;
    const int64_t* const to = key.way == to_input ? key.large : key.small;
    for (int64_t dim = 0; dim < key.rank; ++dim) {
      const int64_t reach = key.dilation[dim] * (key.weight[dim + 2] - 1);
      Axis& axis = axes[2 - key.rank + dim];
      axis = {from[dim + 2], to[dim + 2], key.weight[dim + 2], key.dilation[dim],
              key.way == to_input ? reach - key.padding[dim] : key.padding[dim]};
    }
  }

  struct Axis {
    int64_t size = 1, count = 1, kernel = 1, dilation = 1, before = 0;

    int64_t padded() const { return count + dilation * (kernel - 1); }
  };

  int64_t taps() const { return axes[0].kernel * axes[1].kernel; }
  int64_t num_places() const { return channels * taps(); }
  int64_t plane() const { return axes[0].count * axes[1].count; }
  int64_t seen_plane() const { return axes[0].size * axes[1].size; }
  int64_t padded_plane() const { return axes[0].padded() * axes[1].padded(); }
  int64_t padded_picture() const { return channels * padded_plane(); }
  int64_t padded_numbers() const { return pictures * padded_picture() + tile::padded_slack; }

  int64_t pictures, channels, results;
  Axis axes[2];
};

// Lines that lie beside the plane on the padded one's are zeros, and so are the ends of the others.
void pad_plane(const Planes& p, const float* from, float* to) {
  const auto &rows = p.axes[0], &columns = p.axes[1];
  const int64_t width = columns.padded();
  const int64_t count = std::min(columns.size, width - columns.before);
  std::fill_n(to, p.padded_plane(), 0.0f);
  for (int64_t y = 0; y < rows.size && y + rows.before < rows.padded(); ++y)
    std::copy_n(from + y * columns.size, count, to + (y + rows.before) * width + columns.before);
}

void pad_planes(const Planes& p, const float* from, float* to) {
  parallel_for(p.pictures * p.channels, divide_up(constants::element_grain, p.padded_plane()),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   pad_plane(p, from + i * p.seen_plane(), to + i * p.padded_plane());
               });
  std::fill_n(to + p.padded_numbers() - tile::padded_slack, tile::padded_slack, 0.0f);
}

std::vector<int64_t> places_of(const Planes& p) {
  std::vector<int64_t> places;
  places.reserve(static_cast<size_t>(p.num_places()));
  for (int64_t channel = 0; channel < p.channels; ++channel)
    for (int64_t y = 0; y < p.axes[0].kernel; ++y)
      for (int64_t x = 0; x < p.axes[1].kernel; ++x)
        places.push_back(channel * p.padded_plane() + y * p.axes[0].dilation * p.axes[1].padded() +
                         x * p.axes[1].dilation);
  return places;
}

tile::PlaneWindows windows_of(const Planes& p, const float* padded,
                              const std::vector<int64_t>& places) {
  return {padded,         p.padded_picture(), p.axes[1].padded(), places.data(),
          p.num_places(), p.pictures,         p.axes[0].count,    p.axes[1].count};
}

// Some pictures at a time, as many as stay in the first cache with four results' gradients.
void find_gradient(const Planes& p, const ConvolutionKey& key, const tile::PlaneWindows& all,
                   const float* gradients, float* weight) {
  const int64_t at_once =
      std::max<int64_t>(1, constants::plane_gradient_numbers / (results_at_once * p.plane()));
  const int64_t blocks = divide_up(p.results, results_at_once);
  parallel_parts(blocks, work_of(key) / constants::convolution_work, [&](int64_t block) {
    const int64_t result = block * results_at_once;
    for (int64_t first = 0; first < p.pictures; first += at_once) {
      tile::PlaneWindows some = all;
      some.padded += first * p.padded_picture();
      some.pictures = std::min(at_once, p.pictures - first);
      const int64_t picture = p.results * p.plane();
      tile::add_window_gradients({some, gradients + first * picture + result * p.plane(), picture,
                                  std::min(results_at_once, p.results - result),
                                  weight + result * p.num_places(), first > 0});
    }
  });
}

// [input channel][result][turned window].
void turn_weight(const Planes& p, const float* weight, float* turned) {
  const int64_t taps = p.taps();
  for (int64_t channel = 0; channel < p.channels; ++channel)
    for (int64_t result = 0; result < p.results; ++result)
      for (int64_t tap = 0; tap < taps; ++tap)
        turned[(result * p.channels + channel) * taps + tap] =
            weight[(channel * p.results + result) * taps + taps - 1 - tap];
}

void find_results(const Planes& p, const ConvolutionKey& key, const tile::PlaneWindows& all,
                  const float* weight, const float* bias, float* results) {
  parallel_parts(p.pictures, work_of(key) / constants::convolution_work, [&](int64_t picture) {
    tile::PlaneWindows own = all;
    own.padded += picture * p.padded_picture();
    own.pictures = 1;
    const int64_t numbers = p.results * p.plane();
    tile::sum_windows({own, weight, bias, p.results, results + picture * numbers, numbers});
  });
}

bool is_small(const Planes& p, const ConvolutionKey& key) {
  return key.large[1] <= constants::few_channels && p.plane() >= constants::least_own_plane &&
         p.plane() <= constants::largest_own_plane && work_of(key) <= constants::most_own_work;
}

}  // namespace

bool pays_by_planes(const ConvolutionKey& key) {
  if (key.dtype != BP_F32 || key.groups != 1 || key.rank > 2 || key.large_order != row_major ||
      key.small_order != row_major || key.weight_order != row_major)
    return false;
  if (dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core) return false;
  for (int64_t dim = 0; dim < key.rank; ++dim)
    if (key.stride[dim] != 1 || key.padding[dim] > key.dilation[dim] * (key.weight[dim + 2] - 1))
      return false;
  const Planes p(key);
  return p.taps() > 1 && is_small(p, key);
}

bool convolve_by_planes(const bp_call* call, const ConvolutionKey& key, const Addresses& at,
                        bp_code& code) {
  const Planes p(key);
  const auto numbers = [](char* data) { return reinterpret_cast<float*>(data); };
  const int64_t weights = key.way == to_input ? p.results * p.num_places() : 0;
  char* memory = nullptr;
  code = take_workspace(call, static_cast<uint64_t>(p.padded_numbers() + weights) * 4, memory);
  if (code != BP_OK) return true;
  float *const padded = numbers(memory), *const turned = padded + p.padded_numbers();
  pad_planes(p, numbers(key.way == to_input ? at.small : at.large), padded);
  const std::vector<int64_t> places = places_of(p);
  const tile::PlaneWindows windows = windows_of(p, padded, places);
  if (key.way == to_weight) {
    find_gradient(p, key, windows, numbers(at.small), numbers(at.weight));
    return tile::are_finite(numbers(at.weight), p.results * p.num_places());
  }
  if (key.way == to_input) turn_weight(p, numbers(at.weight), turned);
  float* const results = numbers(key.way == forwards ? at.small : at.large);
  find_results(p, key, windows, key.way == forwards ? numbers(at.weight) : turned,
               key.has_bias ? numbers(at.bias) : nullptr, results);
  return tile::are_finite(results, p.pictures * p.results * p.plane());
}

}  // namespace bp::cpu
