// The dispatcher's locks around fork(): taken before it, outermost first and before the runtime's, and released
// in parent and child after it. So a child never finds one held by a thread that does not exist in it.
#pragma once

#include <pthread.h>

namespace bp {

enum class ForkStep { before, in_parent, in_child };

// Each file handles its own lock; they nest in this order.
void fork_loader(ForkStep step);
void fork_operators(ForkStep step);
void fork_chains(ForkStep step);
void fork_pinned(ForkStep step);
void fork_registry(ForkStep step);
void fork_plans(ForkStep step);
void fork_counters(ForkStep step);
void fork_reasons(ForkStep step);

// For a std::mutex.
template <class Mutex> void take_through_fork(Mutex& mutex, ForkStep step) {
  if (step == ForkStep::before)
    mutex.lock();
  else
    mutex.unlock();
}

}  // namespace bp
