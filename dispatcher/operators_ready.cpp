#include <atomic>
#include <mutex>

#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/operator_source.hpp>

namespace bp {
namespace {

constinit std::mutex mutex;
constinit std::atomic<bool> ready{false};

}  // namespace

void fork_operators(ForkStep step) {
  take_through_fork(mutex, step);
}

void ensure_operators() {
  if (ready.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex);
  if (ready.load(std::memory_order_relaxed)) return;
  register_core_operators();
  ready.store(true, std::memory_order_release);
}

}  // namespace bp
