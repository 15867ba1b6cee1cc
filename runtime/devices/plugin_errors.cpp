// Codes and messages of plugins made into exceptions.
#include <mutex>
#include <utility>

#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

std::string take_message() {
  ThreadState& state = thread_state();
  std::string message = std::exchange(state.error_message, {});
  state.error_code = BP_OK;
  return message.empty() ? "the plugin gave no message" : message;
}

}  // namespace

Error plugin_error(DeviceRecord& record, bp_code code, std::string_view what) {
  std::string message = take_message();
  const bool known = code > BP_OK && code <= BP_INTERNAL;
  if (!known) message += fmt::format(" (it returned {}, which is no code)", code);
  const auto error_class = known ? static_cast<ErrorClass>(code) : ErrorClass::internal;
  const std::string plugin = record.backend ? record.backend->name : "none";
  std::string text =
      fmt::format("{}: {} (plugin {}, device {})", what, message, plugin, record.name);
  if (code == BP_DEVICE_LOST) {
    DeviceState& state = state_of(record);
    const std::lock_guard lock(state.mutex);
    if (!record.lost.load(std::memory_order_relaxed)) state.lost_because = text;
    record.lost.store(true, std::memory_order_release);
    record.opened.store(false, std::memory_order_release);  // device_record() then asks why
  }
  return Error(error_class, text);
}

void throw_plugin_error(DeviceRecord& record, bp_code code, std::string_view what) {
  throw plugin_error(record, code, what);
}

}  // namespace bp
