#include "interop/interop_table.hpp"

#include <mutex>

#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

std::string joined(const char* const* kinds) {
  std::string text;
  for (; kinds && *kinds; ++kinds) text += (text.empty() ? "" : ", ") + std::string(*kinds);
  return text;
}

std::vector<std::string> listed(const char* const* kinds) {
  std::vector<std::string> names;
  for (; kinds && *kinds; ++kinds) names.emplace_back(*kinds);
  return names;
}

}  // namespace

bool is_listed(const char* const* kinds, std::string_view kind) {
  for (; kinds && *kinds; ++kinds)
    if (*kinds == kind) return true;
  return false;
}

const char* listed_kind(const char* op, const DeviceRecord& record, const char* what,
                        const char* const* kinds, std::string_view asked) {
  for (const char* const* each = kinds; each && *each; ++each)
    if (asked.empty() || asked == *each) return *each;
  const std::string known = joined(kinds);
  throw_error(ErrorClass::unsupported,
              known.empty() ? fmt::format("{}: {} has no native handle for {}; a plugin provides "
                                          "them with the extension '{}'",
                                          op, record.name, what, BP_INTEROP)
                            : fmt::format("{}: {} has no handle of kind '{}' for {}; there is {}",
                                          op, record.name, asked, what, known));
}

NativeKinds native_kinds(Device device) {
  const DeviceRecord& record = registered_state(device);
  const bp_interop& interop = extensions_of(record).interop;
  NativeKinds kinds{listed(interop.device_kinds), listed(interop.stream_kinds),
                    listed(interop.event_kinds), listed(interop.memory_kinds)};
  if (has_addresses(record) && !is_listed(interop.memory_kinds, BP_NATIVE_ADDRESS))
    kinds.memory.insert(kinds.memory.begin(), BP_NATIVE_ADDRESS);
  return kinds;
}

void adopt_context(Device device, const std::vector<NativeHandle>& handles) {
  DeviceState& state = registered_state(device);
  const bp_interop& interop = extensions_of(state).interop;
  BP_CHECK(state.backend, "adopt_context: {} computes nothing; adopt for a device that does",
           state.name);
  if (!interop.open)
    throw_error(ErrorClass::unsupported,
                fmt::format("adopt_context: {} cannot be opened within an application's context; "
                            "its plugin does not offer that in '{}'",
                            state.name, BP_INTEROP));
  std::vector<AdoptedHandle> adopted;
  for (const NativeHandle& each : handles) {
    const char* kind =
        listed_kind("adopt_context", state, "a device", interop.device_kinds, each.kind);
    adopted.push_back({kind, each.value});
  }
  const std::lock_guard lock(state.mutex);
  BP_CHECK(state.phase.load(std::memory_order_acquire) == Phase::closed,
           "adopt_context: {} is open already; call it before the device's first use", state.name);
  state.adopted = std::move(adopted);
}

bp_code open_in_plugin(DeviceState& state, bp_device** out) {
  const bp_plugin& plugin = *state.backend->plugin;
  std::vector<bp_native> adopted;
  {
    const std::lock_guard lock(state.mutex);
    adopted.reserve(state.adopted.size());
    for (const AdoptedHandle& each : state.adopted) adopted.push_back({each.kind, each.value});
  }
  clear_plugin_error();
  if (adopted.empty()) return plugin.open(plugin.self, state.index, out);
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): only what the table can open was adopted
  return extensions_of(state).interop.open(plugin.self, state.index, adopted.data(),
                                           static_cast<std::uint32_t>(adopted.size()), out);
}

}  // namespace bp
