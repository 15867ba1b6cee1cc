#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "counter_slots.hpp"

namespace bp {
namespace {

// Slots by (operator, backend), the arrays of all living threads, and the sums of those that ended.
// Never destroyed: threads may end after static destruction.
struct Slots {
  std::mutex mutex;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first;
  std::uint32_t next = num_rungs;  // the first slots stay unused: 0 means none
  std::vector<ThreadState*> threads;
  std::vector<std::uint64_t> ended;
  std::vector<std::uint64_t> base;  // what reset_call_counts takes off
};
Slots& slots() {
  static Slots* instance = new Slots;
  return *instance;
}

void add_thread_counts(const ThreadState& state, std::vector<std::uint64_t>& sums) {
  if (sums.size() < state.num_counters) sums.resize(state.num_counters);
  for (std::uint32_t i = 0; i < state.num_counters; ++i)
    sums[i] += __atomic_load_n(&state.counters[i], __ATOMIC_RELAXED);
}

void end_thread(ThreadState& state) {
  if (!state.counters) return;
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  add_thread_counts(state, s.ended);
  std::erase(s.threads, &state);
  delete[] state.counters;
  state.counters = nullptr;
  state.num_counters = 0;
}

std::vector<std::uint64_t> current_sums(const Slots& s) {
  std::vector<std::uint64_t> sums = s.ended;
  sums.resize(s.next);
  for (const ThreadState* state : s.threads) add_thread_counts(*state, sums);
  return sums;
}

}  // namespace

void fork_counters(ForkStep step) {
  take_through_fork(slots().mutex, step);
}

std::uint32_t make_counter_slot(Operator& op, std::uint32_t backend) {
  // A view of a meta tensor may be the process's first call, and its number is made here.
  if (!op.registered.load(std::memory_order_acquire)) ensure_operators();
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  const auto [it, added] = s.first.try_emplace({op.id, backend}, s.next);
  if (added) s.next += num_rungs;
  op.counter_slots[backend].store(it->second, std::memory_order_relaxed);
  return it->second;
}

void grow_counters(ThreadState& state, std::uint32_t slot) {
  static const bool hooked = (register_thread_exit(end_thread), true);
  static_cast<void>(hooked);
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  const std::uint32_t size = std::max(slot + 1, s.next) * 2;
  auto* counters = new std::uint64_t[size]();
  std::copy_n(state.counters, state.num_counters, counters);
  if (!state.counters) s.threads.push_back(&state);
  delete[] state.counters;
  state.counters = counters;
  state.num_counters = size;
}

const char* name(Rung rung) {
  static constexpr const char* names[] = {"native", "legalized", "generated", "decomposed",
                                          "host",   "view",      "none"};
  return names[static_cast<unsigned>(rung)];
}

std::vector<CallCount> call_counts() {
  std::map<std::uint32_t, std::string> backend_names;
  // By its devices, whose records outlive it: another thread may unload it now.
  for (const DeviceRecord* record : registered_devices())
    backend_names[record->backend_number] = record->name.substr(0, record->name.rfind(':'));
  std::map<std::uint32_t, std::string> op_names;
  for (const Operator* op : registered_operators()) op_names[op->id] = op->name();

  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  const std::vector<std::uint64_t> sums = current_sums(s);
  std::vector<CallCount> result;
  for (const auto& [pair, first] : s.first) {
    CallCount row;
    row.op = op_names[pair.first];
    row.backend = backend_names.contains(pair.second) ? backend_names[pair.second] : "(unloaded)";
    std::uint64_t total = 0;
    for (std::uint32_t r = 0; r < num_rungs; ++r) {
      const std::uint64_t base = first + r < s.base.size() ? s.base[first + r] : 0;
      row.calls[r] = sums[first + r] - base;
      total += row.calls[r];
    }
    if (total) result.push_back(std::move(row));
  }
  return result;
}

void reset_call_counts() {
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  s.base = current_sums(s);
}

std::string format_call_counts() {
  std::string text = fmt::format("{:<16} {:<12}", "operator", "backend");
  for (std::uint32_t r = 0; r < num_rungs - 1; ++r)
    text += fmt::format(" {:>10}", name(static_cast<Rung>(r)));
  text += '\n';
  for (const CallCount& row : call_counts()) {
    text += fmt::format("{:<16} {:<12}", row.op, row.backend);
    for (std::uint32_t r = 0; r < num_rungs - 1; ++r) text += fmt::format(" {:>10}", row.calls[r]);
    text += '\n';
  }
  return text;
}

}  // namespace bp
