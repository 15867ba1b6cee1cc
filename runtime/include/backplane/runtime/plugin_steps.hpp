// Which function of a plugin is about to be called while it is loaded, opened, closed and unloaded:
// for a process whose purpose is to find out in which of them it ends.
#pragma once

#include <atomic>

#include <backplane/tensor/api.hpp>

namespace bp {

// Is told "bp_plugin.init" and the like before the call, on the thread that makes it. Must not throw.
using PluginStepObserver = void (*)(const char* function);

namespace detail {
extern BP_API std::atomic<PluginStepObserver> plugin_step_observer;
}

inline void observe_plugin_steps(PluginStepObserver observer) {
  detail::plugin_step_observer.store(observer, std::memory_order_release);
}
inline void at_plugin_step(const char* function) {
  if (const auto observer = detail::plugin_step_observer.load(std::memory_order_acquire))
    observer(function);
}

}  // namespace bp
