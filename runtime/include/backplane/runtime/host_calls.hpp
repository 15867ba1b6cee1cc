// Functions of the application as work of a stream.
#pragma once

#include <functional>

#include <backplane/runtime/stream.hpp>

namespace bp {

// Calls `function` once, from any thread, after all that `stream` was given before, also where that failed; later work of
// the stream waits until it has returned. It must not submit work to devices, nor wait for any.
// What it throws is an error of the stream: the next synchronize throws it. A backend without
// "bp.host_calls" makes the caller wait and call. Throws what the plugin says; `function` is then
// not called.
BP_API void call_on_stream(const Stream& stream, std::function<void()> function);

}  // namespace bp
