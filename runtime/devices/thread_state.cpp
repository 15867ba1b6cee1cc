#include <atomic>
#include <mutex>
#include <new>
#include <pthread.h>

#include <backplane/runtime/initial_layers.hpp>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/core_mutex.hpp"
#include "devices/thread_list.hpp"

namespace bp {
namespace {

struct ListedState : ThreadState {
  ListedState* before = nullptr;
  ListedState* after = nullptr;
};

using ExitHook = void (*)(ThreadState&);

struct Threads {
  CoreMutex mutex;
  ListedState* first = nullptr;
  ExitHook hooks[8] = {};
  int num_hooks = 0;
  pthread_key_t key = 0;
  bool has_key = false;
  std::atomic<int> num_returning{0};  // threads that are ending, and give their blocks back
};

void end_thread(void* state);

// Never destroyed: states are made and dropped by destructors of static objects, too.
Threads& threads() {
  static Threads& all = *[] {
    auto* made = new Threads;
    made->has_key = pthread_key_create(&made->key, end_thread) == 0;
    run_in_forked_child([] { threads().num_returning = 0; });  // they are not in the child
    return made;
  }();
  return all;
}
BP_MADE_AT_LOAD(threads);

// A pthread key and not a thread_local's destructor, because keys are destroyed after all
// thread_local objects and again if a later key's destructor has made a new state; and not at all on
// the main thread, so that static destructors find everything as it was.
void end_thread(void* pointer) {
  auto* state = static_cast<ListedState*>(pointer);
  Threads& all = threads();
  detail::current_thread_state = state;
  ExitHook hooks[8];
  int num_hooks = 0;
  {
    const std::lock_guard lock(all.mutex);
    num_hooks = all.num_hooks;
    for (int i = 0; i < num_hooks; ++i) hooks[i] = all.hooks[i];
  }
  for (int i = 0; i < num_hooks; ++i) hooks[i](*state);
  {
    const std::lock_guard lock(all.mutex);
    ++all.num_returning;
    if (state->after) state->after->before = state->before;
    (state->before ? state->before->after : all.first) = state->after;
  }
  return_thread_caches(*state);
  --all.num_returning;
  all.num_returning.notify_all();
  detail::current_thread_state = nullptr;
  delete state;
}

}  // namespace

namespace detail {

constinit thread_local ThreadState* current_thread_state = nullptr;

ThreadState& make_thread_state() {
  Threads& all = threads();
  const std::uint64_t layers = initial_layers();
  auto* state = new ListedState;
  state->included_layers = layers;
  // Without a key the state is only leaked at the thread's end.
  if (all.has_key) pthread_setspecific(all.key, state);
  const std::lock_guard lock(all.mutex);
  state->after = all.first;
  if (all.first) all.first->before = state;
  all.first = state;
  current_thread_state = state;
  return *state;
}

}  // namespace detail

void register_thread_exit(void (*hook)(ThreadState& state)) {
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  BP_CHECK(all.num_hooks < 8,
           "register_thread_exit: 8 hooks are registered, which is all there "
           "is room for; join some of them");
  all.hooks[all.num_hooks++] = hook;
}

void forget_device_in_threads(std::uint32_t number) {
  Threads& all = threads();
  std::unique_lock lock(all.mutex);
  for (ListedState* state = all.first; state; state = state->after) {
    state->streams[number] = nullptr;
    state->caches[number] = nullptr;
    if (state->has_default_device && state->default_device.number == number)
      state->has_default_device = false;
  }
  // A thread that is ending is on no list any more, but may still return blocks of the device.
  lock.unlock();
  for (int ending = all.num_returning; ending; ending = all.num_returning)
    all.num_returning.wait(ending);
}

}  // namespace bp
