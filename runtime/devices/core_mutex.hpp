// The locks of the core: held for moments, never two at once, never while a plugin is called, and
// free in the child of a fork.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace bp {

// A mutex that fork() takes first and gives back in parent and child, so that the child never finds
// one held by a thread that it does not have. Because all of them are leaves, fork may take them in
// any order. Making or destroying one while holding another would break that: don't. The guard of a
// static local would be a lock that fork does not know, so who keeps one in a static local makes it
// when the library is loaded (BP_MADE_AT_LOAD).
class CoreMutex {
 public:
  CoreMutex();
  ~CoreMutex();
  CoreMutex(const CoreMutex&) = delete;
  CoreMutex& operator=(const CoreMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct ForkHandlers;
  std::mutex mutex_;
  CoreMutex* before_ = nullptr;
  CoreMutex* after_ = nullptr;
};

#define BP_MADE_AT_LOAD(function) \
  [[maybe_unused]] const bool function##_is_made = (static_cast<void>(function()), true)

// Runs `hook` in the child of every fork from now on, after the locks are free. There is room for 8.
void run_in_forked_child(void (*hook)());

// Differs between a process and its forked children; never 0.
std::uint8_t fork_tag();

// Whose turn it is to call a function of a plugin that takes one caller at a time. Not a lock on
// anything of ours: a plugin may call back into the core, from this thread or another, meanwhile.
class Turn {
 public:
  // Waits for the turn; false if this thread has it already (the plugin called back).
  bool take();
  void give();
  void forget_after_fork() { owner_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> owner_{0};
};

// A number of this thread, never 0.
std::uint64_t thread_tag();

}  // namespace bp
