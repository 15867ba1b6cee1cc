// Which of several ways to do the same is the fastest on a device: measured at the first call that is worth
// it, then kept on disk beside the compiled binaries, so that a machine decides once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace bp::codegen::tuner {

// Off with BACKPLANE_TUNE=0: the first way is taken everywhere, and nothing is measured or kept.
bool enabled();

// The number of the way to take, of `num_ways`; 0 is the one to take unmeasured. `what` names the decision
// and its version, `identity` the device and driver. `measure` does the work the given way and returns
// the seconds that it took; it may throw for a way that does not work, which is then not taken, and a
// throw for way 0 leaves the decision open. Measuring ends when about `budget_seconds` are spent. While one
// thread measures, others get 0.
// Threads: any. Throws nothing of its own.
std::size_t choose(std::string_view what, std::string_view identity, std::size_t num_ways,
                   const std::function<double(std::size_t)>& measure, double budget_seconds = 1.0);

// The next choice is read from disk again, or measured. For tests.
void forget();

}  // namespace bp::codegen::tuner
