// Where call counts are stored: one slot per operator, backend and rung, in an array per thread.
#pragma once

#include <cstdint>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/thread_state.hpp>

namespace bp {

std::uint32_t make_counter_slot(Operator& op, std::uint32_t backend);

// Called when an operator ends: its counts move to the row "joined". Nobody calls it any longer.
void fold_counters(const Operator& op);

// The first of the num_rungs slots for an operator on a backend; always the same for the same pair.
inline std::uint32_t counter_slot(Operator& op, std::uint32_t backend) {
  const std::uint32_t slot = op.counter_slots[backend].load(std::memory_order_relaxed);
  if (slot) [[likely]]
    return slot;
  return make_counter_slot(op, backend);
}

// Makes the thread's array large enough for `slot`.
void grow_counters(ThreadState& state, std::uint32_t slot);

// Counts one call. Only this thread writes to its array; readers use the same relaxed access.
inline void count_call(ThreadState& state, std::uint32_t slot) {
  if (slot >= state.num_counters) [[unlikely]]
    grow_counters(state, slot);
  std::uint64_t& counter = state.counters[slot];
  __atomic_store_n(&counter, counter + 1, __ATOMIC_RELAXED);
}

// Counts kernels that run and do not declare BP_KERNEL_DETERMINISTIC, in a slot that no operator uses.
inline constexpr std::uint32_t varying_slot = 1;
inline void count_varying() {
  count_call(thread_state(), varying_slot);
}

// While it lives, this thread's calls are part of another call and are not counted separately.
class UncountedScope {
 public:
  UncountedScope() { ++depth(); }
  ~UncountedScope() { --depth(); }
  UncountedScope(const UncountedScope&) = delete;
  UncountedScope& operator=(const UncountedScope&) = delete;
  static bool active() { return depth() != 0; }

 private:
  static std::uint32_t& depth() { return thread_state().uncounted_depth; }
};

}  // namespace bp
