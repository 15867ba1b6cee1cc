// Which of several ways to do the same work on a stream is the fastest: measured, in a bounded time.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <functional>
#include <string>

namespace cuda_backend {

struct FastestWay {
  std::size_t way = 0;
  std::size_t num_measured = 0;    // 0: nothing was compared
  double us = 0, us_of_first = 0;  // medians
  double spent_ms = 0;
};

// The number of the way, of `num_ways`; 0 unless another takes less than `least_gain` of its time. `give(way)` gives the work to the stream once,
// and says whether it could. Takes at most about 30 ms, and mostly less, beside what the first run of way 0 loads; of work
// that takes longer than 5 ms, two runs, after which 0 is taken. The stream is idle before and after, and records nothing.
FastestWay find_fastest_way(cudaStream_t stream, std::size_t num_ways, double least_gain,
                            const std::function<bool(std::size_t)>& give);

// The same, kept for later processes by the host's tuner (extensions/tuner.h): `what` says what is compared, with the versions of the
// libraries that make the list of ways. Nothing is measured where the way is known, and 0 is taken where nothing can be.
struct Comparison {
  std::string what;
  std::size_t num_ways = 0;
  double least_gain = 1;
};
std::size_t kept_fastest_way(cudaStream_t stream, const Comparison& comparison,
                             const std::function<bool(std::size_t)>& give,
                             const std::function<void(const FastestWay&)>& measured);

// Whether the application lets ways be measured; what was measured may differ from one process to the next, and so may
// the bits of results.
bool measuring_is_on();

// False while the stream records, for us or for the application: nothing would run before that ends.
bool can_measure_on(cudaStream_t stream);

}  // namespace cuda_backend
