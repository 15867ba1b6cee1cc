// How far a run is, on a terminal in one line that changes, else in a plain line every few seconds.
#pragma once

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

#include "runner/journal.hpp"

namespace bp::conform {

class Progress {
 public:
  enum class Shows : std::uint8_t { nothing, failures, all };
  // `header`: the run's, for the commands that repeat a failure.
  Progress(std::size_t total, Shows shows, Json header = {}, std::FILE* to = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

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
  std::FILE* const to_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point printed_{};
  std::size_t done_ = 0, failures_ = 0, shown_failures_ = 0;
};

}  // namespace bp::conform
