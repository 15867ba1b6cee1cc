#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <ostream>
#include <utility>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "counter_slots.hpp"
#include "registered_chains.hpp"

namespace bp {
namespace {

using RungCounts = std::array<std::uint64_t, num_rungs>;

// Slots by (operator, backend), the arrays of all living threads, and the sums of those that ended.
// Never destroyed: threads may end after static destruction.
struct Slots {
  std::mutex mutex;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first;
  std::uint32_t next = num_rungs;              // the first slots stay unused: 0 means none
  std::vector<std::uint32_t> free;             // of operators that have ended
  std::map<std::uint32_t, RungCounts> folded;  // what they counted, by backend
  std::vector<ThreadState*> threads;
  std::vector<std::uint64_t> ended;
  std::vector<std::uint64_t>
      base;  // to be taken off: counted before a reset, or by a slot's former operators
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

RungCounts counts_of(const Slots& s, const std::vector<std::uint64_t>& sums, std::uint32_t first) {
  RungCounts calls;
  for (std::uint32_t r = 0; r < num_rungs; ++r)
    calls[r] = sums[first + r] - (first + r < s.base.size() ? s.base[first + r] : 0);
  return calls;
}

std::uint32_t take_slot(Slots& s) {
  if (s.free.empty()) return std::exchange(s.next, s.next + num_rungs);
  const std::uint32_t first = s.free.back();
  s.free.pop_back();
  return first;
}

std::map<std::uint32_t, std::string> names_of_backends() {
  std::map<std::uint32_t, std::string> names;
  // By their devices, whose records outlive them: another thread may unload one now.
  for (const DeviceRecord* record : registered_devices())
    names[record->backend_number] = record->name.substr(0, record->name.rfind(':'));
  return names;
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
  const auto [it, added] = s.first.try_emplace({op.id, backend}, 0);
  if (added) it->second = take_slot(s);
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

std::ostream& operator<<(std::ostream& stream, Rung rung) {
  return stream << name(rung);
}

std::vector<CallCount> call_counts() {
  const auto backends = names_of_backends();
  // Before the slots are asked: an operator that ends meanwhile is folded first, and then forgotten.
  const auto operators = names_of_operators();
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  const std::vector<std::uint64_t> sums = current_sums(s);
  std::vector<CallCount> result;
  const auto add_row = [&](const std::string& op, std::uint32_t backend, const RungCounts& calls) {
    if (std::all_of(calls.begin(), calls.end(), [](std::uint64_t each) { return each == 0; }))
      return;
    const auto found = backends.find(backend);
    CallCount& row = result.emplace_back();
    row.op = op;
    row.backend = found == backends.end() ? "(unloaded)" : found->second;
    std::copy(calls.begin(), calls.end(), row.calls);
  };
  for (const auto& [pair, first] : s.first) {
    const auto found = operators.find(pair.first);
    add_row(found == operators.end() ? "joined" : found->second, pair.second,
            counts_of(s, sums, first));
  }
  for (const auto& [backend, calls] : s.folded) add_row("joined", backend, calls);
  return result;
}

std::uint64_t varying_calls() {
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  return current_sums(s)[varying_slot];
}

void reset_call_counts() {
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  s.base = current_sums(s);
  s.folded.clear();
}

void fold_counters(const Operator& op) {
  Slots& s = slots();
  std::lock_guard lock(s.mutex);
  const auto begin = s.first.lower_bound({op.id, 0});
  const auto end = s.first.lower_bound({op.id + 1, 0});
  if (begin == end) return;
  const std::vector<std::uint64_t> sums = current_sums(s);
  s.base.resize(std::max(s.base.size(), sums.size()));
  s.free.reserve(s.free.size() + max_backends);
  for (auto each = begin; each != end; ++each) {
    const std::uint32_t first = each->second;
    const RungCounts calls = counts_of(s, sums, first);
    RungCounts& folded = s.folded[each->first.second];
    for (std::uint32_t r = 0; r < num_rungs; ++r) {
      folded[r] += calls[r];
      s.base[first + r] = sums[first + r];
    }
    s.free.push_back(first);
  }
  s.first.erase(begin, end);
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
