// Which of several ways to do the same work is the fastest on a device: measured at the first call that is worth it, then
// kept on disk, so that a machine decides once. For the core, generated kernels and plugins (extension bp.tuner).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/api.hpp>

namespace bp::tuner {

// By BACKPLANE_TUNE. In deterministic mode nothing is measured and way 0 is taken, whatever this says.
enum class Mode {
  off,   // 0: way 0 is taken everywhere
  kept,  // kept: what is on disk counts, and nothing is measured: the same choices in every process
  usual,    // 1, and where nothing is said
  patient,  // all: also what is measured on request alone, and as long as it takes for times to agree
};
BP_API Mode mode();
// Instead of the environment's.
BP_API void set_mode(Mode mode);

// What is to be decided. Whatever changes the answer is in `what` or `identity`.
struct Question {
  std::string_view what;  // the decision, the version of its list of ways, and the class of shapes
  std::string_view identity;  // the device, its driver, and how many threads
  std::size_t num_ways = 0;   // 0 is the one to take unmeasured
  // A way that takes at least this share of way 0's time may be faster by chance, and 0 has been looked at on more
  // machines.
  double least_gain = 0.97;
  double budget_seconds = 1.0;  // about so long is measured
  bool on_request = false;      // measured in mode `patient` alone
};

// The number of the way to take, as decided before, in this process or an earlier one, or by `measure`, which does the
// work the given way and returns the seconds that it took. It may throw for a way that does not work, which is then
// not taken; a throw for way 0 leaves the decision open. While one thread measures, others that ask the same wait. Threads:
// any. Throws nothing of its own.
BP_API std::size_t choose(const Question& question,
                          const std::function<double(std::size_t)>& measure);

// The same for a caller that compares the ways itself: `decide` returns the way, or throws to leave
// the decision open.
BP_API std::size_t keep(const Question& question, const std::function<std::size_t()>& decide);

struct Decision {
  std::string what, identity;
  std::size_t way = 0, num_ways = 0;
  std::vector<double> seconds;  // by way, at best; 0: not measured
};
// All that are on disk. They may be of other versions, and of devices that are no longer here.
BP_API std::vector<Decision> kept_decisions();
// Deletes these, and what this process remembers; returns how many there were on disk.
BP_API std::uint64_t forget_kept();

// How many questions of this process were measured and stay open, since the work could not be done or its times did not agree.
BP_API std::uint64_t num_left_open();

// The next choice is read from disk again, or measured. For tests.
BP_API void forget();

}  // namespace bp::tuner
