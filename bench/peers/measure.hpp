// How both sides of a pair are timed and reported, so that nothing differs but the code measured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {

// The time of `count` calls in a row, in nanoseconds per call.
template <class Call> double sample_ns(int64_t count, Call& call) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) call();
  std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(count);
}

// Nine samples of the time of one call, in nanoseconds, the shortest first. Each sample lasts at
// least 10 ms, or as many as BENCH_SAMPLE_MS says; finding how many calls that takes is also the warm-up.
template <class Call> std::vector<double> samples_ns(Call call) {
  const char* asked = std::getenv("BENCH_SAMPLE_MS");
  const double least_ns = asked ? std::atof(asked) * 1e6 : 10e6;
  int64_t count = 1;
  while (sample_ns(count, call) * static_cast<double>(count) < least_ns) count *= 2;
  std::vector<double> samples(9);
  for (double& sample : samples) sample = sample_ns(count, call);
  std::sort(samples.begin(), samples.end());
  return samples;
}

template <class Call> double median_ns(Call call) {
  return samples_ns(call)[4];
}

template <class Call> double best_ns(Call call) {
  return samples_ns(call)[0];
}

// One measured figure as a line of JSON, which run.py reads. `name` is one that rows.json knows.
inline void report(const char* name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name, value, unit);
  std::fflush(stdout);
}

}  // namespace bench
