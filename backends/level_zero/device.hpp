// One device of one driver, in the context that all devices of the driver share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include <backplane/plugin/streams.hpp>

#include "compiler.hpp"
#include "device_state.hpp"
#include "discovery.hpp"
#include "level_zero.hpp"
#include "marks.hpp"
#include "memory.hpp"
#include "queue.hpp"

namespace level_zero {

class Device : public bp::StreamBackend<Device, Queue, Event> {
 public:
  static constexpr bp::Identity identity{"level_zero", "Backplane", "0.1"};

  static bp::Status probe();
  static bp::Result<uint32_t> num_devices();
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);

  explicit Device(uint32_t index);

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);

  bp::Result<Queue*> create_stream(int32_t priority);
  bp::Result<Event*> create_event() { return new Event(*this); }

  // For the extensions.
  Queue& default_queue() { return *default_queue_; }
  Memory& memory() { return memory_; }
  Marks& marks() { return marks_; }
  Compiler& compiler() { return compiler_; }
  const FoundDevice& found() const { return found_; }
  ze_context_handle_t context() const { return context_; }

  // What the plugin's own kernel keeps for this device: made at the first call by `make(Device&)`, which may throw.
  template <class T> T& made_once(std::unique_ptr<T> (*make)(Device&)) {
    if (void* made = made_.load(std::memory_order_acquire)) return *static_cast<T*>(made);
    std::lock_guard lock(making_);
    if (made_ == nullptr) made_ = (kept_ = std::shared_ptr<T>(make(*this))).get();
    return *static_cast<T*>(made_.load());
  }

  // See DeviceState.
  DeviceState& state() { return state_; }
  bool is_of_this_process() const { return state_.is_of_this_process(); }
  bp::Status check() const { return state_.check(); }
  bp::Status check(const char* what, const char* call, ze_result_t result) {
    return state_.check(what, call, result);
  }

 private:
  DeviceState state_;
  const FoundDevice& found_;
  ze_context_handle_t context_;
  Marks marks_{*this};
  Memory memory_{*this};
  Compiler compiler_;
  std::unique_ptr<Queue> default_queue_;
  std::mutex making_;
  std::atomic<void*> made_{nullptr};
  std::shared_ptr<void> kept_;
};

}  // namespace level_zero
