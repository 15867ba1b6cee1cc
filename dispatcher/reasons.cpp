#include "reasons.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <tuple>

#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/rung_policy.hpp>

#include "kernel_table.hpp"
#include "ladder.hpp"

namespace bp {
namespace {

// Never destroyed: threads may end after static destruction.
struct Reasons {
  std::mutex mutex;
  std::map<std::tuple<std::string, std::string, Rung>, std::string> first;
};
Reasons& reasons() {
  static Reasons* instance = new Reasons;
  return *instance;
}

std::string names_of_dtypes(DtypeSet dtypes) {
  std::string text;
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (contains(dtypes, static_cast<Dtype>(i)))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name(static_cast<Dtype>(i)));
  return text.empty() ? "no dtype" : text;
}

// "exp", "exp and sum", "exp, sum and 3 more"
std::string some_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return names[0] + " and " + names[1];
  if (names.size() == 3) return fmt::format("{}, {} and {}", names[0], names[1], names[2]);
  return fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
}

std::string layouts_of(std::uint32_t layouts) {
  if (layouts & BP_LAYOUT_STRIDED) return "strided";
  if (layouts & BP_LAYOUT_DENSE) return "dense";
  if (layouts & BP_LAYOUT_CONTIGUOUS) return "contiguous";
  return "other";
}

// What the candidates say of the argument in `place`, against what the call has there. Empty: it would do.
std::string mismatch_at(const KernelTable& table, std::uint32_t place, const bp_tensor& tensor) {
  DtypeSet dtypes = 0;
  std::uint32_t layouts = 0;
  for (std::uint32_t i = 0; i < table.num_native; ++i) {
    const Candidate& candidate = *table.candidates[i];
    if (place >= candidate.num_known) continue;
    dtypes |= candidate.args[place].dtypes;
    if (candidate.args[place].dtypes >> tensor.dtype & 1u) layouts |= candidate.args[place].layouts;
  }
  if (!(dtypes >> tensor.dtype & 1u))
    return fmt::format("{}, not {}", names_of_dtypes(dtypes),
                       name(static_cast<Dtype>(tensor.dtype)));
  if (!(layouts & tensor.flags))
    return fmt::format("{} tensors, and this one of shape {} has strides {}", layouts_of(layouts),
                       to_string({tensor.dl.shape, static_cast<std::size_t>(tensor.dl.ndim)}),
                       to_string({tensor.dl.strides, static_cast<std::size_t>(tensor.dl.ndim)}));
  return {};
}

// Why rung 1 did not take the call.
std::string why_not_native(const Frame& frame) {
  const Operator& op = frame.op();
  const KernelTable* table = table_of(op, frame.backend());
  if (!table || table->num_native == 0) return fmt::format("no kernel of {}", op.name());
  std::string found;
  for_each_tensor(frame.call, [&](std::uint32_t place, const bp_tensor& tensor) {
    if (!found.empty()) return;
    if (const std::string is = mismatch_at(*table, place, tensor); !is.empty())
      found = fmt::format("its kernel takes '{}' as {}", op.schema->arguments[place].name, is);
  });
  return found.empty() ? "its kernel declined this call" : found;
}

bool has_kernels(const char* name, const Frame& frame) {
  const Operator* op = find_operator(name);
  const KernelTable* table = op ? table_of(*op, frame.backend()) : nullptr;
  return table && table->num_candidates != 0;
}

// Which of the operators that convert tensors has no kernel here; null: both have.
const char* missing_conversion(const Frame& frame) {
  const bool copies = has_kernels("copy", frame), casts = has_kernels("cast", frame);
  return copies ? casts ? nullptr : "cast" : casts ? "copy" : "copy or cast";
}

// What keeps rung 2 from converting the call for the kernel that there is. Empty: nothing that is known.
std::string why_not_legalized(const Frame& frame) {
  if (frame.op().mutates) return "it writes into its arguments, which cannot be converted";
  if (!rung_allowed(frame.device(), Rung::legalized)) return "a policy forbids converting them";
  const char* missing = missing_conversion(frame);
  if (!missing) return {};
  return fmt::format("converting it needs {0}, which has no kernel here; register {0}", missing);
}

std::string why_not_decomposed(const Frame& frame) {
  const Operator& op = frame.op();
  if (!op.decompose) return fmt::format("register {}", op.name());
  if (!rung_allowed(frame.device(), Rung::decomposed)) return "a policy forbids decomposing it";
  const std::vector<std::string> missing = missing_parts(frame);
  if (missing.empty()) {
    const char* conversion = missing_conversion(frame);
    if (!conversion)
      return fmt::format("kernels of its parts do not take this call; register {}", op.name());
    return fmt::format(
        "kernels of its parts do not take this call as it is; register {}, or {} to "
        "convert it",
        op.name(), conversion);
  }
  if (missing.size() == 1)
    return fmt::format("it decomposes into others, of which {0} has no kernel; register {0} or {1}",
                       missing[0], op.name());
  return fmt::format("it decomposes into others, of which {} have no kernel; register these or {}",
                     some_of(missing), op.name());
}

std::string why(const Frame& frame, Rung rung) {
  const std::string first = frame.shortage.empty() ? why_not_native(frame) : frame.shortage;
  if (rung != Rung::host && rung != Rung::none) return first;
  const KernelTable* table = table_of(frame.op(), frame.backend());
  const bool has_native = table && table->num_native != 0;
  const std::string next = has_native ? why_not_legalized(frame) : why_not_decomposed(frame);
  return next.empty() ? first : fmt::format("{}; {}", first, next);
}

}  // namespace

void fork_reasons(ForkStep step) {
  take_through_fork(reasons().mutex, step);
}

void keep_reason(const Frame& frame, Rung rung) {
  std::string backend = frame.record.name.substr(0, frame.record.name.rfind(':'));
  std::string text = why(frame, rung);
  Reasons& kept = reasons();
  const std::lock_guard lock(kept.mutex);
  kept.first.try_emplace({frame.op().name(), std::move(backend), rung}, std::move(text));
}

std::vector<CallReason> call_reasons() {
  Reasons& kept = reasons();
  const std::lock_guard lock(kept.mutex);
  std::vector<CallReason> all;
  for (const auto& [key, text] : kept.first) {
    const auto& [op, backend, rung] = key;
    all.push_back({op, backend, rung, text});
  }
  return all;
}

std::vector<CopyCount> copy_counts() {
  std::vector<CopyCount> all;
  Device host;
  const bool has_host = find_host_device(host);
  const auto add = [&](std::string from, std::string to, const CopyCounter& counter) {
    const std::uint64_t copies = counter.copies.load(std::memory_order_relaxed);
    if (copies != 0)
      all.push_back(
          {std::move(from), std::move(to), copies, counter.bytes.load(std::memory_order_relaxed)});
  };
  for (const DeviceRecord* record : registered_devices()) {
    if (has_host && record->device == host) continue;
    add("host", record->name, record->from_host);
    add(record->name, "host", record->to_host);
    add("another device", record->name, record->from_peers);
  }
  return all;
}

}  // namespace bp
