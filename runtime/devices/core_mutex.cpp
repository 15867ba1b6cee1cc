#include "devices/core_mutex.hpp"

#include <cstdlib>
#include <pthread.h>

namespace bp {

// Plain data with trivial destructors: locks are taken until the very end of the process.
struct ForkHandlers {
  using Hook = void (*)();
  static constinit std::mutex list_mutex;
  static constinit CoreMutex* first;
  static constinit Hook hooks[8];
  static constinit int num_hooks;
  static constinit std::atomic<std::uint8_t> tag;
  static constinit bool installed;

  static void before_fork() {
    list_mutex.lock();
    for (CoreMutex* mutex = first; mutex; mutex = mutex->after_) mutex->mutex_.lock();
  }
  static void in_parent() {
    for (CoreMutex* mutex = first; mutex; mutex = mutex->after_) mutex->mutex_.unlock();
    list_mutex.unlock();
  }
  static void in_child() {
    const auto next = static_cast<std::uint8_t>(tag.load(std::memory_order_relaxed) + 1);
    tag.store(next == 0 ? 1 : next, std::memory_order_relaxed);
    in_parent();
    for (int i = 0; i < num_hooks; ++i) hooks[i]();
  }
  static void install() {
    if (installed) return;
    installed = true;
    pthread_atfork(before_fork, in_parent, in_child);
  }
};

constinit std::mutex ForkHandlers::list_mutex;
constinit CoreMutex* ForkHandlers::first = nullptr;
constinit ForkHandlers::Hook ForkHandlers::hooks[8] = {};
constinit int ForkHandlers::num_hooks = 0;
constinit std::atomic<std::uint8_t> ForkHandlers::tag{1};
constinit bool ForkHandlers::installed = false;

CoreMutex::CoreMutex() {
  const std::lock_guard lock(ForkHandlers::list_mutex);
  ForkHandlers::install();
  after_ = ForkHandlers::first;
  if (after_) after_->before_ = this;
  ForkHandlers::first = this;
}

CoreMutex::~CoreMutex() {
  const std::lock_guard lock(ForkHandlers::list_mutex);
  if (after_) after_->before_ = before_;
  (before_ ? before_->after_ : ForkHandlers::first) = after_;
}

void run_in_forked_child(void (*hook)()) {
  const std::lock_guard lock(ForkHandlers::list_mutex);
  ForkHandlers::install();
  if (ForkHandlers::num_hooks < 8) ForkHandlers::hooks[ForkHandlers::num_hooks++] = hook;
}

std::uint8_t fork_tag() {
  return ForkHandlers::tag.load(std::memory_order_relaxed);
}

std::uint64_t thread_tag() {
  static constinit std::atomic<std::uint64_t> last{0};
  static constinit thread_local std::uint64_t mine = 0;
  if (mine == 0) mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

bool Turn::take() {
  const std::uint64_t me = thread_tag();
  for (;;) {
    std::uint64_t owner = 0;
    if (owner_.compare_exchange_strong(owner, me, std::memory_order_acquire)) return true;
    if (owner == me) return false;
    owner_.wait(owner, std::memory_order_relaxed);
  }
}

void Turn::give() {
  owner_.store(0, std::memory_order_release);
  owner_.notify_all();
}

}  // namespace bp
