// What the core knows of a stream besides the public part.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <backplane/extensions/interop.h>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/storage.hpp>

#include "devices/core_mutex.hpp"

namespace bp {

// Something to release once an event is reached; without an event, once the stream is idle.
struct WaitingRelease {
  bp_event* event = nullptr;
  void (*release)(void*) = nullptr;
  void* context = nullptr;
  std::uint64_t order = 0;  // within its stream, from 1
};

struct KeptError {
  Error error;
  std::uint64_t number;  // in the process, from 1
};

struct StreamState : StreamImpl {
  std::atomic<bool> has_releases{false};
  // The device records what is given to it, which is idle but for that: waiting would be an error.
  std::atomic<bool> is_recorded{false};
  // Not null: no stream, but the name of a graph's pool in the allocator, for work of this stream's capture.
  StreamImpl* pool_of = nullptr;
  // The application's queue (adopted_streams.cpp): `raw` and `native` change when the last Stream over it goes, so
  // that others than its holders pin it first.
  bool is_adopted = false;
  bp_native native{};
  void (*forget)(bp_device* device, bp_stream* stream) = nullptr;

  std::atomic<std::uint32_t> num_foreign{
      0};  // works that wait for another process (runtime/quiet.hpp)
  // The backend has lost it and gave no other: nothing of it runs, and it takes nothing more.
  std::atomic<bool> is_lost{false};

  CoreMutex mutex;                      // guards what follows
  std::deque<WaitingRelease> releases;  // in the order of the stream
  std::uint64_t num_releases = 0;       // ever
  // The first error that the core met in waits of its own; the next synchronize or query throws it.
  std::optional<KeptError> kept_error;
  // Those whose events it has waited for since it was last synchronized: their errors are its own as well.
  std::vector<StreamState*> awaited;
  std::uint64_t told_error =
      0;  // the last error of theirs that it has thrown: no one comes out there twice
  Storage* fault_storage = nullptr;
  std::vector<std::string> fault_operators;  // armed since the last synchronize
};

inline StreamState& state_of(StreamImpl& stream) {
  return static_cast<StreamState&>(stream);
}

// Takes a reference unless the last one is gone.
bool try_retain(StreamImpl& stream) noexcept;
// Drops one; the last makes the stream free for another use.
void drop_stream(StreamImpl* stream) noexcept;

// Keeps an adopted stream from going while the core uses it on its own account. False if it has gone: all its work is
// done then. Other streams never go.
class StreamPin {
 public:
  explicit StreamPin(StreamState& stream)
      : stream_(stream), is_pinned_(!stream.is_adopted || try_retain(stream)) {}
  ~StreamPin() {
    if (is_pinned_ && stream_.is_adopted) drop_stream(&stream_);
  }
  StreamPin(const StreamPin&) = delete;
  StreamPin& operator=(const StreamPin&) = delete;
  explicit operator bool() const { return is_pinned_; }

 private:
  StreamState& stream_;
  bool is_pinned_;
};

// Waits for a stream without throwing: an error is kept for the next synchronize or query.
void wait_quietly(StreamState& stream) noexcept;
// The same by its holder: it is not going.
void wait_pinned(StreamState& stream) noexcept;
// Gives the application its queue back: nobody holds the adopted stream any more.
void let_go_of_adopted(StreamState& stream) noexcept;

// Has the stream passed everything? Never throws; an error is kept and counts as passed.
bool is_idle_quietly(StreamState& stream) noexcept;

std::optional<Error> take_kept_error(StreamState& stream);
// Keeps an error for the next synchronize or query, unless one is kept already.
void keep_error(StreamState& stream, Error error);
// The same for that of a plugin that was asked about `used`, the stream's `raw` then.
void keep_error(StreamState& stream, bp_stream* used, bp_code code) noexcept;

// Later work of `stream` waits for what `passed` has been given: an error there is one of `stream` too.
void note_wait(StreamState& stream, StreamState& passed);

// The streams of a device that closes are nobody's to ask any more.
void forget_awaited(DeviceRecord& gone);

// Nothing of the stream can be waited for: the backend lost it, or its device.
bool is_gone(const StreamState& stream) noexcept;

// The last release that waits for the stream now, for run_releases after a synchronize.
std::uint64_t last_release(StreamState& stream);

// Runs the releases up to `passed`, and those after it whose events are reached.
void run_releases(StreamState& stream, std::uint64_t passed = 0) noexcept;

// Reads the fault word if it is armed; the stream has been synchronized. The error to throw, if any.
std::optional<Error> take_fault(StreamState& stream);
void drop_fault(StreamState& stream) noexcept;

}  // namespace bp
