#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp {
namespace {

constexpr void (*all_locks[])(ForkStep) = {fork_loader, fork_operators, fork_chains,  fork_registry,
                                           fork_plans,  fork_counters,  fork_reasons, fork_pinned};

void before_fork() {
  for (auto* lock : all_locks) lock(ForkStep::before);
}
void in_parent() {
  for (auto* lock : all_locks) lock(ForkStep::in_parent);
}
void in_child() {
  for (auto* lock : all_locks) lock(ForkStep::in_child);
}

// Handlers that come later take their locks earlier: the runtime's, which nest within these, are
// made to come first. Done when the library is loaded, which also makes what the locks guard: the
// guard of a static local is a lock that no handler can free.
[[maybe_unused]] const bool installed = [] {
  static_cast<void>(registered_devices());
  before_fork();
  in_parent();
  return pthread_atfork(before_fork, in_parent, in_child) == 0;
}();

}  // namespace
}  // namespace bp
