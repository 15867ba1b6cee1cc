// Timing on a device: by its own clock for what it computes, by the host's for what giving work to it costs.
#pragma once

#include <algorithm>
#include <vector>

#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"

namespace bench {

inline double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The median time of a call on the device, in nanoseconds: samples of many calls in a row between two events, at least
// 4 ms each, so that neither the events nor the first launch count. Before them the card works at this case long enough
// for its clocks to settle: one that comes from idling may spend more power for a while than it may for long.
// bench/peers/cuda_pytorch.py does the same.
template <class Call> double device_ns(bp::Device device, Call call, double settling_ms = 300) {
  constexpr double least_ms = 4;
  constexpr int samples = 15, most_calls = 512;
  const bp::Stream stream = bp::Stream::current(device);
  bp::Event start(device), end(device);
  const auto sample_ms = [&](int count) {
    start.record(stream);
    for (int i = 0; i < count; ++i) call();
    end.record(stream);
    end.synchronize();
    return start.elapsed_ms(end);
  };
  for (int i = 0; i < 3; ++i) call();
  bp::synchronize(device);
  int count = 1;
  while (count < most_calls && sample_ms(count) < least_ms) count *= 2;
  for (double spent = 0; spent < settling_ms;) spent += sample_ms(count);
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) all.push_back(sample_ms(count) * 1e6 / count);
  return middle(all);
}

// The median time that a call takes from the host, in nanoseconds: so few calls in a row that the device's queue never
// fills, then a wait that does not count.
template <class Call> double host_ns(bp::Device device, Call call) {
  constexpr int samples = 25, count = 400;
  for (int i = 0; i < count; ++i) call();
  bp::synchronize(device);
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) {
    all.push_back(sample_ns(count, call));
    bp::synchronize(device);
  }
  return middle(all);
}

}  // namespace bench
