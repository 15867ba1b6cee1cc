// Streams by number.
#include <map>
#include <mutex>
#include <pthread.h>

#include <backplane/runtime/stream.hpp>

#include "boundary.hpp"
#include "functions.hpp"

namespace bp::client {
namespace {

using Streams = std::map<std::pair<std::uint32_t, std::uint32_t>, Stream>;  // by device and number

// Guards what create_stream gave, until release_stream. Nothing else is locked under it.
constinit std::mutex kept_mutex;
Streams* kept_streams = nullptr;  // never destroyed: devices may outlive static objects

void lock_kept() {
  kept_mutex.lock();
}
void unlock_kept() {
  kept_mutex.unlock();
}

void keep(Stream&& stream) {
  const std::lock_guard lock(kept_mutex);
  if (!kept_streams) {
    kept_streams = new Streams;
    pthread_atfork(lock_kept, unlock_kept, unlock_kept);
  }
  kept_streams->emplace(std::pair{stream.device().number, stream.number()}, std::move(stream));
}

Streams::node_type take_kept(std::uint32_t device, std::uint32_t stream) {
  const std::lock_guard lock(kept_mutex);
  return kept_streams ? kept_streams->extract(std::pair{device, stream}) : Streams::node_type{};
}

}  // namespace

bp_code create_stream(std::uint32_t device, std::int32_t priority, std::uint32_t* stream) noexcept {
  return guarded("create_stream", [&] {
    clear_output("create_stream", "stream", stream);
    Stream made(Device{device}, priority);
    const std::uint32_t number = made.number();
    if (number != 0) keep(std::move(made));
    *stream = number;
  });
}

bp_code release_stream(std::uint32_t device, std::uint32_t stream) noexcept {
  return guarded("release_stream", [&] {
    if (stream == 0) return;
    const auto found = take_kept(device, stream);
    BP_CHECK(!found.empty(), "release_stream: create_stream gave no stream {} of {}", stream,
             bp::device_name({device}));
  });
}

bp_code current_stream(std::uint32_t device, std::uint32_t* stream) noexcept {
  return guarded("current_stream", [&] {
    clear_output("current_stream", "stream", stream);
    *stream = Stream::current({device}).number();
  });
}

bp_code set_stream(std::uint32_t device, std::uint32_t stream) noexcept {
  return guarded("set_stream", [&] {
    // The caller keeps it, so that no guard has to.
    StreamImpl* chosen = Stream::numbered({device}, stream).impl();
    thread_state().streams[device] = stream == 0 ? nullptr : chosen;
  });
}

bp_code query_stream(std::uint32_t device, std::uint32_t stream, std::uint32_t* is_idle) noexcept {
  return guarded("query_stream", [&] {
    clear_output("query_stream", "is_idle", is_idle);
    *is_idle = Stream::numbered({device}, stream).query();
  });
}

bp_code synchronize_stream(std::uint32_t device, std::uint32_t stream) noexcept {
  return guarded("synchronize_stream", [&] { Stream::numbered({device}, stream).synchronize(); });
}

bp_code wait_stream(std::uint32_t device, std::uint32_t stream, std::uint32_t passed) noexcept {
  return guarded("wait_stream", [&] {
    const Stream waiting = Stream::numbered({device}, stream);
    Event event(Device{device});
    event.record(Stream::numbered({device}, passed));
    event.wait(waiting);
  });
}

}  // namespace bp::client
