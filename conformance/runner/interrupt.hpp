// Ctrl-C: the first one asks to stop, the second one ends the process.
#pragma once

#include <atomic>

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

}  // namespace bp::conform
