// Codes and messages of plugins made into exceptions.
#include <mutex>
#include <utility>

#include <backplane/runtime/call_number.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

std::atomic<std::string (*)(std::uint32_t)> name_of_operator{nullptr};

std::string take_message() {
  ThreadState& state = thread_state();
  std::string message = std::exchange(state.error_message, {});
  state.error_code = BP_OK;
  return message.empty() ? "the plugin gave no message" : message;
}

}  // namespace

void name_operators_with(std::string (*name_of)(std::uint32_t operator_id)) {
  name_of_operator.store(name_of);
}

CallName name_of_call(std::uint64_t number) {
  const auto name_of = name_of_operator.load();
  const std::uint64_t id = number >> call_count_bits;
  std::string name = name_of && id != 0 ? name_of(static_cast<std::uint32_t>(id - 1)) : "";
  if (name.empty()) return {};
  return {std::move(name), fmt::format("call {} of its stream",
                                       number & ((std::uint64_t{1} << call_count_bits) - 1))};
}

Error plugin_error(DeviceRecord& record, bp_code code, std::string_view found_by) {
  const CallName call = name_of_call(std::exchange(thread_state().error_call, 0));
  std::string message = take_message();
  if (!call.name.empty() && call.name != found_by)
    message += fmt::format(" ({}, found by {})", call.which, found_by);
  const std::string_view what = call.name.empty() ? found_by : call.name;
  const bool known = is_error_class(code);
  if (!known) message += fmt::format(" (it returned {}, which is not a bp_code)", code);
  const auto error_class = known ? static_cast<ErrorClass>(code) : ErrorClass::internal;
  const std::string plugin = record.backend ? record.backend->name : "none";
  const std::string begin = fmt::format("{}: ", what);  // kernels may have written it themselves
  std::string text =
      fmt::format("{}{} (plugin {}, device {})", message.starts_with(begin) ? "" : begin, message,
                  plugin, record.name);
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
