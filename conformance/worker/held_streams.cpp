#include "worker/held_streams.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <backplane/extensions/host_calls.h>

namespace bp::conform {

struct HeldStreams::Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::chrono::milliseconds longest{0};
  bool is_open = false, is_over = false;

  void wait() {
    std::unique_lock lock(mutex);
    is_over = !changed.wait_for(lock, longest, [this] { return is_open; });
  }
  // True if the time had run out.
  bool open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
    return is_over;
  }
};

bp_code HeldStreams::hold(const DirectPlugin& plugin, int number, bp_stream* stream,
                          int milliseconds) {
  const auto* calls = reinterpret_cast<const bp_host_calls*>(
      plugin.extension(BP_HOST_CALLS, BP_HOST_CALLS_VERSION));
  if (!calls || !calls->call) return BP_UNSUPPORTED;
  auto gate = std::make_shared<Gate>();
  gate->longest = std::chrono::milliseconds(milliseconds);
  // The plugin calls it once, whatever becomes of the stream.
  auto owned = std::make_unique<std::shared_ptr<Gate>>(gate);
  const auto wait = [](void* context) {
    const std::unique_ptr<std::shared_ptr<Gate>> mine(static_cast<std::shared_ptr<Gate>*>(context));
    (*mine)->wait();
  };
  const bp_code code = calls->call(plugin.device, stream, wait, owned.get());
  if (code != BP_OK) return code;
  static_cast<void>(owned.release());
  gates_[number] = std::move(gate);
  return BP_OK;
}

bool HeldStreams::let_go(int number) {
  const auto found = gates_.find(number);
  if (found == gates_.end()) return false;
  const bool was_over = found->second->open();
  gates_.erase(found);
  return was_over;
}

void HeldStreams::let_all_go() {
  while (!gates_.empty()) let_go(gates_.begin()->first);
}

}  // namespace bp::conform
