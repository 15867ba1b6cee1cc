// Our side and its peers, measured in turns in one process: what else the machine does meanwhile hits all
// of them alike.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "../peers/measure.hpp"

namespace bench {

// One side: `call` gives work to the device, `finish` waits for all of it.
struct Side {
  std::function<void()> call, finish;
};

inline double sample_ns(const Side& side, std::int64_t count) {
  std::int64_t left = 1;
  auto all = [&] {
    for (std::int64_t i = 0; i < count; ++i) side.call();
    side.finish();
  };
  return sample_ns(left, all) / static_cast<double>(count);
}

// How many calls take 20 ms; also the warm-up.
inline std::int64_t calls_of_sample(const Side& side) {
  std::int64_t count = 1;
  sample_ns(side, 1);
  while (sample_ns(side, count) * static_cast<double>(count) < 20e6) count *= 2;
  return count;
}

// The median time of a call of each side, in nanoseconds.
inline std::vector<double> take_turns(const std::vector<Side>& sides, int rounds) {
  std::vector<std::int64_t> counts;
  for (const Side& side : sides) counts.push_back(calls_of_sample(side));
  std::vector<std::vector<double>> samples(sides.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < sides.size(); ++i)
      samples[i].push_back(sample_ns(sides[i], counts[i]));
  std::vector<double> medians;
  for (std::vector<double>& of_side : samples) {
    const auto middle = of_side.begin() + static_cast<std::ptrdiff_t>(of_side.size() / 2);
    std::nth_element(of_side.begin(), middle, of_side.end());
    medians.push_back(*middle);
  }
  return medians;
}

// One figure as a line of JSON, which bench/peers/opencl.py reads.
inline void report(const char* side, const std::string& name, double value, const char* unit) {
  std::printf("{\"side\": \"%s\", \"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", side,
              name.c_str(), value, unit);
  std::fflush(stdout);
}

}  // namespace bench
