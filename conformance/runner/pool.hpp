// Many cases on several workers at once, how far they are, and Ctrl-C.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runner/execute.hpp"
#include "runner/journal.hpp"

namespace bp::conform {

// While one lives, SIGINT and SIGTERM set `requested` instead of ending the process. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static std::atomic<bool>& requested();
};

class Progress {
 public:
  enum class Shows : std::uint8_t { nothing, failures, all };
  // On the standard error. `header`: the run's, for the commands that repeat a failure.
  Progress(std::size_t total, Shows shows, Json header = {});
  ~Progress();

  void take(const Record& record);  // threads: any
  // Prints if it is time; called every 100 ms or so.
  void tick();
  double seconds() const;

 private:
  std::string line() const;

  using Clock = std::chrono::steady_clock;
  mutable std::mutex lock_;
  const std::size_t total_;
  const Shows shows_;
  const bool terminal_;
  const Json header_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point printed_{};
  std::size_t done_ = 0, failures_ = 0;
};

// Runs all cases with `jobs` threads, each with workers of its own, and hands every settled record to `sink` (one at a
// time). It ends early when `sink` returns false or the bench's `stop` is set; cases in hand are then dropped. What
// `sink` throws ends the pool and is thrown again here.
void run_pool(const Bench& bench, const std::vector<Case>& cases, int jobs, Progress& progress,
              const std::function<bool(const Record&)>& sink);

}  // namespace bp::conform
