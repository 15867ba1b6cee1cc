// Steps of the direct lane besides plain work: what streams are given besides work of the device, the device's memories, host
// memory, memory in the order of a stream, and failures on request.
//
//     {"do":"host_call", "object":H, "stream":S?, "gate":MS?}  a function that counts its calls; with a gate it returns once
//        "open" was asked for, or after so many milliseconds
//     {"do":"host_calls", "object":H} -> "calls", "place" of the last one among all of the script
//     {"do":"open", "object":H} -> "over": had its time passed before?
//     {"do":"semaphore", "object":M}  a number of the host's, taken by the plugin
//     {"do":"semaphore_wait"|"semaphore_signal", "object":M, "value":V, "stream":S?}
//     {"do":"semaphore_raise", "object":M, "value":V}  by the host
//     {"do":"semaphore_value", "object":M} -> "value"
//     {"do":"pause", "milliseconds":T}
//     {"do":"work", "to":N, "from":M, "stream":S, "milliseconds":T}  copies that take the device so long
//     {"do":"destroy", "event":E} {"do":"destroy", "stream":S}
//     {"do":"reopen"}  lets everything of the script go, and opens the device again
//     {"do":"inject", "kind":"given"|"work"|"memory", "error":CODE}  of the device's next piece of work, or allocation
//     {"do":"describe_space", "space":1}  what the plugin says of it; "ends": is its name terminated?
//     {"do":"fill_up", "space":1}  allocates until the plugin refuses, and gives all back. "code" and "message" are the
//        refusal's, "given" the bytes that there were; "after" says how an allocation went afterwards
//     {"do":"host_sees", "object":1, "space":2, "offset":0, "bytes"?}  what lies at the address that the handle then is; with
//        "bytes", after the host has written these there. {"none":true} where the plugin says that the host cannot
//     {"do":"host_memory", "object":1, "bytes":100, "adopts":false}  a pattern goes from the extension's memory to the object
//        and back. "adopts": the memory is the worker's own. {"none":true} where the plugin adopts none
//     {"do":"stream_memory", "what":W, "bytes":N}, each by itself, with streams of its own:
//        "order"  a block is given back while its stream still works on it, and others ask for such blocks meanwhile ->
//                 "earlier", "others", "next": does each hold what its own work wrote?
//        "waits"  -> "waited": what did not return before a stream that was held was let go, as a sentence's subject; else ""
//        "ends"   bp_memory.release ends such blocks too, and blocks come and go more often than fit at once -> "same"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/host_memory.h>
#include <backplane/extensions/inject.h>
#include <backplane/extensions/stream_memory.h>
#include <backplane/tensor/error.hpp>

#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

using Milliseconds = std::chrono::milliseconds;

bp_semaphores semaphores_of(const DirectPlugin& plugin) {
  return plugin.table<bp_semaphores>(BP_SEMAPHORES, BP_SEMAPHORES_VERSION);
}
bp_host_calls host_calls_of(const DirectPlugin& plugin) {
  return plugin.table<bp_host_calls>(BP_HOST_CALLS, BP_HOST_CALLS_VERSION);
}

Semaphore& semaphore_of(DirectScope& scope, const Json& step) {
  return find(scope.semaphores, step.at("object"), "semaphore");
}
HostCall& call_of(DirectScope& scope, const Json& step) {
  return find(scope.calls, step.at("object"), "host call");
}

// Of work in the order of a stream that the instruments wait for.
Json given(DirectScope& scope, const Json& step, bp_code code) {
  if (code == BP_OK) scope.settle_step(step, false);
  return answer(code);
}

Json host_call(DirectScope& scope, const Json& step) {
  const bp_host_calls api = host_calls_of(scope.plugin);
  if (!api.call) return answer(BP_UNSUPPORTED);
  const Milliseconds gate(step.value("gate", 0));
  HostCall& call = scope.add_call(step.at("object"), gate);
  const bp_code code = api.call(scope.plugin.device, scope.stream_of(step), HostCall::run, &call);
  // A stream that is only held has no work that the instruments would have to wait for.
  return gate.count() == 0 ? given(scope, step, code) : answer(code);
}

Json make_semaphore(DirectScope& scope, const Json& step) {
  Semaphore& made = scope.semaphores[step.at("object").get<int>()];
  const bp_native native{BP_SEMAPHORE_HOST, reinterpret_cast<std::uintptr_t>(&made.number)};
  return answer(semaphores_of(scope.plugin).take(scope.plugin.device, &native, &made.raw));
}

// `give`: bp_semaphores.wait or signal.
template <auto give> Json give_semaphore(DirectScope& scope, const Json& step) {
  const bp_semaphores api = semaphores_of(scope.plugin);
  return given(scope, step,
               (api.*give)(scope.plugin.device, scope.stream_of(step),
                           semaphore_of(scope, step).raw, step.value<std::uint64_t>("value", 0)));
}

std::uint64_t value_of(const Semaphore& semaphore) {
  return __atomic_load_n(&semaphore.number, __ATOMIC_ACQUIRE);
}
void raise(Semaphore& semaphore, std::uint64_t value) {
  __atomic_store_n(&semaphore.number, value, __ATOMIC_RELEASE);
}

Json work(DirectScope& scope, const Json& step) {
  DirectPlugin& plugin = scope.plugin;
  GuardedBlock &to = scope.block(step, "to"), &from = scope.block(step, "from");
  const bp_region target = to.region(0, to.bytes()), source = from.region(0, to.bytes());
  bp_stream* const stream = scope.stream_of(step);
  const auto give = [&](int times) {
    for (int i = 0; i < times; ++i)
      require(plugin.copy(target, source, BP_COPY_WITHIN, stream), "copy");
  };
  constexpr int most = 1 << 14;
  for (int times = 8; plugin.copies_in_ms == 0; times *= 2) {
    const auto begin = std::chrono::steady_clock::now();
    give(times);
    require(plugin.queue.synchronize(plugin.device, stream), "synchronize");
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (took.count() >= 5 || times >= most) plugin.copies_in_ms = times / took.count();
  }
  const double wanted = plugin.copies_in_ms * step.at("milliseconds").get<double>();
  give(static_cast<int>(std::clamp<double>(wanted, 1, most)));
  to.copy_expectation(0, from, 0, to.bytes());
  from.was_moved = true;
  return answer(scope.settle_step(step, false));
}

Json reopen(DirectScope& scope, const Json&) {
  scope.lost.clear();
  scope.busy.clear();
  scope.end_streams();
  scope.blocks.clear();
  return answer(scope.plugin.reopen());
}

Json inject(DirectScope& scope, const Json& step) {
  const auto api = scope.plugin.table<bp_inject>(BP_INJECT, BP_INJECT_VERSION);
  const std::string kind = step.at("kind");
  const std::uint32_t number = kind == "given"  ? BP_INJECT_GIVEN
                               : kind == "work" ? BP_INJECT_WORK
                                                : BP_INJECT_MEMORY;
  return answer(api.fail_next(scope.plugin.device, number, 0, step.at("error")));
}

// ---- Memory

bp_code ask(DirectPlugin& plugin, const Json& step, bp_space_info& info) {
  info = {};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  told_error() = {};
  return plugin.memory.describe_space(plugin.device, step.at("space"), &info);
}

Json describe_space(DirectScope& scope, const Json& step) {
  bp_space_info info;
  if (const bp_code code = ask(scope.plugin, step, info); code != BP_OK) return answer(code);
  return {{"ends", std::memchr(info.name, 0, sizeof info.name) != nullptr},
          {"named", info.name[0] != 0},
          {"flags", info.flags},
          {"total", info.total_bytes},
          {"free", info.free_bytes}};
}

Json host_sees(DirectScope& scope, const Json& step) {
  bp_space_info info;
  if (ask(scope.plugin, step, info) != BP_OK || !(info.flags & BP_SPACE_HOST_VISIBLE))
    return {{"none", true}};
  GuardedBlock& seen = scope.block(step);
  const auto offset = step.value<std::uint64_t>("offset", 0);
  std::uint8_t* const at = seen.address(offset);
  if (step.contains("bytes")) {
    const Bytes& bytes = step["bytes"].get_binary();
    std::ranges::copy(bytes, at);
    seen.expect(offset, bytes.data(), bytes.size());
  }
  return {{"bytes", Json::binary(Bytes(at, at + seen.bytes() - offset))}};
}

Json fill_up(DirectScope& scope, const Json& step) {
  DirectPlugin& plugin = scope.plugin;
  // Beyond it one allocation that cannot be shall do.
  constexpr std::uint64_t largest_filled = 64u << 20, pieces = 8;
  const std::uint32_t space = step.at("space");
  bp_space_info info;
  if (const bp_code code = ask(plugin, step, info); code != BP_OK) return answer(code);
  const bool is_small = info.total_bytes != 0 && info.total_bytes <= largest_filled;
  const std::uint64_t piece = is_small ? info.total_bytes / pieces + 1 : std::uint64_t{1} << 60;
  std::vector<bp_handle> held;
  bp_handle handle = 0;
  bp_code code = BP_OK;
  while (code == BP_OK && held.size() <= pieces) {
    told_error() = {};
    code = plugin.allocate(piece, 64, handle, space);
    if (code == BP_OK) held.push_back(handle);
  }
  Json result = answer(code, {{"given", held.size() * piece}, {"total", info.total_bytes}});
  for (const bp_handle each : held) plugin.release(each);
  result["after"] = plugin.allocate(is_small ? piece : 64, 64, handle, space);
  if (handle != 0) plugin.release(handle);
  return result;
}

constexpr std::uint64_t block_alignment = 64;

// From host memory that holds the pattern to the block and back: does the same arrive?
bool is_same_after(DirectPlugin& plugin, GuardedBlock& there, void* memory, const Bytes& pattern) {
  const bp_region host = at_host(memory, pattern.size()), device = there.region(0, pattern.size());
  const auto go = [&](const bp_region& to, const bp_region& from, std::uint32_t direction) {
    require(plugin.copy(to, from, direction, nullptr), "copy");
    require(plugin.queue.synchronize(plugin.device, nullptr), "synchronize");
  };
  go(device, host, BP_COPY_FROM_HOST);
  there.expect(0, pattern.data(), pattern.size());
  std::memset(memory, 0, pattern.size());
  go(host, device, BP_COPY_TO_HOST);
  return std::memcmp(memory, pattern.data(), pattern.size()) == 0;
}

Json host_memory(DirectScope& scope, const Json& step) {
  DirectPlugin& plugin = scope.plugin;
  const auto* table = reinterpret_cast<const bp_host_memory*>(
      plugin.extension(BP_HOST_MEMORY, BP_HOST_MEMORY_VERSION));
  const std::uint64_t bytes = step.at("bytes");
  const bool adopts = step.value("adopts", false);
  if (!table || (adopts && (!table->adopt || !table->forget))) return {{"none", true}};
  Bytes pattern(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::uint8_t>(i * 13 + 5);
  const std::unique_ptr<void, void (*)(void*)> own(
      std::aligned_alloc(block_alignment,
                         (bytes + block_alignment - 1) / block_alignment * block_alignment),
      &std::free);
  void* memory = adopts ? own.get() : nullptr;
  if (adopts) std::ranges::copy(pattern, static_cast<std::uint8_t*>(memory));
  const bp_code code = adopts ? table->adopt(plugin.device, memory, bytes)
                              : table->allocate(plugin.device, bytes, block_alignment, &memory);
  if (adopts && code == BP_UNSUPPORTED) return {{"none", true}};
  const auto holds = [&] { return std::memcmp(memory, pattern.data(), bytes) == 0; };
  Json result = answer(code);
  if (code != BP_OK || !memory) return result["null"] = true, result;
  result["aligned"] = reinterpret_cast<std::uintptr_t>(memory) % block_alignment == 0;
  result["kept"] = !adopts || holds();
  std::ranges::copy(pattern, static_cast<std::uint8_t*>(memory));
  result["same"] = is_same_after(plugin, scope.block(step), memory, pattern);
  if (!adopts) return table->release(plugin.device, memory), result;
  table->forget(plugin.device, memory);
  result["still_kept"] = holds();
  told_error() = {};
  result["again"] = table->adopt(plugin.device, memory, bytes);
  if (result["again"] == BP_OK) table->forget(plugin.device, memory);
  return result;
}

// ---- Memory in the order of a stream

// Long enough that nothing on a busy machine takes as long by itself.
constexpr Milliseconds longest_hold{3000};
constexpr std::uint64_t largest_alignment = 4096;
constexpr int num_others = 3;

// Two streams, and blocks that live until the end; all of it goes with the stage.
class Stage {
 public:
  Stage(DirectScope& scope, std::uint64_t bytes_of_each)
      : plugin(scope.plugin), bytes(bytes_of_each),
        api(plugin.table<bp_stream_memory>(BP_STREAM_MEMORY, BP_STREAM_MEMORY_VERSION)),
        scope_(scope) {
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
    plugin.write(handle, 0, pattern_of(seed).data(), bytes);
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
    require(plugin.copy({to, 0, bytes}, {from, 0, bytes}, BP_COPY_WITHIN, stream), "copy");
  }
  void synchronize(bp_stream* stream) {
    require(plugin.queue.synchronize(plugin.device, stream), "synchronize");
  }
  bool holds(bp_handle handle, unsigned seed) {
    Bytes found(bytes);
    plugin.read(handle, 0, found.data(), bytes);
    return found == pattern_of(seed);
  }

  // The call stays with the scope: it comes once, whatever becomes of the stream.
  void hold(bp_stream* stream) {
    const int lowest = scope_.calls.empty() ? 0 : std::min(scope_.calls.begin()->first, 0);
    held_ = &scope_.add_call(lowest - 1, longest_hold);
    require(host_calls_of(plugin).call(plugin.device, stream, HostCall::run, held_),
            "bp_host_calls.call");
  }
  // True if the time had run out.
  bool let_go() {
    HostCall* const call = std::exchange(held_, nullptr);
    return call && call->open();
  }

  DirectPlugin& plugin;
  const std::uint64_t bytes;
  const bp_stream_memory api;
  bp_stream *first = nullptr, *second = nullptr;

 private:
  Bytes pattern_of(unsigned seed) const {
    Bytes pattern(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i)
      pattern[i] = static_cast<std::uint8_t>(i * 13 + i / 251 + seed * 37);
    return pattern;
  }

  DirectScope& scope_;
  HostCall* held_ = nullptr;
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

Json stream_memory(DirectScope& scope, const Json& step) {
  const std::string what = step.at("what");
  told_error() = {};
  try {
    Stage stage(scope, step.at("bytes"));
    if (what == "order") return look_at_order(stage);
    return what == "waits" ? look_for_waits(stage) : look_at_ends(stage);
  } catch (const Error& error) {
    Json result = failure_json(error);
    result["told"] = told_error().code;
    return result;
  }
}

}  // namespace

const DirectSteps order_steps = {
    {"host_call", host_call},
    {"host_calls",
     [](DirectScope& scope, const Json& step) -> Json {
       const HostCall& call = call_of(scope, step);
       return {{"calls", call.calls.load()}, {"place", call.place.load()}};
     }},
    {"open",
     [](DirectScope& scope, const Json& step) -> Json {
       return {{"over", call_of(scope, step).open()}};
     }},
    {"work", work},
    {"inject", inject},
    {"reopen", reopen},
    {"pause",
     [](DirectScope&, const Json& step) -> Json {
       std::this_thread::sleep_for(Milliseconds(step.at("milliseconds").get<int>()));
       return {};
     }},
    {"semaphore", make_semaphore},
    {"semaphore_wait", give_semaphore<&bp_semaphores::wait>},
    {"semaphore_signal", give_semaphore<&bp_semaphores::signal>},
    {"semaphore_raise",
     [](DirectScope& scope, const Json& step) -> Json {
       raise(semaphore_of(scope, step), step.at("value"));
       return {};
     }},
    {"semaphore_value",
     [](DirectScope& scope, const Json& step) -> Json {
       return {{"value", value_of(semaphore_of(scope, step))}};
     }},
    {"describe_space", describe_space},
    {"fill_up", fill_up},
    {"host_sees", host_sees},
    {"host_memory", host_memory},
    {"stream_memory", stream_memory},
};

bool takes_timelines(const DirectPlugin& plugin) {
  const bp_semaphores api = semaphores_of(plugin);
  for (const char* const* kind = api.kinds; kind && *kind; ++kind)
    if (std::string_view(*kind) == BP_SEMAPHORE_HOST) return true;
  return false;
}

void HostCall::run(void* context) {
  auto& call = *static_cast<HostCall*>(context);
  if (call.gate.count() != 0) {
    std::unique_lock lock(call.mutex);
    call.is_over = !call.opened.wait_for(lock, call.gate, [&] { return call.is_open; });
  }
  call.place = ++call.places;
  ++call.calls;
}

bool HostCall::open() {
  const std::lock_guard lock(mutex);
  is_open = true;
  opened.notify_all();
  return is_over;
}

HostCall& DirectScope::add_call(int object, Milliseconds gate) {
  calls.erase(object);
  return calls.try_emplace(object, places_, gate).first->second;
}

void DirectScope::let_all_go() {
  for (auto& [object, each] : calls) each.open();
  for (auto& [object, each] : semaphores)
    raise(each, std::max<std::uint64_t>(value_of(each), 1u << 30));
}

void DirectScope::end_order() {
  const bp_semaphores api = semaphores_of(plugin);
  for (const auto& [object, each] : semaphores)
    if (each.raw) api.release(plugin.device, each.raw);
  semaphores.clear();
  calls.clear();
}

}  // namespace bp::conform
