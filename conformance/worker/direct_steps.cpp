// Steps of the direct lane besides plain work: its memories, host memory, memory in the order of a stream; functions of the
// host, semaphores, and failures on request.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/host_memory.h>
#include <backplane/extensions/inject.h>
#include <backplane/extensions/stream_memory.h>
#include <backplane/tensor/error.hpp>

#include "refuse.hpp"
#include "worker/direct_scope.hpp"

namespace bp::conform {

// ---- Order

namespace {

bp_semaphores semaphores_of(const DirectPlugin& plugin) {
  return plugin.table<bp_semaphores>(BP_SEMAPHORES, BP_SEMAPHORES_VERSION);
}

template <class Object> Object& find(std::map<int, std::unique_ptr<Object>>& all, int object) {
  const auto found = all.find(object);
  if (found == all.end()) refuse("script: no such object");
  return *found->second;
}

std::uint64_t value_of(const OrderObjects::Semaphore& semaphore) {
  return __atomic_load_n(&semaphore.number, __ATOMIC_ACQUIRE);
}

}  // namespace

bool takes_timelines(const DirectPlugin& plugin) {
  const bp_semaphores api = semaphores_of(plugin);
  for (const char* const* kind = api.kinds; kind && *kind; ++kind)
    if (std::string_view(*kind) == BP_SEMAPHORE_HOST) return true;
  return false;
}

OrderObjects::HostCall& OrderObjects::add_call(int object, std::chrono::milliseconds gate) {
  auto& made = calls_[object] = std::make_unique<HostCall>();
  made->all = this;
  made->gate = gate;
  return *made;
}
OrderObjects::HostCall& OrderObjects::call(int object) {
  return find(calls_, object);
}
OrderObjects::Semaphore& OrderObjects::add_semaphore(int object, DirectPlugin& plugin) {
  auto& made = semaphores_[object] = std::make_unique<Semaphore>();
  made->plugin = &plugin;
  return *made;
}
OrderObjects::Semaphore& OrderObjects::semaphore(int object) {
  return find(semaphores_, object);
}

void OrderObjects::run(void* context) {
  auto& call = *static_cast<HostCall*>(context);
  OrderObjects& all = *call.all;
  if (call.gate.count() != 0) {
    std::unique_lock lock(all.mutex_);
    call.is_over = !all.opened_.wait_for(lock, call.gate, [&] { return call.is_open; });
  }
  call.place = ++all.places_;
  ++call.calls;
}

bool OrderObjects::open(HostCall& call) {
  const std::lock_guard lock(mutex_);
  call.is_open = true;
  opened_.notify_all();
  return call.is_over;
}

void OrderObjects::let_all_go() {
  for (auto& [object, each] : calls_) open(*each);
  for (auto& [object, each] : semaphores_)
    __atomic_store_n(&each->number, std::max<std::uint64_t>(value_of(*each), 1u << 30),
                     __ATOMIC_RELEASE);
}

void OrderObjects::end() {
  for (auto& [object, each] : semaphores_)
    if (each->raw) {
      const bp_semaphores api = semaphores_of(*each->plugin);
      api.release(each->plugin->device, each->raw);
    }
  semaphores_.clear();
  calls_.clear();
}

Json DirectScope::work(const Json& step) {
  GuardedBlock &to = block(step, "to"), &from = block(step, "from");
  const bp_region target{to.handle(), to.front(), to.bytes()};
  const bp_region source{from.handle(), from.front(), to.bytes()};
  bp_stream* const stream = stream_of(step);
  const auto give = [&](int times) {
    for (int i = 0; i < times; ++i)
      require(plugin_.memory.copy(plugin_.device, &target, &source, BP_COPY_WITHIN, stream),
              "copy");
  };
  constexpr int most = 1 << 14;
  for (int times = 8; plugin_.copies_in_ms == 0; times *= 2) {
    const auto begin = std::chrono::steady_clock::now();
    give(times);
    require(plugin_.queue.synchronize(plugin_.device, stream), "synchronize");
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (took.count() >= 5 || times >= most) plugin_.copies_in_ms = times / took.count();
  }
  const double wanted = plugin_.copies_in_ms * step.at("milliseconds").get<double>();
  give(static_cast<int>(std::clamp<double>(wanted, 1, most)));
  to.copy_expectation(0, from, 0, to.bytes());
  from.was_moved = true;
  return answer(settle_step(step, false));
}

Json DirectScope::destroy(const Json& step) {
  if (const int stream = step.value("stream", 0)) {
    plugin_.queue.destroy_stream(plugin_.device, stream_of(step));
    streams_.erase(stream);
    busy_.erase(stream);
  } else {
    const int event = step.at("event").get<int>();
    plugin_.queue.destroy_event(plugin_.device, events_.at(event));
    events_.erase(event);
  }
  return answer(BP_OK);
}

Json DirectScope::reopen() {
  lost_.clear();
  busy_.clear();
  end_streams();
  blocks_.clear();
  return answer(plugin_.reopen());
}

Json DirectScope::inject(const Json& step) {
  const auto api = plugin_.table<bp_inject>(BP_INJECT, BP_INJECT_VERSION);
  const auto& kind = step.at("kind").get_ref<const std::string&>();
  const std::uint32_t number = kind == "given"  ? BP_INJECT_GIVEN
                               : kind == "work" ? BP_INJECT_WORK
                                                : BP_INJECT_MEMORY;
  return answer(api.fail_next(plugin_.device, number, 0, step.at("error").get<bp_code>()));
}

Json DirectScope::order_step(const std::string& what, const Json& step) {
  const int object = step.value("object", 0), number = step.value("stream", 0);
  const auto given = [&](bp_code code) {
    if (code == BP_OK && !plugin_.synchronous()) busy_.insert(number);
    return answer(code);
  };
  if (what == "host_call") {
    const auto api = plugin_.table<bp_host_calls>(BP_HOST_CALLS, BP_HOST_CALLS_VERSION);
    if (!api.call) return answer(BP_UNSUPPORTED);
    const std::chrono::milliseconds gate(step.value("gate", 0));
    OrderObjects::HostCall& call = order_.add_call(object, gate);
    const bp_code code = api.call(plugin_.device, stream_of(step), OrderObjects::run, &call);
    // A stream that is only held has no work that the instruments would have to wait for.
    return gate.count() == 0 ? given(code) : answer(code);
  }
  if (what == "host_calls") {
    const OrderObjects::HostCall& call = order_.call(object);
    return {{"code", BP_OK}, {"calls", call.calls.load()}, {"place", call.place.load()}};
  }
  if (what == "open") return {{"code", BP_OK}, {"over", order_.open(order_.call(object))}};
  if (what == "work") return work(step);
  if (what == "destroy") return destroy(step);
  if (what == "inject") return inject(step);
  if (what == "reopen") return reopen();
  if (what == "pause") {
    std::this_thread::sleep_for(std::chrono::milliseconds(step.at("milliseconds").get<int>()));
    return answer(BP_OK);
  }
  if (what.rfind("semaphore", 0) != 0) return nullptr;
  const bp_semaphores api = semaphores_of(plugin_);
  if (what == "semaphore") {
    OrderObjects::Semaphore& made = order_.add_semaphore(object, plugin_);
    const bp_native native{BP_SEMAPHORE_HOST, reinterpret_cast<std::uintptr_t>(&made.number)};
    return answer(api.take(plugin_.device, &native, &made.raw));
  }
  OrderObjects::Semaphore& semaphore = order_.semaphore(object);
  const std::uint64_t value = step.value("value", std::uint64_t{0});
  if (what == "semaphore_wait")
    return given(api.wait(plugin_.device, stream_of(step), semaphore.raw, value));
  if (what == "semaphore_signal")
    return given(api.signal(plugin_.device, stream_of(step), semaphore.raw, value));
  if (what == "semaphore_raise")
    return __atomic_store_n(&semaphore.number, value, __ATOMIC_RELEASE), answer(BP_OK);
  if (what == "semaphore_value") return {{"code", BP_OK}, {"value", value_of(semaphore)}};
  return nullptr;
}

// ---- Memory

namespace {

// Beyond it one allocation that cannot be shall do.
constexpr std::uint64_t largest_filled = 64u << 20;
constexpr std::uint64_t pieces = 8;

bp_code ask(DirectPlugin& plugin, std::uint32_t space, bp_space_info& info) {
  info = {};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  told_error() = {};
  return plugin.memory.describe_space(plugin.device, space, &info);
}

struct Held {
  DirectPlugin& plugin;
  std::vector<bp_handle> handles{};
  ~Held() { release(); }
  void release() {
    for (const bp_handle handle : handles) plugin.release(handle);
    handles.clear();
  }
};

}  // namespace

Json describe_space(DirectPlugin& plugin, const Json& step) {
  bp_space_info info;
  const bp_code code = ask(plugin, step.at("space").get<std::uint32_t>(), info);
  if (code != BP_OK) return answer(code);
  return answer(BP_OK, {{"ends", std::memchr(info.name, 0, sizeof info.name) != nullptr},
                        {"named", info.name[0] != 0},
                        {"flags", info.flags},
                        {"total", info.total_bytes},
                        {"free", info.free_bytes}});
}

bool is_host_visible(DirectPlugin& plugin, std::uint32_t space) {
  bp_space_info info;
  return ask(plugin, space, info) == BP_OK && (info.flags & BP_SPACE_HOST_VISIBLE);
}

Json fill_up(DirectPlugin& plugin, const Json& step) {
  const auto space = step.at("space").get<std::uint32_t>();
  bp_space_info info;
  if (const bp_code code = ask(plugin, space, info); code != BP_OK) return answer(code);
  const bool is_small = info.total_bytes != 0 && info.total_bytes <= largest_filled;
  const std::uint64_t piece = is_small ? info.total_bytes / pieces + 1 : std::uint64_t{1} << 60;
  Held held{plugin};
  bp_code code = BP_OK;
  while (code == BP_OK && held.handles.size() <= pieces) {
    bp_handle handle = 0;
    told_error() = {};
    code = plugin.allocate(piece, 64, handle, space);
    if (code == BP_OK) held.handles.push_back(handle);
  }
  Json result = answer(code, {{"given", held.handles.size() * piece}, {"total", info.total_bytes}});
  held.release();
  bp_handle handle = 0;
  result["after"] = plugin.allocate(is_small ? piece : 64, 64, handle, space);
  if (handle != 0) plugin.release(handle);
  return result;
}

namespace {

constexpr std::uint64_t host_alignment = 64;

Bytes pattern_of(std::uint64_t bytes) {
  Bytes pattern(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::uint8_t>(i * 13 + 5);
  return pattern;
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

// {"do":"host_memory", "object":1, "bytes":100, "adopts":false}: a pattern goes from the extension's memory to the object and
// back. "adopts": the memory is the worker's own. {"none":true} where the plugin adopts none.
Json DirectScope::host_memory(const Json& step) {
  const auto* table = reinterpret_cast<const bp_host_memory*>(
      plugin_.extension(BP_HOST_MEMORY, BP_HOST_MEMORY_VERSION));
  const auto bytes = step.at("bytes").get<std::uint64_t>();
  const bool adopts = step.value("adopts", false);
  if (!table || (adopts && (!table->adopt || !table->forget)))
    return {{"code", BP_OK}, {"none", true}};
  const Bytes pattern = pattern_of(bytes);
  std::unique_ptr<void, Freed> own;
  void* memory = nullptr;
  bp_code code = BP_OK;
  if (adopts) {
    own.reset(std::aligned_alloc(host_alignment,
                                 (bytes + host_alignment - 1) / host_alignment * host_alignment));
    memory = own.get();
    std::memcpy(memory, pattern.data(), bytes);
    code = table->adopt(plugin_.device, memory, bytes);
    if (code == BP_UNSUPPORTED) return {{"code", BP_OK}, {"none", true}};
  } else {
    code = table->allocate(plugin_.device, bytes, host_alignment, &memory);
  }
  Json result = answer(code);
  if (code != BP_OK || !memory) return result["null"] = true, result;
  result["aligned"] = reinterpret_cast<std::uintptr_t>(memory) % host_alignment == 0;
  result["kept"] = !adopts || std::memcmp(memory, pattern.data(), bytes) == 0;
  std::memcpy(memory, pattern.data(), bytes);
  result["same"] = there_and_back(block(step, "object"), memory, pattern);
  if (!adopts) return table->release(plugin_.device, memory), result;
  table->forget(plugin_.device, memory);
  result["still_kept"] = std::memcmp(memory, pattern.data(), bytes) == 0;
  told_error() = {};
  result["again"] = table->adopt(plugin_.device, memory, bytes);
  if (result["again"] == BP_OK) table->forget(plugin_.device, memory);
  return result;
}

bool DirectScope::there_and_back(GuardedBlock& there, void* memory, const Bytes& pattern) {
  const bp_region host{reinterpret_cast<std::uintptr_t>(memory), 0, pattern.size()};
  const bp_region device{there.handle(), there.front(), pattern.size()};
  require(plugin_.memory.copy(plugin_.device, &device, &host, BP_COPY_FROM_HOST, nullptr), "copy");
  require(plugin_.queue.synchronize(plugin_.device, nullptr), "synchronize");
  there.expect(0, pattern.data(), pattern.size());
  std::memset(memory, 0, pattern.size());
  require(plugin_.memory.copy(plugin_.device, &host, &device, BP_COPY_TO_HOST, nullptr), "copy");
  require(plugin_.queue.synchronize(plugin_.device, nullptr), "synchronize");
  return std::memcmp(memory, pattern.data(), pattern.size()) == 0;
}

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
    const Bytes pattern = pattern_of(seed);
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
    Bytes found(bytes);
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
  Bytes pattern_of(unsigned seed) const {
    Bytes pattern(bytes);
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

  const Json result = answer(BP_OK, {{"earlier", stage.holds(seen, 1)},
                                     {"next", stage.holds(next, 4)},
                                     {"others", std::ranges::all_of(others, [&](bp_handle each) {
                                        return stage.holds(each, 2);
                                      })}});
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
  return answer(BP_OK, {{"waited", waited}});
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
  return answer(BP_OK, {{"same", same}, {"misplaced", misplaced(stage, largest_alignment)}});
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
