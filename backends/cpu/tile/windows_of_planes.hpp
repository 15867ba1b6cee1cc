// Convolutions of stride 1 and their gradients to kernels on planes that lie in rows with zeros around, as vector code for f32.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

// Numbers behind the last padded plane that a vector may read; they must be finite.
inline constexpr int64_t padded_slack = 16;

// Results that share what is loaded: a multiple at a time is served best.
inline constexpr int64_t results_at_once = 4;

// How results of `height` times `width` points see padded planes.
struct PlaneWindows {
  const float* padded;     // [picture][channel][line][padded_width]
  int64_t padded_picture;  // numbers from a picture to the next
  int64_t padded_width;
  // [num_places]: where the first point sees its number, from the start of a picture.
  const int64_t* places;
  int64_t num_places;
  int64_t pictures, height, width;
};

// weight[result][place] (+)= the sums, over all points, of what is seen there times the result's gradients, which lie as
// [picture][result][height][width] with so many numbers from a picture to the next. For some results.
struct WindowGradient {
  PlaneWindows windows;
  const float* gradients;
  int64_t gradients_picture;
  int64_t num_results;
  float* weight;
  bool add;
};
void add_window_gradients(const WindowGradient& gradient);

// result = bias + the sums, over all places, of what is seen there times weight[result][place]. For some results of one picture or
// several, which lie as gradients do.
struct WindowSums {
  PlaneWindows windows;
  const float* weight;
  const float* bias;  // may be NULL
  int64_t num_results;
  float* results;
  int64_t results_picture;
};
void sum_windows(const WindowSums& sums);

bool are_finite(const float* numbers, int64_t count);

}  // namespace bp::cpu::tile
