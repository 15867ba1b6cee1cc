// A plugin inside the test itself, with a knob for everything that can go wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <backplane/abi.h>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/error.hpp>

namespace bp::test {

inline constexpr std::uint64_t mib = 1 << 20;

inline bp_code say(bp_code code, const char* message) {
  thread_state().error_code = code;
  thread_state().error_message = message;
  return code;
}

// Work that was given to a stream and waits until somebody synchronizes, or the test lets it go.
struct FakeStream {
  std::deque<std::function<void()>> work;
  std::uint64_t given = 0, done = 0;
  std::optional<bp_code> late_error;
  bool is_lost = false;  // takes nothing, and nobody may wait for it
};
struct FakeEvent {
  FakeStream* stream = nullptr;
  std::uint64_t at = 0;
};

struct FakePlugin {
  // Set before use.
  std::uint32_t num_devices = 1;
  std::uint32_t flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE |
                        BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS;
  std::uint64_t total_memory = 0, offset_alignment = 0, max_allocation = 0;
  // Knobs; they may be turned at any time.
  std::atomic<std::uint64_t> capacity{~0ull};     // bytes that it will give
  std::atomic<std::int64_t> fail_allocation{-1};  // counted down; at 0 it fails, and on it goes
  std::atomic<bp_code> allocation_code{BP_OUT_OF_MEMORY};
  std::atomic<bp_code> open_code{BP_OK}, copy_code{BP_OK}, synchronize_code{BP_OK};
  std::atomic<bool> say_nothing{false}, null_handles{false}, null_device{false}, odd_handles{false};
  std::function<void()> in_open, in_allocate, in_release;
  // What happened.
  std::atomic<int> num_waits_for_lost{0};
  std::atomic<bool> is_gone{false};  // the device said that it is lost
  std::atomic<int> num_opened{0}, num_closed{0}, num_streams{0}, num_events{0};
  std::atomic<std::uint64_t> held_bytes{0};
  std::atomic<int> num_held{0}, num_allocations{0}, calls_at_once{0}, most_at_once{0};

  bp_plugin plugin{};
  bp_memory memory{};
  bp_queue queue{};
  bp_host host{};
  std::mutex mutex;
  // Set in the child of a fork that other threads were busy in: one may have held the mutex.
  std::atomic<bool> is_in_child{false};
  std::map<bp_handle, std::uint64_t> held;
  FakeStream only_stream;
  std::map<FakeStream*, std::unique_ptr<FakeStream>> streams;
  std::function<void(bp_device_info&, std::uint32_t)> edit_info;
  std::function<bp_code(std::uint32_t*, bp_device_info*)> answer_devices;

  explicit FakePlugin(const char* name = "acme", const char* vendor = "Acme") {
    plugin.h = {sizeof plugin, BP_TYPE_PLUGIN, nullptr};
    plugin.abi = BP_ABI_LEVEL;
    plugin.name = name;
    plugin.vendor = vendor;
    plugin.version = "1.0";
    plugin.self = this;
    plugin.devices = devices;
    plugin.open = open;
    plugin.close = close;
    plugin.memory = &memory;
    plugin.queue = &queue;
    memory.h = {sizeof memory, BP_TYPE_MEMORY, nullptr};
    memory.allocate = allocate;
    memory.release = release;
    memory.copy = copy;
    queue.h = {sizeof queue, BP_TYPE_QUEUE, nullptr};
    queue.synchronize = synchronize;
  }

  // An asynchronous device with streams and events, whose memory the host cannot read.
  void make_asynchronous() {
    flags = BP_DEVICE_CAN_SUBALLOCATE;
    queue.create_stream = create_stream;
    queue.destroy_stream = destroy_stream;
    queue.query_stream = query_stream;
    add_events();
  }
  void add_events() {
    queue.create_event = create_event;
    queue.destroy_event = destroy_event;
    queue.record_event = record_event;
    queue.wait_event = wait_event;
    queue.query_event = query_event;
    queue.synchronize_event = synchronize_event;
  }

  // ---- what the test asks ----
  FakeStream& stream_of(const Stream& stream) { return *fake(stream.impl()->raw); }
  void give_work(
      const Stream& stream, std::function<void()> work = [] {}) {
    const std::lock_guard lock(mutex);
    FakeStream& target = stream.impl()->raw ? stream_of(stream) : only_stream;
    target.work.push_back(std::move(work));
    ++target.given;
  }
  void finish(const Stream& stream) {
    const std::lock_guard lock(mutex);
    run(stream.impl()->raw ? stream_of(stream) : only_stream, ~0ull);
  }

  // ---- the plugin ----
  static FakePlugin& of(void* self) { return *static_cast<FakePlugin*>(self); }
  static FakePlugin& of(bp_device* device) { return *reinterpret_cast<FakePlugin*>(device); }
  static FakeStream* fake(bp_stream* stream) { return reinterpret_cast<FakeStream*>(stream); }
  static FakeEvent* fake(bp_event* event) { return reinterpret_cast<FakeEvent*>(event); }

  static bp_code devices(void* self, std::uint32_t* count, bp_device_info* infos) {
    FakePlugin& me = of(self);
    if (me.answer_devices) return me.answer_devices(count, infos);
    *count = me.num_devices;
    for (std::uint32_t i = 0; infos && i < me.num_devices; ++i) {
      std::strcpy(infos[i].name, "Fake");
      infos[i].dl_device_type = BP_DL_EXT_DEV;
      infos[i].flags = me.flags;
      infos[i].total_memory = me.total_memory;
      infos[i].offset_alignment = me.offset_alignment;
      infos[i].max_allocation = me.max_allocation;
      if (me.edit_info) me.edit_info(infos[i], i);
    }
    return BP_OK;
  }
  static bp_code open(void* self, std::uint32_t, bp_device** out) {
    FakePlugin& me = of(self);
    if (me.in_open) me.in_open();
    if (me.open_code != BP_OK) return me.fail(me.open_code, "the driver refuses");
    me.is_gone = false;
    ++me.num_opened;
    *out = me.null_device ? nullptr : reinterpret_cast<bp_device*>(&me);
    return BP_OK;
  }
  static void close(bp_device* device) { ++of(device).num_closed; }

  bp_code fail(bp_code code, const char* message) {
    return say_nothing ? code : say(code, message);
  }

  static bp_code allocate(bp_device* device, std::uint64_t bytes, std::uint64_t alignment,
                          bp_handle* out) {
    FakePlugin& me = of(device);
    const int at_once = ++me.calls_at_once;
    if (at_once > me.most_at_once) me.most_at_once = at_once;
    const bp_code code = me.allocate_now(bytes, alignment, out);
    --me.calls_at_once;
    return code;
  }
  bp_code allocate_now(std::uint64_t bytes, std::uint64_t alignment, bp_handle* out) {
    if (in_allocate) in_allocate();
    ++num_allocations;
    if (fail_allocation >= 0 && fail_allocation-- == 0) return fail(allocation_code, "none left");
    if (held_bytes + bytes > capacity) return fail(BP_OUT_OF_MEMORY, "the card is full");
    if (null_handles) return *out = 0, BP_OK;
    void* ptr = nullptr;
    if (posix_memalign(&ptr, alignment, bytes + 64) != 0) return fail(BP_OUT_OF_MEMORY, "no host");
    if (is_in_child) return *out = reinterpret_cast<bp_handle>(ptr), BP_OK;
    const std::lock_guard lock(mutex);
    held_bytes += bytes;
    ++num_held;
    *out = reinterpret_cast<bp_handle>(ptr) + (odd_handles ? 8 : 0);
    held[*out] = bytes;
    return BP_OK;
  }
  static void release(bp_device* device, bp_handle handle) {
    FakePlugin& me = of(device);
    if (me.in_release) me.in_release();
    if (me.is_in_child) return;
    const std::lock_guard lock(me.mutex);
    const auto found = me.held.find(handle);
    ASSERT_TRUE(found != me.held.end()) << "released twice, or never allocated";
    me.held_bytes -= found->second;
    --me.num_held;
    me.held.erase(found);
    std::free(reinterpret_cast<void*>(handle - (me.odd_handles ? 8 : 0)));
  }

  static bp_code copy(bp_device* device, const bp_region* to, const bp_region* from, std::uint32_t,
                      bp_stream* stream) {
    FakePlugin& me = of(device);
    if (me.copy_code != BP_OK) return me.fail(me.copy_code, "the bus is broken");
    const auto work = [to = *to, from = *from] {
      std::memcpy(reinterpret_cast<void*>(to.handle + to.offset),
                  reinterpret_cast<const void*>(from.handle + from.offset), to.bytes);
    };
    if (me.flags & BP_DEVICE_SYNCHRONOUS) return work(), BP_OK;
    const std::lock_guard lock(me.mutex);
    FakeStream& target = stream ? *fake(stream) : me.only_stream;
    if (target.is_lost) return me.fail(BP_STREAM_LOST, "the stream is lost");
    target.work.push_back(work);
    ++target.given;
    return BP_OK;
  }

  static void run(FakeStream& stream, std::uint64_t until) {
    while (!stream.work.empty() && stream.done < until) {
      stream.work.front()();
      stream.work.pop_front();
      ++stream.done;
    }
  }
  bp_code take_late_error(FakeStream& stream) {
    if (!stream.late_error) return BP_OK;
    const bp_code code = *stream.late_error;
    stream.late_error.reset();
    if (code == BP_DEVICE_LOST) is_gone = true;
    if (code == BP_STREAM_LOST) {
      stream.is_lost = true;
      stream.work.clear();
    }
    return fail(code, "a kernel failed");
  }
  static bp_code synchronize(bp_device* device, bp_stream* raw) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    FakeStream& stream = raw ? *fake(raw) : me.only_stream;
    if (stream.is_lost || me.is_gone) ++me.num_waits_for_lost;
    run(stream, ~0ull);
    if (me.synchronize_code != BP_OK) return me.fail(me.synchronize_code, "the card fell off");
    return me.take_late_error(stream);
  }
  static bp_code create_stream(bp_device* device, std::int32_t, bp_stream** out) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    auto made = std::make_unique<FakeStream>();
    *out = reinterpret_cast<bp_stream*>(made.get());
    me.streams[made.get()] = std::move(made);
    ++me.num_streams;
    return BP_OK;
  }
  static void destroy_stream(bp_device* device, bp_stream* stream) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    EXPECT_TRUE(fake(stream)->work.empty() || fake(stream)->is_lost || me.is_gone);
    EXPECT_EQ(me.streams.erase(fake(stream)), 1u) << "destroyed twice, or never made";
    --me.num_streams;
  }
  static bp_code query_stream(bp_device* device, bp_stream* stream) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    if (fake(stream)->is_lost || me.is_gone) ++me.num_waits_for_lost;
    if (const bp_code code = me.take_late_error(*fake(stream)); code != BP_OK) return code;
    return fake(stream)->work.empty() ? BP_OK : BP_RETRY;
  }
  static bp_code create_event(bp_device* device, bp_event** out) {
    *out = reinterpret_cast<bp_event*>(new FakeEvent);
    ++of(device).num_events;
    return BP_OK;
  }
  static void destroy_event(bp_device* device, bp_event* event) {
    delete fake(event);
    --of(device).num_events;
  }
  static bp_code record_event(bp_device* device, bp_event* event, bp_stream* stream) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    FakeStream& source = stream ? *fake(stream) : me.only_stream;
    *fake(event) = {&source, source.given};
    return BP_OK;
  }
  static bp_code wait_event(bp_device* device, bp_stream* stream, bp_event* event) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    fake(stream)->work.push_back([to = *fake(event)] {
      if (to.stream) run(*to.stream, to.at);
    });
    ++fake(stream)->given;
    return BP_OK;
  }
  static bp_code query_event(bp_device* device, bp_event* event) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    if (me.is_gone) ++me.num_waits_for_lost;
    const FakeEvent& point = *fake(event);
    return !point.stream || point.stream->done >= point.at ? BP_OK : BP_RETRY;
  }
  static bp_code synchronize_event(bp_device* device, bp_event* event) {
    FakePlugin& me = of(device);
    const std::lock_guard lock(me.mutex);
    if (fake(event)->stream) run(*fake(event)->stream, fake(event)->at);
    return BP_OK;
  }
};

// Registers the plugin while it lives. At the end nothing of it may be left over.
struct Registered {
  explicit Registered(FakePlugin& fake)
      : plugin(fake), backend(&register_backend(fake.plugin, fake.host, "fake.so")) {}
  ~Registered() {
    if (!backend) return;
    const int streams_before = 0;
    EXPECT_NO_THROW(unregister_backend(*backend));
    EXPECT_EQ(plugin.num_opened, plugin.num_closed);
    EXPECT_EQ(plugin.num_held, 0);
    EXPECT_EQ(plugin.num_events, 0);
    EXPECT_EQ(plugin.num_streams, streams_before);
  }
  Device device(std::size_t index = 0) const { return backend->devices[index]->device; }
  DeviceRecord& record() const { return device_record(device()); }

  FakePlugin& plugin;
  Backend* backend;
};

// The error that `body` throws; a failure of the test if it throws none.
template <class Body> Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorClass::internal, "");
}
template <class Body> std::string text_of(Body&& body) {
  return error_of(body).what();
}

// Holds a storage as a tensor would.
struct Held {
  Held(DeviceRecord& record, std::uint64_t bytes) : storage(allocate_storage(record, bytes)) {}
  Held(Held&& other) noexcept : storage(std::exchange(other.storage, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(storage, other.storage);
    return *this;
  }
  ~Held() { drop(); }
  void drop() {
    if (storage) std::exchange(storage, nullptr)->drop();
  }
  Storage* storage;
};

}  // namespace bp::test
