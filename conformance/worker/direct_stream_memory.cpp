#include "worker/direct_stream_memory.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/stream_memory.h>
#include <backplane/tensor/error.hpp>

#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

// Long enough that nothing on a busy machine takes as long by itself.
constexpr std::chrono::milliseconds longest_hold{3000};
constexpr std::uint64_t block_alignment = 64;
constexpr std::uint64_t largest_alignment = 4096;
constexpr int num_others = 3;

// What a held stream waits for. The plugin's call owns a reference, and comes once, whatever becomes of the stream.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false, is_over = false;

  static void wait(void* context) {
    const std::unique_ptr<std::shared_ptr<Gate>> mine(static_cast<std::shared_ptr<Gate>*>(context));
    Gate& gate = **mine;
    std::unique_lock lock(gate.mutex);
    gate.is_over = !gate.changed.wait_for(lock, longest_hold, [&] { return gate.is_open; });
  }
  // True if the time had run out.
  bool open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
    return is_over;
  }
};

// Two streams, and blocks that live until the end; all of it goes with the stage.
class Stage {
 public:
  Stage(DirectPlugin& on, std::uint64_t bytes_of_each)
      : plugin(on), bytes(bytes_of_each),
        api(plugin.table<bp_stream_memory>(BP_STREAM_MEMORY, BP_STREAM_MEMORY_VERSION)),
        calls(plugin.table<bp_host_calls>(BP_HOST_CALLS, BP_HOST_CALLS_VERSION)) {
    for (bp_stream*& stream : {std::ref(first), std::ref(second)})
      require(plugin.queue.create_stream(plugin.device, 0, &stream), "create_stream");
  }
  ~Stage() {
    let_go();
    for (bp_stream* stream : {first, second}) {
      if (!stream) continue;
      plugin.queue.synchronize(plugin.device, stream);
      plugin.queue.destroy_stream(plugin.device, stream);
    }
    for (const bp_handle block : blocks_) plugin.release(block);
    if (api.trim) api.trim(plugin.device);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // A block of the device's usual memory that holds bytes of its own.
  bp_handle block(unsigned seed) {
    bp_handle handle = 0;
    require(plugin.allocate(bytes, block_alignment, handle), "allocate");
    blocks_.push_back(handle);
    const std::vector<std::uint8_t> pattern = pattern_of(seed);
    plugin.write(handle, 0, pattern.data(), bytes);
    return handle;
  }
  bp_handle allocate(bp_stream* stream, std::uint64_t alignment = block_alignment) {
    bp_handle handle = 0;
    require(api.allocate(plugin.device, bytes, alignment, stream, &handle),
            "bp_stream_memory.allocate");
    if (handle == 0)
      throw_error(ErrorClass::internal, "bp_stream_memory.allocate succeeded without a handle");
    return handle;
  }
  void release(bp_handle handle, bp_stream* stream) { api.release(plugin.device, handle, stream); }
  void copy(bp_handle to, bp_handle from, bp_stream* stream) {
    const bp_region target{to, 0, bytes}, source{from, 0, bytes};
    require(plugin.memory.copy(plugin.device, &target, &source, BP_COPY_WITHIN, stream), "copy");
  }
  void synchronize(bp_stream* stream) {
    require(plugin.queue.synchronize(plugin.device, stream), "synchronize");
  }
  bool holds(bp_handle handle, unsigned seed) {
    std::vector<std::uint8_t> found(bytes);
    plugin.read(handle, 0, found.data(), bytes);
    return found == pattern_of(seed);
  }

  void hold(bp_stream* stream) {
    gate_ = std::make_shared<Gate>();
    auto owned = std::make_unique<std::shared_ptr<Gate>>(gate_);
    require(calls.call(plugin.device, stream, Gate::wait, owned.get()), "bp_host_calls.call");
    static_cast<void>(owned.release());
  }
  // True if the time had run out.
  bool let_go() {
    const std::shared_ptr<Gate> gate = std::exchange(gate_, nullptr);
    return gate && gate->open();
  }

  DirectPlugin& plugin;
  const std::uint64_t bytes;
  const bp_stream_memory api;
  const bp_host_calls calls;
  bp_stream *first = nullptr, *second = nullptr;

 private:
  static void require(bp_code code, const char* what) {
    if (code == BP_OK) return;
    throw Error(is_error_class(code) ? static_cast<ErrorClass>(code) : ErrorClass::internal,
                std::string(what) + ": " + told_error().message);
  }
  std::vector<std::uint8_t> pattern_of(unsigned seed) const {
    std::vector<std::uint8_t> pattern(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i)
      pattern[i] = static_cast<std::uint8_t>(i * 13 + i / 251 + seed * 37);
    return pattern;
  }

  std::shared_ptr<Gate> gate_;
  std::vector<bp_handle> blocks_;
};

Json look_at_order(Stage& stage) {
  const bp_handle mine = stage.block(1), theirs = stage.block(2), later = stage.block(3),
                  last = stage.block(4), seen = stage.block(5);
  const bp_handle released = stage.allocate(stage.first);
  stage.copy(released, mine, stage.first);
  stage.synchronize(stage.first);  // done, so that it can't make good what the release spoils
  stage.hold(stage.first);
  stage.copy(seen, released, stage.first);
  stage.copy(released, later, stage.first);
  stage.release(released, stage.first);

  std::vector<bp_handle> others;
  for (int i = 0; i < num_others; ++i) {
    others.push_back(stage.allocate(stage.second));
    stage.copy(others.back(), theirs, stage.second);
  }
  const bp_handle next = stage.allocate(stage.first);
  stage.copy(next, last, stage.first);
  stage.let_go();
  stage.synchronize(stage.first);
  stage.synchronize(stage.second);

  Json result = answer(BP_OK);
  result["earlier"] = stage.holds(seen, 1);
  result["next"] = stage.holds(next, 4);
  result["others"] = std::all_of(others.begin(), others.end(),
                                 [&](bp_handle each) { return stage.holds(each, 2); });
  for (const bp_handle each : others) stage.release(each, stage.second);
  stage.release(next, stage.first);
  return result;
}

Json look_for_waits(Stage& stage) {
  const bp_handle source = stage.block(1);
  bp_handle held = stage.allocate(stage.first), other = 0;
  stage.copy(held, source, stage.first);
  std::string waited;
  const auto while_held = [&](const char* what, const std::function<void()>& action) {
    stage.hold(stage.first);
    action();
    if (stage.let_go() && waited.empty()) waited = what;
    stage.synchronize(stage.first);
  };
  while_held("a release in the order of a stream", [&] { stage.release(held, stage.first); });
  while_held("an allocation for a stream that is held",
             [&] { held = stage.allocate(stage.first); });
  while_held("an allocation for another stream", [&] { other = stage.allocate(stage.second); });
  while_held("work with memory that another stream had before", [&] {
    stage.release(held, stage.first);
    held = stage.allocate(stage.second);
    stage.copy(held, source, stage.second);
    stage.synchronize(stage.second);
  });
  if (stage.api.trim) while_held("trim", [&] { stage.api.trim(stage.plugin.device); });
  stage.release(held, stage.second);
  stage.release(other, stage.second);
  Json result = answer(BP_OK);
  result["waited"] = waited;
  return result;
}

// The first address that is not a multiple of what was asked for; 0 if all are, or no handle is an address.
bp_handle misplaced(Stage& stage, std::uint64_t alignment) {
  constexpr std::uint32_t showing = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE;
  bp_handle found = 0;
  for (int i = 0; i < 8; ++i) {
    const bp_handle made = stage.allocate(stage.first, alignment);
    if ((stage.plugin.info.flags & showing) != 0 && made % alignment != 0) found = made;
    stage.release(made, stage.first);
  }
  return found;
}

Json look_at_ends(Stage& stage) {
  const bp_handle source = stage.block(1);
  bool same = true;
  for (int i = 0; i < 8; ++i) {
    const bp_handle made = stage.allocate(i % 2 ? stage.first : nullptr);
    stage.copy(made, source, i % 2 ? stage.first : nullptr);
    stage.synchronize(i % 2 ? stage.first : nullptr);
    same = same && stage.holds(made, 1);
    if (i % 4 < 2)
      stage.plugin.memory.release(stage.plugin.device, made);
    else
      stage.release(made, stage.second);  // another one than it was allocated for
  }
  stage.synchronize(stage.second);
  Json result = answer(BP_OK);
  result["same"] = same;
  result["misplaced"] = misplaced(stage, largest_alignment);
  return result;
}

}  // namespace

Json stream_memory(DirectPlugin& plugin, const Json& step) {
  const std::string what = step.at("what").get<std::string>();
  told_error() = {};
  try {
    Stage stage(plugin, step.at("bytes").get<std::uint64_t>());
    if (what == "order") return look_at_order(stage);
    return what == "waits" ? look_for_waits(stage) : look_at_ends(stage);
  } catch (const Error& error) {
    return {{"code", static_cast<int>(error.error_class())},
            {"message", error.what()},
            {"told", told_error().code}};
  }
}

}  // namespace bp::conform
