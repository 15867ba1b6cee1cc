#include "worker/direct_scope.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <backplane/tensor/error.hpp>

#include "refuse.hpp"

namespace bp::conform {
namespace {

// Written over host memory that a copy from the host has passed: what is read later is wrong for certain.
constexpr std::uint8_t scribble = 0x6d;

}  // namespace

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

Json answer(bp_code code, const Json& more) {
  Json result = {{"code", code}};
  if (code != BP_OK)
    result.update({{"message", told_error().message}, {"told", told_error().code}});
  result.update(more);
  return result;
}

DirectScope::~DirectScope() {
  if (!finished_) {
    try {
      finish();
    } catch (const Error&) {
      // The device is lost; the process goes soon.
    }
  }
}

Json DirectScope::step(const Json& step) {
  const std::string& what = step.at("do").get_ref<const std::string&>();
  told_error() = {};
  if (what == "call") return call(step);
  if (what == "allocate") return allocate(step);
  if (what == "write") return write(step);
  if (what == "read") return read(step);
  if (what == "copy") return copy(step);
  if (what == "fill") return fill(step);
  if (what == "release") return release(step);
  if (what == "stream") return make_stream(step);
  if (what == "event") return make_event(step);
  if (what == "host") return set_host(step);
  if (what == "raw") return raw_memory(step);
  if (what == "describe_space") return describe_space(plugin_, step);
  if (what == "fill_up") return fill_up(plugin_, step);
  if (what == "host_sees") return host_sees(step);
  if (what == "host_memory") return host_memory(step);
  if (what == "stream_memory") return stream_memory(plugin_, step);
  if (what == "poison") return write_poison(step);
  if (what == "alive") return alive();
  if (Json result = order_step(what, step); !result.is_null()) return result;
  return queue_step(what, step);
}

GuardedBlock& DirectScope::block(const Json& step, const char* key) {
  const auto found = blocks_.find(step.at(key).get<int>());
  if (found != blocks_.end()) return *found->second;
  if (within_) return within_->block(step, key);
  refuse("script: no object {}", step.at(key).get<int>());
}

ObjectPlace DirectScope::place_of(int object) {
  const auto found = blocks_.find(object);
  if (found == blocks_.end() && within_) return within_->place_of(object);
  if (found == blocks_.end()) return {};  // to be allocated by the kernel, or without elements
  return {found->second->handle(), found->second->front()};
}

bp_stream* DirectScope::stream_of(const Json& step) {
  const int number = step.value("stream", 0);
  if (number == 0) return nullptr;
  const auto found = streams_.find(number);
  if (found != streams_.end()) return found->second;
  if (within_) return within_->stream_of(step);
  refuse("script: no stream {}", number);
}

Json DirectScope::allocate(const Json& step) {
  const int object = step.at("object").get<int>();
  auto made = std::make_unique<GuardedBlock>(plugin_, object, poison_, step.value("sparse", false));
  const bp_code code =
      made->allocate(step.at("bytes").get<std::uint64_t>(),
                     step.value("alignment", std::uint64_t{1}), step.value("space", 0u));
  if (code == BP_OK) blocks_[object] = std::move(made);
  return answer(code);
}

Json DirectScope::release(const Json& step) {
  settle();
  GuardedBlock& gone = block(step, "object");
  gone.look(watch);
  blocks_.erase(gone.object());
  return answer(BP_OK);
}

bp_code DirectScope::settle_step(const Json& step, bool wait_by_default) {
  if (plugin_.synchronous()) return BP_OK;
  const int number = step.value("stream", 0);
  busy_.insert(number);
  if (!step.value("synchronize", wait_by_default)) return BP_OK;
  const bp_code code = plugin_.queue.synchronize(plugin_.device, stream_of(step));
  busy_.erase(number);
  return code;
}

// Work that "may_fail" leaves there what it likes.
void DirectScope::expect(const Json& step, GuardedBlock& to, std::uint64_t offset,
                         const std::uint8_t* data, std::uint64_t count) {
  if (step.value("may_fail", false))
    to.forget(offset, count);
  else
    to.expect(offset, data, count);
}

Json DirectScope::write(const Json& step) {
  GuardedBlock& to = block(step, "object");
  HostBuffer& buffer = *buffers_.emplace_back(std::make_unique<HostBuffer>());
  buffer.bytes = binary_of(step.at("bytes"));
  const std::uint64_t offset = step.value("offset", std::uint64_t{0}), count = buffer.bytes.size();
  buffer.place = step.value("host_place", std::uint64_t{0});
  buffer.bytes.insert(buffer.bytes.begin(), buffer.place, scribble);
  if (count == 0) return answer(BP_OK);
  const bp_region target{to.handle(), to.front() + offset, count};
  const bp_region source{reinterpret_cast<std::uintptr_t>(buffer.data()), 0, count};
  bp_code code =
      plugin_.memory.copy(plugin_.device, &target, &source, BP_COPY_FROM_HOST, stream_of(step));
  if (code != BP_OK) return refused(code);
  expect(step, to, offset, buffer.data(), count);
  code = settle_step(step, true);
  if (busy_.empty()) std::memset(buffer.data(), scribble, count);
  return answer(code);
}

Json DirectScope::write_poison(const Json& step) {
  Json over = {{"object", step.at("object")}};
  over["bytes"] = Json::binary(Bytes(block(step, "object").bytes(), poison_));
  return write(over);
}

// The bytes are those of the moment at which the copy is said to be done.
Json DirectScope::read(const Json& step) {
  GuardedBlock& from = block(step, "object");
  const std::uint64_t offset = step.value("offset", std::uint64_t{0});
  const std::uint64_t count = step.value("count", from.bytes() - std::min(offset, from.bytes()));
  HostBuffer& buffer = *buffers_.emplace_back(std::make_unique<HostBuffer>());
  buffer.place = step.value("host_place", std::uint64_t{0});
  buffer.bytes.assign(buffer.place + count, poison_);
  Json result = answer(BP_OK);
  if (count != 0) {
    const bp_region target{reinterpret_cast<std::uintptr_t>(buffer.data()), 0, count};
    const bp_region source{from.handle(), from.front() + offset, count};
    bp_code code =
        plugin_.memory.copy(plugin_.device, &target, &source, BP_COPY_TO_HOST, stream_of(step));
    if (code == BP_OK) {
      Json waiting = step;
      waiting["synchronize"] = true;
      code = settle_step(waiting, true);
    }
    result = answer(code);
  }
  buffer.is_target = true;
  buffer.hash = hash_bytes(buffer.bytes.data(), buffer.bytes.size());
  if (count != 0 && plugin_.host_readable() && busy_.empty() &&
      std::memcmp(reinterpret_cast<const void*>(from.handle() + from.front() + offset),
                  buffer.data(), count) != 0)
    watch.add("paths", {{"object", from.object()}, {"offset", offset}, {"count", count}});
  result["bytes"] = Json::binary({buffer.data(), buffer.data() + count});
  return result;
}

Json DirectScope::copy(const Json& step) {
  GuardedBlock &to = block(step, "to"), &from = block(step, "from");
  const std::uint64_t to_offset = step.value("to_offset", std::uint64_t{0}),
                      from_offset = step.value("from_offset", std::uint64_t{0});
  const std::uint64_t count = step.at("count").get<std::uint64_t>();
  const bp_region target{to.handle(), to.front() + to_offset, count},
      source{from.handle(), from.front() + from_offset, count};
  const bp_code code =
      plugin_.memory.copy(plugin_.device, &target, &source, BP_COPY_WITHIN, stream_of(step));
  if (code != BP_OK) return refused(code);
  if (step.value("may_fail", false))
    to.forget(to_offset, count);
  else
    to.copy_expectation(to_offset, from, from_offset, count);
  from.was_moved = true;
  return answer(settle_step(step, false));
}

Json DirectScope::fill(const Json& step) {
  GuardedBlock& to = block(step, "object");
  if (!plugin_.memory.fill) {
    told_error() = {BP_UNSUPPORTED, "the plugin has no fill"};
    return answer(BP_UNSUPPORTED);
  }
  Bytes pattern = binary_of(step.at("pattern"));
  const auto width = static_cast<std::uint32_t>(pattern.size());
  const std::uint64_t offset = step.value("offset", std::uint64_t{0}),
                      count = step.at("count").get<std::uint64_t>();
  Bytes expected(count);
  for (std::uint64_t i = 0; i < count; ++i) expected[i] = pattern[i % std::max(width, 1u)];
  const bp_region target{to.handle(), to.front() + offset, count};
  const bp_code code =
      plugin_.memory.fill(plugin_.device, &target, pattern.data(), width, stream_of(step));
  std::ranges::fill(pattern, scribble);  // it is valid only during the call
  if (code != BP_OK) return refused(code);
  expect(step, to, offset, expected.data(), count);
  return answer(settle_step(step, false));
}

Json DirectScope::make_stream(const Json& step) {
  if (!plugin_.queue.create_stream) {
    streams_[step.at("object").get<int>()] = nullptr;
    return {{"code", BP_OK}, {"only", true}};
  }
  bp_stream* made = nullptr;
  const bp_code code =
      plugin_.queue.create_stream(plugin_.device, step.value("priority", 0), &made);
  if (code == BP_OK) streams_[step.at("object").get<int>()] = made;
  return answer(code);
}

Json DirectScope::make_event(const Json& step) {
  if (!plugin_.queue.create_event) {
    told_error() = {BP_UNSUPPORTED, "the plugin has no events"};
    return answer(BP_UNSUPPORTED);
  }
  bp_event* made = nullptr;
  const bp_code code = plugin_.queue.create_event(plugin_.device, &made);
  if (code == BP_OK) events_[step.at("object").get<int>()] = made;
  return answer(code);
}

Json DirectScope::queue_step(const std::string& what, const Json& step) {
  bp_queue& queue = plugin_.queue;
  const int number = step.value("stream", 0);
  bp_stream* const stream = stream_of(step);
  const auto event = [&](const char* key) {
    const auto found = events_.find(step.at(key).get<int>());
    if (found == events_.end()) refuse("script: no such event");
    return found->second;
  };
  if (what == "synchronize") {
    const bp_code code = queue.synchronize(plugin_.device, stream);
    busy_.erase(number);
    if (code == BP_STREAM_LOST) lost_.insert(number);
    Json result = answer(code);
    if (code == BP_OK)
      look_if_idle();  // else the instruments' copies could be told what the script is to be told
    return result;
  }
  if (what == "query_stream") {
    const bp_code code = queue.query_stream ? queue.query_stream(plugin_.device, stream) : BP_OK;
    if (code == BP_OK && queue.query_stream) busy_.erase(number);
    return answer(code);
  }
  if (what == "record")
    return timed([&] { return queue.record_event(plugin_.device, event("event"), stream); });
  if (what == "wait") return answer(queue.wait_event(plugin_.device, stream, event("event")));
  if (what == "query_event") return answer(queue.query_event(plugin_.device, event("event")));
  if (what == "synchronize_event")
    return timed([&] { return queue.synchronize_event(plugin_.device, event("event")); });
  if (what == "elapsed") {
    double ns = -1;
    if (!queue.elapsed) return {{"code", BP_OK}, {"none", true}};
    const bp_code code = queue.elapsed(plugin_.device, event("event"), event("until"), &ns);
    return answer(code, {{"ns", ns}});
  }
  refuse("script: the direct lane has no step '{}'", what);
}

// {"do":"raw", "what":"copy"|"fill"|..., ...}: functions of memory with what no script's object could name.
Json DirectScope::raw_memory(const Json& step) {
  const std::string what = step.at("what").get<std::string>();
  if (what == "stale_copy" || what == "stale_fill") {
    bp_handle handle = 0;
    if (const bp_code code = plugin_.allocate(256, 64, handle); code != BP_OK) return answer(code);
    plugin_.release(handle);
    const bp_region target{handle, 0, 16};
    std::uint8_t bytes[16] = {};
    const bp_region source{reinterpret_cast<std::uintptr_t>(bytes), 0, 16};
    if (what == "stale_fill" && !plugin_.memory.fill)
      return {{"code", BP_BAD_ARGUMENT}, {"message", "no fill"}};
    return answer(
        what == "stale_copy"
            ? plugin_.memory.copy(plugin_.device, &target, &source, BP_COPY_FROM_HOST, nullptr)
            : plugin_.memory.fill(plugin_.device, &target, bytes, 4, nullptr));
  }
  if (what == "allocate") {  // and released at once, without being written
    bp_handle handle = 0;
    const bp_code code = plugin_.allocate(step.at("bytes").get<std::uint64_t>(),
                                          step.value("alignment", std::uint64_t{64}), handle);
    if (code == BP_OK) plugin_.release(handle);
    return answer(code, {{"handle", handle}});
  }
  refuse("script: raw has no '{}'", what);
}

// {"do":"host_sees", "object":1, "space":2, "offset":0, "bytes"?}: what lies at the address that the handle then is; with
// "bytes", after the host has written these there. {"none":true} where the plugin says that the host cannot.
Json DirectScope::host_sees(const Json& step) {
  if (!is_host_visible(plugin_, step.at("space").get<std::uint32_t>()))
    return {{"code", BP_OK}, {"none", true}};
  GuardedBlock& seen = block(step, "object");
  const std::uint64_t offset = step.value("offset", std::uint64_t{0});
  auto* const at = reinterpret_cast<std::uint8_t*>(seen.handle() + seen.front() + offset);
  if (step.contains("bytes")) {
    const Bytes& bytes = binary_of(step["bytes"]);
    std::memcpy(at, bytes.data(), bytes.size());
    seen.expect(offset, bytes.data(), bytes.size());
  }
  return answer(BP_OK, {{"bytes", Json::binary(Bytes(at, at + seen.bytes() - offset))}});
}

// {"do":"host", "threads":N?, "deterministic":B?, "fail_from":N?}: what the host says from now on.
Json DirectScope::set_host(const Json& step) {
  if (step.contains("threads")) plugin_.host.num_threads = step["threads"].get<std::uint32_t>();
  if (step.contains("deterministic"))
    plugin_.host.deterministic = step["deterministic"].get<bool>();
  Json result = {{"code", BP_OK}, {"calls", plugin_.host.num_calls()}};
  if (step.contains("fail_from")) plugin_.host.fail_from(step["fail_from"].get<std::int64_t>());
  return result;
}

Json DirectScope::alive() {
  GuardedBlock probe(plugin_, -2, poison_, false);
  if (const bp_code code = probe.allocate(100, 1); code != BP_OK) return answer(code);
  std::uint8_t sent[100], came[100] = {};
  for (int i = 0; i < 100; ++i) sent[i] = static_cast<std::uint8_t>(i * 7 + 1);
  plugin_.write(probe.handle(), probe.front(), sent, sizeof sent);
  plugin_.read(probe.handle(), probe.front(), came, sizeof came);
  return {{"code", BP_OK}, {"same", std::memcmp(sent, came, sizeof sent) == 0}};
}

std::uint64_t DirectScope::hash(int object) {
  const auto found = blocks_.find(object);
  if (found == blocks_.end()) return within_ ? within_->hash(object) : 0;
  const GuardedBlock& it = *found->second;
  Bytes bytes(it.bytes());
  plugin_.read(it.handle(), it.front(), bytes.data(), bytes.size());
  return hash_bytes(bytes.data(), bytes.size());
}

void DirectScope::settle() {
  bp_code worst = plugin_.queue.synchronize(plugin_.device, nullptr);
  for (const auto& [number, stream] : streams_) {
    if (!stream || lost_.contains(number)) continue;
    const bp_code code = plugin_.queue.synchronize(plugin_.device, stream);
    if (code != BP_OK) worst = code;
  }
  busy_.clear();
  if (worst == BP_DEVICE_LOST) watch.set_lost(told(worst));
}

void DirectScope::look_at_all(const char* kind) {
  for (const auto& [number, each] : blocks_) each->look(watch, kind);
  end_workspaces();
  if (fault_) {
    fault_->forget(0, fault_->bytes());
    fault_->look(watch);
  }
}

Json DirectScope::refused(bp_code code) {
  Json result = answer(code);
  if (code != BP_DEVICE_LOST) settle();
  if (!watch.lost()) look_at_all("failed");
  return result;
}

// All work is done: what calls asked for meanwhile goes, once its zones were looked at.
void DirectScope::end_workspaces() {
  for (const auto& each : workspaces_) {
    each->forget(0, each->bytes());
    each->look(watch);
  }
  workspaces_.clear();
  release_plans(std::exchange(fresh_plans_, {}));
}

void DirectScope::look_if_idle() {
  if (busy_.empty() && !watch.lost()) look_at_all();
}

void DirectScope::check_targets() {
  for (const auto& buffer : buffers_)
    if (buffer->is_target && hash_bytes(buffer->bytes.data(), buffer->bytes.size()) != buffer->hash)
      watch.add("late", {{"count", buffer->bytes.size()},
                         {"what", "host memory changed after a copy to it was done"}});
}

void DirectScope::end_streams() {
  for (const auto& [number, event] : events_) plugin_.queue.destroy_event(plugin_.device, event);
  for (const auto& [number, stream] : streams_)
    if (stream) plugin_.queue.destroy_stream(plugin_.device, stream);
  events_.clear();
  streams_.clear();
}

void DirectScope::finish() {
  if (std::exchange(finished_, true)) return;
  order_.let_all_go();
  settle();
  if (!watch.lost()) look_at_all();
  // Work may come late that was said to be done: it shall find its memory, and be seen.
  if (watch.saw_something()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  check_targets();
  for (const std::string& fault : plugin_.host.take_faults()) watch.add("host", {{"what", fault}});
  end_streams();
  workspaces_.clear();
  std::vector<KeptPlan> plans = std::move(fresh_plans_);
  for (const auto& [number, plan] : plans_) plans.push_back(plan);
  plans_.clear();
  release_plans(std::move(plans));
  order_.end();
  fault_.reset();
  blocks_.clear();
}

}  // namespace bp::conform
