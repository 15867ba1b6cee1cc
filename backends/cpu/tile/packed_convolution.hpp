// Convolutions of pictures whose channels lie next to each other, by weights in panels of 32 results, as vector code for f32.
#pragma once

#include <cmath>
#include <cstdint>

namespace bp::cpu::tile {

inline constexpr int64_t panel_width = 32;
inline constexpr int64_t points_at_once = 12;

// What is done with each sum before it is written.
struct Finish {
  float least, most;  // infinite where there is no limit; NaN stays

  bool has_limits() const { return std::isfinite(least) || std::isfinite(most); }
};

// Up to points_at_once points of the result, for the results of one panel.
struct PanelPoints {
  // [num_taps][points_at_once]: where the numbers that a point sees at a tap begin; `run` of them lie in a row.
  const float* const* seen;
  int64_t num_taps, run;
  int64_t begin, end;  // of a run: the numbers that are summed
  const float* panel;  // [num_taps][run][panel_width]
  const float* bias;   // of the panel's results; may be NULL
  const float* other;  // is added, and lies as the result does; may be NULL
  float* to;
  int64_t to_step;  // from a point to the next
  int64_t num_points, num_results;
  bool goes_on;   // with the sums that `to` has
  bool is_whole;  // then bias and other are added, and limits kept
  Finish finish;
};
void convolve_points(const PanelPoints& points);

// Up to depth_at_once points beside each other, where each channel has a result of its own.
inline constexpr int64_t depth_at_once = 4;
struct DepthPoints {
  const float* const*
      seen;  // [num_taps][depth_at_once]: where the channels begin that a point sees at a tap
  int64_t num_taps, channels;
  const float* weight;  // [num_taps][channels]
  const float* bias;    // may be NULL
  const float* other;   // [num_points][channels], as `to`; may be NULL
  float* to;
  int64_t num_points;
  Finish finish;
};
void convolve_depth(const DepthPoints& points);

}  // namespace bp::cpu::tile
