#include "worker/direct_order.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include <backplane/extensions/inject.h>

#include "refuse.hpp"
#include "worker/direct_scope.hpp"

namespace bp::conform {
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
    const bp_code code = api.call(plugin_.device, stream_of(step), HostFunction::run, &call);
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

}  // namespace bp::conform
