// Scopes of the direct lane, and their plain work: memory, streams and events.
#include "worker/direct_scope.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include <backplane/tensor/error.hpp>

namespace bp::conform {
namespace {

// Written over host memory that a copy from the host has passed: what is read later is wrong for certain.
constexpr std::uint8_t scribble = 0x6d;

// With when it began and ended, on the host's clock.
template <class F> Json timed(F&& function) {
  const auto now = [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::nano>(since).count();
  };
  const double began = now();
  const bp_code code = function();
  return answer(code, {{"began_ns", began}, {"ended_ns", now()}});
}

Json lacking(const char* what) {
  told_error() = {BP_UNSUPPORTED, fmt::format("the plugin has no {}", what)};
  return answer(BP_UNSUPPORTED);
}

std::uint64_t offset_of(const Json& step, const char* key = "offset") {
  return step.value<std::uint64_t>(key, 0);
}

bp_event* event_of(DirectScope& scope, const Json& step, const char* key = "event") {
  return find(scope.events, step.at(key), "event");
}

Json allocate(DirectScope& scope, const Json& step) {
  const int object = step.at("object");
  auto made = std::make_unique<GuardedBlock>(scope.plugin, object, scope.poison,
                                             step.value("sparse", false));
  const bp_code code = made->allocate(step.at("bytes"), step.value<std::uint64_t>("alignment", 1),
                                      step.value("space", 0u));
  if (code == BP_OK) scope.blocks[object] = std::move(made);
  return answer(code);
}

Json release(DirectScope& scope, const Json& step) {
  scope.settle();
  GuardedBlock& gone = scope.block(step);
  gone.look(scope.watch);
  scope.blocks.erase(gone.object());
  return {};
}

// Work that "may_fail" leaves there what it likes.
void expect(const Json& step, GuardedBlock& to, std::uint64_t offset, const Bytes& bytes) {
  if (step.value("may_fail", false))
    to.forget(offset, bytes.size());
  else
    to.expect(offset, bytes.data(), bytes.size());
}

DirectScope::HostBuffer& add_buffer(DirectScope& scope, const Json& step) {
  auto& made = *scope.buffers.emplace_back(std::make_unique<DirectScope::HostBuffer>());
  made.place = offset_of(step, "host_place");
  made.bytes.assign(made.place, scribble);
  return made;
}

Json write_bytes(DirectScope& scope, const Json& step, const Bytes& bytes) {
  GuardedBlock& to = scope.block(step);
  if (bytes.empty()) return {};
  const std::uint64_t offset = offset_of(step);
  DirectScope::HostBuffer& buffer = add_buffer(scope, step);
  buffer.bytes.insert(buffer.bytes.end(), bytes.begin(), bytes.end());
  bp_code code = scope.plugin.copy(to.region(offset, bytes.size()), buffer.region(),
                                   BP_COPY_FROM_HOST, scope.stream_of(step));
  if (code != BP_OK) return scope.refused(code);
  expect(step, to, offset, bytes);
  code = scope.settle_step(step, true);
  if (scope.busy.empty()) std::ranges::fill(buffer.bytes, scribble);
  return answer(code);
}

// The bytes are those of the moment at which the copy is said to be done.
Json read_back(DirectScope& scope, const Json& step) {
  GuardedBlock& from = scope.block(step);
  const std::uint64_t offset = offset_of(step);
  const std::uint64_t count = step.value("count", from.bytes() - std::min(offset, from.bytes()));
  DirectScope::HostBuffer& buffer = add_buffer(scope, step);
  buffer.bytes.assign(buffer.place + count, scope.poison);
  bp_code code = BP_OK;
  if (count != 0) {
    code = scope.plugin.copy(buffer.region(), from.region(offset, count), BP_COPY_TO_HOST,
                             scope.stream_of(step));
    if (code == BP_OK) code = scope.wait_for(step);
  }
  Json result = answer(code);
  buffer.is_target = true;
  buffer.hash = hash_bytes(buffer.bytes.data(), buffer.bytes.size());
  const auto came = buffer.bytes.begin() + static_cast<std::ptrdiff_t>(buffer.place);
  if (count != 0 && scope.plugin.host_readable() && scope.busy.empty() &&
      !std::equal(came, buffer.bytes.end(), from.address(offset)))
    scope.watch.add("paths", {{"object", from.object()}, {"offset", offset}, {"count", count}});
  result["bytes"] = Json::binary({came, buffer.bytes.end()});
  return result;
}

Json copy(DirectScope& scope, const Json& step) {
  GuardedBlock &to = scope.block(step, "to"), &from = scope.block(step, "from");
  const std::uint64_t to_offset = offset_of(step, "to_offset"),
                      from_offset = offset_of(step, "from_offset"), count = step.at("count");
  const bp_code code =
      scope.plugin.copy(to.region(to_offset, count), from.region(from_offset, count),
                        BP_COPY_WITHIN, scope.stream_of(step));
  if (code != BP_OK) return scope.refused(code);
  if (step.value("may_fail", false))
    to.forget(to_offset, count);
  else
    to.copy_expectation(to_offset, from, from_offset, count);
  from.was_moved = true;
  return answer(scope.settle_step(step, false));
}

Json fill(DirectScope& scope, const Json& step) {
  const DirectPlugin& plugin = scope.plugin;
  GuardedBlock& to = scope.block(step);
  if (!plugin.memory.fill) return lacking("fill");
  Bytes pattern = step.at("pattern").get_binary();
  const auto width = static_cast<std::uint32_t>(pattern.size());
  Bytes expected(step.at("count").get<std::uint64_t>());
  for (std::uint64_t i = 0; i < expected.size(); ++i)
    expected[i] = pattern[i % std::max(width, 1u)];
  const bp_region target = to.region(offset_of(step), expected.size());
  const bp_code code =
      plugin.memory.fill(plugin.device, &target, pattern.data(), width, scope.stream_of(step));
  std::ranges::fill(pattern, scribble);  // it is valid only during the call
  if (code != BP_OK) return scope.refused(code);
  expect(step, to, offset_of(step), expected);
  return answer(scope.settle_step(step, false));
}

Json make_stream(DirectScope& scope, const Json& step) {
  const DirectPlugin& plugin = scope.plugin;
  bp_stream* made = nullptr;
  const bool is_only = !plugin.queue.create_stream;
  const bp_code code =
      is_only ? BP_OK : plugin.queue.create_stream(plugin.device, step.value("priority", 0), &made);
  if (code == BP_OK) scope.streams[step.at("object").get<int>()] = made;
  return is_only ? Json{{"only", true}} : answer(code);
}

Json make_event(DirectScope& scope, const Json& step) {
  const DirectPlugin& plugin = scope.plugin;
  if (!plugin.queue.create_event) return lacking("events");
  bp_event* made = nullptr;
  const bp_code code = plugin.queue.create_event(plugin.device, &made);
  if (code == BP_OK) scope.events[step.at("object").get<int>()] = made;
  return answer(code);
}

Json destroy(DirectScope& scope, const Json& step) {
  DirectPlugin& plugin = scope.plugin;
  if (const int stream = step.value("stream", 0)) {
    plugin.queue.destroy_stream(plugin.device, scope.stream_of(step));
    scope.streams.erase(stream);
    scope.busy.erase(stream);
  } else {
    plugin.queue.destroy_event(plugin.device, event_of(scope, step));
    scope.events.erase(step["event"].get<int>());
  }
  return {};
}

Json synchronize(DirectScope& scope, const Json& step) {
  const int number = step.value("stream", 0);
  const bp_code code = scope.plugin.queue.synchronize(scope.plugin.device, scope.stream_of(step));
  scope.busy.erase(number);
  if (code == BP_STREAM_LOST) scope.lost.insert(number);
  Json result = answer(code);
  // Else the instruments' copies could be told what the script is to be told.
  if (code == BP_OK) scope.look_if_idle();
  return result;
}

Json query_stream(DirectScope& scope, const Json& step) {
  const bp_queue& queue = scope.plugin.queue;
  bp_stream* const stream = scope.stream_of(step);
  if (!queue.query_stream) return {};
  const bp_code code = queue.query_stream(scope.plugin.device, stream);
  if (code == BP_OK) scope.busy.erase(step.value("stream", 0));
  return answer(code);
}

Json elapsed(DirectScope& scope, const Json& step) {
  if (!scope.plugin.queue.elapsed) return {{"none", true}};
  double ns = -1;
  const bp_code code = scope.plugin.queue.elapsed(scope.plugin.device, event_of(scope, step),
                                                  event_of(scope, step, "until"), &ns);
  return answer(code, {{"ns", ns}});
}

// {"do":"raw", "what":"allocate"|"stale_copy"|"stale_fill", ...}: functions of memory with what no script's object could name.
Json raw_memory(DirectScope& scope, const Json& step) {
  DirectPlugin& plugin = scope.plugin;
  const std::string what = step.at("what");
  bp_handle handle = 0;
  const bp_code code = plugin.allocate(step.value<std::uint64_t>("bytes", 256),
                                       step.value<std::uint64_t>("alignment", 64), handle);
  if (code == BP_OK) plugin.release(handle);  // without being written
  if (what == "allocate") return answer(code, {{"handle", handle}});
  if (code != BP_OK) return answer(code);
  std::uint8_t bytes[16] = {};
  const bp_region target{handle, 0, sizeof bytes};
  if (what == "stale_copy")
    return answer(plugin.copy(target, at_host(bytes, sizeof bytes), BP_COPY_FROM_HOST, nullptr));
  if (what != "stale_fill") refuse("script: raw has no '{}'", what);
  if (!plugin.memory.fill) return {{"code", BP_BAD_ARGUMENT}, {"message", "no fill"}};
  return answer(plugin.memory.fill(plugin.device, &target, bytes, 4, nullptr));
}

Json set_host(DirectScope& scope, const Json& step) {
  DirectHost& host = scope.plugin.host;
  if (step.contains("threads")) host.num_threads = step["threads"].get<std::uint32_t>();
  if (step.contains("deterministic")) host.deterministic = step["deterministic"].get<bool>();
  Json result = {{"calls", host.calls.load()}};
  if (step.contains("fail_from")) host.fail_from(step["fail_from"]);
  return result;
}

Json alive(DirectScope& scope, const Json&) {
  GuardedBlock probe(scope.plugin, -2, scope.poison);
  if (const bp_code code = probe.allocate(num_sent, 1); code != BP_OK) return answer(code);
  return there_and_back([&](const void* sent) { probe.write(sent, num_sent); },
                        [&](void* came) { probe.read(came, num_sent); });
}

}  // namespace

const DirectSteps memory_steps = {
    {"allocate", allocate},
    {"release", release},
    {"write",
     [](DirectScope& scope, const Json& step) {
       return write_bytes(scope, step, step.at("bytes").get_binary());
     }},
    {"poison",
     [](DirectScope& scope, const Json& step) {
       return write_bytes(scope, {{"object", step.at("object")}},
                          Bytes(scope.block(step).bytes(), scope.poison));
     }},
    {"read", read_back},
    {"copy", copy},
    {"fill", fill},
    {"raw", raw_memory},
    {"host", set_host},
    {"alive", alive},
    {"stream", make_stream},
    {"event", make_event},
    {"destroy", destroy},
    {"synchronize", synchronize},
    {"query_stream", query_stream},
    {"elapsed", elapsed},
    {"record",
     [](DirectScope& scope, const Json& step) {
       const DirectPlugin& on = scope.plugin;
       bp_stream* const stream = scope.stream_of(step);
       return timed(
           [&] { return on.queue.record_event(on.device, event_of(scope, step), stream); });
     }},
    {"wait",
     [](DirectScope& scope, const Json& step) {
       const DirectPlugin& on = scope.plugin;
       bp_stream* const stream = scope.stream_of(step);
       return answer(on.queue.wait_event(on.device, stream, event_of(scope, step)));
     }},
    {"query_event",
     [](DirectScope& scope, const Json& step) {
       const DirectPlugin& on = scope.plugin;
       return answer(on.queue.query_event(on.device, event_of(scope, step)));
     }},
    {"synchronize_event",
     [](DirectScope& scope, const Json& step) {
       const DirectPlugin& on = scope.plugin;
       return timed([&] { return on.queue.synchronize_event(on.device, event_of(scope, step)); });
     }},
};

Json answer(bp_code code, const Json& more) {
  Json result = {{"code", code}};
  if (code != BP_OK)
    result.update({{"message", told_error().message}, {"told", told_error().code}});
  result.update(more);
  return result;
}

DirectScope::~DirectScope() {
  try {
    finish();
  } catch (const Error&) {
    // The device is lost; the process goes soon.
  }
}

Json DirectScope::step(const Json& step) {
  const std::string& what = step.at("do").get_ref<const std::string&>();
  told_error() = {};
  for (const DirectSteps* steps : {&call_steps, &memory_steps, &order_steps})
    if (const auto found = steps->find(what); found != steps->end())
      return found->second(*this, step);
  refuse("script: the direct lane has no step '{}'", what);
}

GuardedBlock* DirectScope::own_block(int object) {
  const auto found = blocks.find(object);
  return found == blocks.end() ? nullptr : found->second.get();
}

GuardedBlock* DirectScope::find_block(int object) {
  GuardedBlock* const own = own_block(object);
  return own || !within ? own : within->find_block(object);
}

GuardedBlock& DirectScope::block(const Json& step, const char* key) {
  if (GuardedBlock* const found = find_block(step.at(key))) return *found;
  refuse("script: no object {}", step.at(key).get<int>());
}

bp_stream* DirectScope::stream_of(const Json& step) {
  const int number = step.value("stream", 0);
  if (number == 0) return nullptr;
  if (within && !streams.contains(number)) return within->stream_of(step);
  return find(streams, number, "stream");
}

bp_code DirectScope::wait_for(const Json& step) {
  if (plugin.synchronous()) return BP_OK;
  const bp_code code = plugin.queue.synchronize(plugin.device, stream_of(step));
  busy.erase(step.value("stream", 0));
  return code;
}

bp_code DirectScope::settle_step(const Json& step, bool wait_by_default) {
  if (step.value("synchronize", wait_by_default)) return wait_for(step);
  if (!plugin.synchronous()) busy.insert(step.value("stream", 0));
  return BP_OK;
}

std::uint64_t DirectScope::hash(int object) {
  const GuardedBlock* const it = find_block(object);
  if (!it) return 0;
  Bytes bytes(it->bytes());
  it->read(bytes.data(), bytes.size());
  return hash_bytes(bytes.data(), bytes.size());
}

void DirectScope::settle() {
  bp_code worst = plugin.queue.synchronize(plugin.device, nullptr);
  for (const auto& [number, stream] : streams) {
    if (!stream || lost.contains(number)) continue;
    const bp_code code = plugin.queue.synchronize(plugin.device, stream);
    if (code != BP_OK) worst = code;
  }
  busy.clear();
  if (worst == BP_DEVICE_LOST) watch.set_lost(told(worst));
}

void DirectScope::look_at_all(const char* kind) {
  for (const auto& [number, each] : blocks) each->look(watch, kind);
  end_workspaces();
  if (fault) fault->look_around(watch);
}

Json DirectScope::refused(bp_code code) {
  Json result = answer(code);
  if (code != BP_DEVICE_LOST) settle();
  if (!watch.lost()) look_at_all("failed");
  return result;
}

void DirectScope::end_workspaces() {
  for (const auto& each : workspaces) each->look_around(watch);
  workspaces.clear();
  release_plans(std::exchange(fresh_plans, {}));
}

void DirectScope::look_if_idle() {
  if (busy.empty() && !watch.lost()) look_at_all();
}

void DirectScope::end_streams() {
  for (const auto& [number, event] : events) plugin.queue.destroy_event(plugin.device, event);
  for (const auto& [number, stream] : streams)
    if (stream) plugin.queue.destroy_stream(plugin.device, stream);
  events.clear();
  streams.clear();
}

void DirectScope::finish() {
  if (std::exchange(finished_, true)) return;
  let_all_go();
  settle();
  if (!watch.lost()) look_at_all();
  // Work may come late that was said to be done: it shall find its memory, and be seen.
  if (watch.saw_something()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const auto& each : buffers)
    if (each->is_target && hash_bytes(each->bytes.data(), each->bytes.size()) != each->hash)
      watch.add("late", {{"count", each->bytes.size()},
                         {"what", "host memory changed after a copy to it was done"}});
  for (const std::string& each : plugin.host.take_faults()) watch.add("host", {{"what", each}});
  end_streams();
  workspaces.clear();
  for (const auto& [number, plan] : plans) fresh_plans.push_back(plan);
  plans.clear();
  release_plans(std::exchange(fresh_plans, {}));
  end_order();
  fault.reset();
  blocks.clear();
}

void DirectScope::release_plans(const std::vector<KeptPlan>& gone) {
  for (const KeptPlan& each : gone)
    if (each.kernel->declared.release_plan)
      each.kernel->declared.release_plan(each.kernel->declared.self, each.said.own);
}

}  // namespace bp::conform
