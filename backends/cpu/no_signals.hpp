// Signals that would come at the wrong time.
#pragma once

#include <csignal>

namespace bp::cpu {

// All that can be blocked, without those of faults: blocked, they would end the process without its handler.
sigset_t all_but_faults();

// While it lives, the calling thread gets no signals but those of faults. oneDNN's older kernels for products keep values where
// the system writes a signal's frame: a handler that runs in the middle of one (Ctrl-C in Python) would change addresses that
// the kernel writes to. Threads that are made meanwhile, OpenMP's, inherit this for good.
class NoSignals {
 public:
  explicit NoSignals(bool are_meant = true);
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  const bool are_meant_;
  sigset_t before_;
};

}  // namespace bp::cpu
