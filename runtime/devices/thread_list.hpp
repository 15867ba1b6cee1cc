// All threads that have a state, for what must reach every one of them.
#pragma once

#include <cstdint>

#include <backplane/runtime/thread_state.hpp>

namespace bp {

// Makes every thread forget a device that is being unregistered. No call on it may be running.
void forget_device_in_threads(std::uint32_t number);

// Gives a thread's small blocks of all devices back to their allocators.
void return_thread_caches(ThreadState& state);

}  // namespace bp
