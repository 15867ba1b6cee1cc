#include "ladder.hpp"

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/rung_policy.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/tensor/check.hpp>

#include "counter_slots.hpp"
#include "kernel_table.hpp"
#include "measured.hpp"
#include "observe.hpp"
#include "reasons.hpp"

namespace bp {
namespace {

void count(const Frame& frame, Rung rung) {
  tell_observer(rung);
  if (UncountedScope::active()) return;
  const std::uint32_t first = counter_slot(frame.call.op, frame.backend());
  const std::uint32_t slot = first + static_cast<std::uint32_t>(rung);
  ThreadState& state = thread_state();
  count_call(state, slot);
  if (rung != Rung::native && rung != Rung::generated && state.counters[slot] == 1) [[unlikely]]
    keep_reason(frame, rung);
}

void warn(const Frame& frame, Rung rung) {
  if (rung_warns(frame.device(), rung))
    log_warning(
        fmt::format("{}: no kernel of {} takes this call as it is; it ran {} (further "
                    "calls are not reported; 'backplane fallbacks' counts them)",
                    frame.op().name(), frame.record.name, name(rung)));
}

// Rungs 1 and 3: the candidates from `first` up to `end`.
bool try_candidates(Frame& frame, const KernelTable& table, std::uint32_t first,
                    std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i) {
    const Candidate& candidate = *table.candidates[i];
    if (accepts(candidate, frame) && launch(candidate, frame)) return true;
  }
  return false;
}

// What a kernel writes into a converted argument, its caller would never see.
bool can_legalize(const Frame& frame) {
  return rung_allowed(frame.device(), Rung::legalized) && !frame.op().mutates;
}

std::string kernels_of(const Frame& frame) {
  std::string text;
  // By their devices, whose records outlive them: another thread may unload a backend now.
  for (const DeviceRecord* record : registered_devices()) {
    const KernelTable* table = table_of(frame.op(), record->backend_number);
    if (!record->name.ends_with(":0") || !table || !table->num_candidates) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        record->name.substr(0, record->name.rfind(':')));
  }
  return text.empty() ? "none" : text;
}

std::string forbidden_rungs(const Frame& frame) {
  std::string text;
  for (Rung rung : {Rung::legalized, Rung::generated, Rung::decomposed, Rung::host})
    if (!rung_allowed(frame.device(), rung))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name(rung));
  return text;
}

// A kernel would have taken the call, had it found room.
[[noreturn]] void fail_for_shortage(const Frame& frame, const std::string& forbidden) {
  throw_error(
      ErrorClass::out_of_memory,
      fmt::format("{}: {}{}", frame.op().name(), frame.shortage,
                  forbidden.empty()
                      ? std::string()
                      : fmt::format("; ways without that memory are forbidden by policy: {}; "
                                    "allow one with set_policy",
                                    forbidden)));
}

[[noreturn]] void fail(const Frame& frame) {
  count(frame, Rung::none);
  const std::string forbidden = forbidden_rungs(frame);
  if (!frame.shortage.empty()) fail_for_shortage(frame, forbidden);
  Device host;
  std::string way_out;
  if (!forbidden.empty())
    way_out = fmt::format("forbidden by policy: {}; allow it with set_policy", forbidden);
  else if (!find_host_device(host))
    way_out =
        "the host cannot take it either, since no plugin offers the device 'cpu'; put the cpu "
        "plugin where plugins are found ('backplane doctor' shows the places)";
  else
    way_out = "cast the arguments to a dtype that one of these supports";
  throw_error(ErrorClass::unsupported,
              fmt::format("{}: {} has no kernel for {} in {}; backends with kernels for it: {}; {}",
                          frame.op().name(), frame.record.name, frame.op().name(),
                          name(frame.inferred.compute_dtype), kernels_of(frame), way_out));
}

// Its parts climb, warn and count each for itself, as if no backend ever had a kernel of it. An operator of a plugin does
// not say what its parts are.
bool is_composite_row(const Operator& op) {
  return op.kind == BP_KIND_COMPOSITE && op.decompose && op.uses;
}

}  // namespace

bool has_kernel(const Operator& op, std::uint32_t backend, Dtype dtype) {
  const KernelTable* table = table_of(op, backend);
  if (!table) return false;
  for (std::uint32_t i = 0; i < table->num_candidates; ++i) {
    const Candidate& candidate = *table->candidates[i];
    bool takes = true;
    // Of the arguments that are converted to it, the first tensor decides: not an index, nor a condition.
    for (std::size_t a = 0; a < candidate.num_known; ++a) {
      if (op.schema->arguments[a].type != ArgumentType::tensor) continue;
      if (op.promoted != 0 && !(op.promoted >> a & 1u)) continue;
      if (!contains(candidate.args[a].dtypes, dtype)) takes = false;
      break;
    }
    if (takes) return true;
  }
  return false;
}

void climb(Frame& frame) {
  if (const KernelTable* table = table_of(frame.op(), frame.backend())) {
    const std::uint32_t native = table->num_native, all = table->num_candidates;
    if (table->has_measured) {
      if (const Candidate* ran = try_measured(frame, *table)) {
        if (ran->rung == Rung::generated) warn(frame, ran->rung);
        return count(frame, ran->rung);
      }
    }
    if (try_candidates(frame, *table, 0, native)) return count(frame, Rung::native);
    if (native && can_legalize(frame) && try_legalized(frame, *table)) {
      warn(frame, Rung::legalized);
      return count(frame, Rung::legalized);
    }
    if (all > native && rung_allowed(frame.device(), Rung::generated) &&
        try_candidates(frame, *table, native, all)) {
      warn(frame, Rung::generated);
      return count(frame, Rung::generated);
    }
  }
  if (is_composite_row(frame.op())) return run_decomposition(frame.op(), frame.call);
  if (rung_allowed(frame.device(), Rung::decomposed) && try_decomposed(frame)) {
    warn(frame, Rung::decomposed);
    return count(frame, Rung::decomposed);
  }
  if (rung_allowed(frame.device(), Rung::host) && try_host(frame)) {
    warn(frame, Rung::host);
    return count(frame, Rung::host);
  }
  fail(frame);
}

}  // namespace bp
