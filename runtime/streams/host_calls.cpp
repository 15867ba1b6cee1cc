#include <mutex>
#include <utility>

#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/host_calls.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

struct HostCall {
  StreamState& stream;
  std::function<void()> function;
};

void run(HostCall& call) noexcept {
  try {
    call.function();
    return;
  } catch (const Error& error) {
    return keep_error(call.stream, error);
  } catch (const std::exception& error) {
    return keep_error(call.stream,
                      Error(ErrorClass::internal,
                            fmt::format("call_on_stream: the function threw: {}", error.what())));
  } catch (...) {
    return keep_error(
        call.stream,
        Error(ErrorClass::internal,
              "call_on_stream: the function threw something that is not a std::exception"));
  }
}

// Of the plugin, at the function's turn.
void run_and_delete(void* context) {
  const std::unique_ptr<HostCall> call(static_cast<HostCall*>(context));
  run(*call);
}

// False: the backend has no way to.
bool give(DeviceRecord& record, StreamState& stream, std::unique_ptr<HostCall>& call) {
  const bp_host_calls& api = extensions_of(record).host_calls;
  if (!api.call) return false;
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  HostCall* const given = call.release();  // which may be over before the plugin returns
  const bp_code code = api.call(record.handle, used, run_and_delete, given);
  if (code == BP_OK) return true;
  call.reset(given);
  if (code == BP_UNSUPPORTED) return false;
  throw_stream_error(stream, used, code, "call_on_stream");
}

}  // namespace

void call_on_stream(const Stream& stream, std::function<void()> function) {
  BP_CHECK(function, "call_on_stream: the function is empty; give one that can be called");
  StreamState& state = state_of(*stream.impl());
  DeviceRecord& record = *state.record;
  check_outside_capture("call_on_stream", state, "a function of the host",
                        "call it before, or around the replay");
  auto call = std::make_unique<HostCall>(HostCall{state, std::move(function)});
  if (record.backend && is_gone(state)) synchronize_stream(state);  // which throws why
  if (record.backend && give(record, state, call)) return;
  wait_quietly(state);
  run(*call);
}

}  // namespace bp
