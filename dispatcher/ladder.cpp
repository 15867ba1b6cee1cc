#include "ladder.hpp"

#include <backplane/dispatcher/loader.hpp>
#include <backplane/tensor/check.hpp>

#include "counter_slots.hpp"
#include "kernel_table.hpp"
#include "launch.hpp"
#include "log.hpp"
#include "rung_policy.hpp"

namespace bp {
namespace {

void count(const Frame& frame, Rung rung) {
  if (UncountedScope::active()) return;
  const std::uint32_t first = counter_slot(frame.call.op, frame.backend());
  count_call(thread_state(), first + static_cast<std::uint32_t>(rung));
}

void warn(const Frame& frame, Rung rung) {
  if (rung_warns(frame.device(), rung))
    log_warning(
        fmt::format("{}: no kernel of {} takes this call as it is; it ran {} (further "
                    "calls are not reported; see call_counts)",
                    frame.op().name(), frame.record.name, name(rung)));
}

bool try_native(Frame& frame, const KernelTable* table) {
  if (!table) return false;
  for (std::uint32_t i = 0; i < table->num_candidates; ++i) {
    const Candidate& candidate = *table->candidates[i];
    if (accepts(candidate, frame) && launch(candidate, frame)) return true;
  }
  return false;
}

// Does every operator that the decomposition calls run on the backend without the host?
bool decomposes_on(const Operator& op, std::uint32_t backend, Dtype dtype, int depth = 0) {
  if (!op.decompose || depth > 8) return false;
  if (!op.uses) return true;  // a custom operator's: nobody knows
  for (const char* const* name = op.uses; *name; ++name) {
    const Operator* used = find_operator(*name);
    if (!used) return false;
    if (used->view || has_native(*used, backend, dtype)) continue;
    if (!decomposes_on(*used, backend, dtype, depth + 1)) return false;
  }
  return true;
}

bool try_decomposed(Frame& frame) {
  if (!decomposes_on(frame.op(), frame.backend(), frame.inferred.compute_dtype)) return false;
  UncountedScope uncounted;
  // That the operators inside have kernels for the dtype says nothing of layouts: if one of them would
  // go to the host, the whole goes there once.
  const PolicyScope on_the_device(Rung::host, Policy::forbid);
  try {
    frame.op().decompose(frame.call);
    return true;
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::unsupported) throw;
    return false;
  }
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

[[noreturn]] void fail(const Frame& frame) {
  count(frame, Rung::none);
  const std::string forbidden = forbidden_rungs(frame);
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

}  // namespace

bool has_native(const Operator& op, std::uint32_t backend, Dtype dtype) {
  const KernelTable* table = table_of(op, backend);
  if (!table) return false;
  for (std::uint32_t i = 0; i < table->num_candidates; ++i) {
    const Candidate& candidate = *table->candidates[i];
    bool takes = true;
    // Where arguments are not converted (an index beside values), the first tensor decides.
    for (std::size_t a = 0; a < candidate.args.size() && a < op.schema->arguments.size(); ++a) {
      if (op.schema->arguments[a].type != ArgumentType::tensor) continue;
      const DtypeSet set = candidate.args[a].dtypes;
      if (set && !contains(set, dtype)) takes = false;
      break;
    }
    if (takes) return true;
  }
  return false;
}

void climb(Frame& frame) {
  const KernelTable* table = table_of(frame.op(), frame.backend());
  if (try_native(frame, table)) return count(frame, Rung::native);
  if (table && table->num_candidates && rung_allowed(frame.device(), Rung::legalized) &&
      try_legalized(frame, *table)) {
    warn(frame, Rung::legalized);
    return count(frame, Rung::legalized);
  }
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
