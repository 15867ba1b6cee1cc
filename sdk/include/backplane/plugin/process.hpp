// For drivers that do not survive fork(): is this still the process in which the driver was started? And for plugins whose
// memory does: locks that forks wait for. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_PROCESS_HPP
#define BACKPLANE_PLUGIN_PROCESS_HPP

#include <atomic>
#include <mutex>
#include <pthread.h>

#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

namespace detail {
inline std::atomic<uint32_t> forks{0};
}

// Rises in a forked child. A counter is read in a nanosecond; getpid() is a system call, and every launch asks.
inline uint32_t process_generation() {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { detail::forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return detail::forks.load(std::memory_order_relaxed);
}

// `born`: process_generation() when what is used was made; BP_DEVICE_LOST in a process forked since, where nothing of the
// driver may be touched.
inline Status check_process(uint32_t born) {
  if (detail::forks.load(std::memory_order_relaxed) == born) [[likely]]
    return ok;
  return device_lost("the device was opened before fork() and cannot follow into the child");
}

// Makes every fork from now on wait for `mutex`, so that a child never finds it held by a thread that it does not have. For
// a plugin that works in the child; call it while the plugin is loaded. Under the mutex call nothing of the host's and take
// no second one of these: a fork takes them in an order of its own.
template <std::mutex& mutex> bool forks_wait_for() {
  return pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); }) == 0;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_PROCESS_HPP
