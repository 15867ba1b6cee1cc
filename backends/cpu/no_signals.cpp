#include "no_signals.hpp"

#include <pthread.h>

namespace bp::cpu {

sigset_t all_but_faults() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    sigdelset(&signals, fault);
  return signals;
}

NoSignals::NoSignals(bool are_meant) : are_meant_(are_meant) {
  if (!are_meant) return;
  const sigset_t blocked = all_but_faults();
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

NoSignals::~NoSignals() {
  if (are_meant_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace bp::cpu
