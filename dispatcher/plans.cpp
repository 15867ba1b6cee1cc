#include <algorithm>
#include <atomic>
#include <bit>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/plans.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "plan_key.hpp"

namespace bp {
enum class PlanState : std::uint32_t {
  in_the_making,  // by one thread; others wait
  ready,
  refused,  // the kernel takes no such calls
  failed,   // and forgotten: the next call asks again
};

struct Plan {
  Plan(const Candidate& of, DeviceRecord& on, PlanKey of_class)
      : kernel(of.declared), record(on), key(std::move(of_class)) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const bp_kernel& kernel;
  DeviceRecord& record;
  const PlanKey key;
  bp_plan said{};
  bool is_made = false;  // by the kernel, to which it is returned
  std::atomic<PlanState> state{PlanState::in_the_making};
  std::atomic<bool> is_forgotten{false};  // no cache has it any more
  // Guarded by the lock of the cache.
  std::uint64_t last_use = 0;
  std::vector<StreamImpl*> streams;  // that have got work with it
};

Plan::~Plan() {
  // A device that fork() has left behind takes no call any more.
  const bool may_call = record.opened || record.lost;
  if (is_made && may_call) kernel.release_plan(kernel.self, said.own);
}

class PlanCache {
 public:
  // Null: the kernel takes no such calls.
  PlanRef find(const Candidate& candidate, Frame& frame, const bp_call& call);
  void forget(const DeviceRecord& record);
  // No stream is at work with any of them.
  void forget_all();
  void through_fork(ForkStep step);

 private:
  using Plans = std::unordered_map<std::uint64_t, PlanRef>;  // by the hash of the key

  struct Found {
    PlanRef plan, pushed_out;
    bool is_new = false;
  };
  Found find_or_add(const Candidate& candidate, Frame& frame, PlanKey key);
  PlanRef take_out(Plans::iterator plan);
  Plans::iterator longest_unused();
  void make(Plan& plan, Frame& frame, const bp_call& call);
  void fail(Plan& plan);

  std::mutex mutex_;  // not held while the plugin is called
  Plans plans_;
  std::uint64_t uses_ = 0;
};

namespace {

struct Caches {
  std::mutex mutex;
  std::list<std::shared_ptr<PlanCache>> all;
};
Caches& caches() {
  static auto* made = new Caches;
  return *made;
}

void drop_ref(void* ref) {
  delete static_cast<PlanRef*>(ref);
}

// Work that the stream has been given may use the plan.
void drop_after(StreamImpl& stream, const PlanRef& plan) {
  release_after(stream, drop_ref, new PlanRef(plan));
}

void let_go(PlanRef plan) {
  if (!plan) return;
  // Nobody adds to its streams any more.
  for (StreamImpl* stream : plan->streams) drop_after(*stream, plan);
}

void end_making(Plan& plan, PlanState state) {
  plan.state.store(state);
  plan.state.notify_all();
}

void check_said(const bp_plan& said, const Frame& frame) {
  if (said.alignment != 0 && !std::has_single_bit(said.alignment))
    throw_error(
        ErrorClass::internal,
        fmt::format("{}: the plan asks for a workspace aligned to {}, which is not a power of "
                    "2 (plugin {}, device {})",
                    frame.op().name(), said.alignment, frame.record.backend->name,
                    frame.record.name));
}

bp_code ask(const bp_kernel& kernel, const bp_call& call, bp_plan& said) {
  said = {};
  said.h = {sizeof said, BP_TYPE_PLAN, nullptr};
  clear_plugin_error();
  return kernel.plan(kernel.self, &call, &said);
}

}  // namespace

PlanRef PlanCache::find(const Candidate& candidate, Frame& frame, const bp_call& call) {
  for (;;) {
    Found found = find_or_add(candidate, frame, plan_key_of(call, frame.record));
    let_go(std::move(found.pushed_out));
    if (found.is_new) make(*found.plan, frame, call);
    found.plan->state.wait(PlanState::in_the_making);
    const PlanState state = found.plan->state;
    if (state == PlanState::refused) return nullptr;
    if (state == PlanState::ready) return found.plan;
  }
}

PlanCache::Found PlanCache::find_or_add(const Candidate& candidate, Frame& frame, PlanKey key) {
  const std::uint64_t hash = hash_of(key);
  Found found;
  const std::lock_guard lock(mutex_);
  auto it = plans_.find(hash);
  if (it == plans_.end() || it->second->key != key) {
    found.plan = std::make_shared<Plan>(candidate, frame.record, std::move(key));
    found.is_new = true;
    if (it == plans_.end() && plans_.size() >= constants::plans_of_kernel) it = longest_unused();
    if (it != plans_.end()) found.pushed_out = take_out(it);
    plans_.emplace(hash, found.plan);
  } else {
    found.plan = it->second;
  }
  found.plan->last_use = ++uses_;
  auto& streams = found.plan->streams;
  if (!frame.record.synchronous &&
      std::find(streams.begin(), streams.end(), &frame.stream) == streams.end())
    streams.push_back(&frame.stream);
  return found;
}

PlanRef PlanCache::take_out(Plans::iterator plan) {
  PlanRef taken = std::move(plan->second);
  taken->is_forgotten = true;
  plans_.erase(plan);
  return taken;
}

PlanCache::Plans::iterator PlanCache::longest_unused() {
  return std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
    return a.second->last_use < b.second->last_use;
  });
}

void PlanCache::make(Plan& plan, Frame& frame, const bp_call& call) {
  bp_code code = BP_OK;
  try {
    code = ask(plan.kernel, call, plan.said);
    if (code == BP_OUT_OF_MEMORY) {
      empty_cache(frame.device());
      code = ask(plan.kernel, call, plan.said);
    }
    if (code == BP_UNSUPPORTED) return end_making(plan, PlanState::refused);
    if (code != BP_OK)
      throw_plugin_error(frame.record, code, fmt::format("{}: plan", frame.op().name()));
    plan.is_made = true;
    check_said(plan.said, frame);
    end_making(plan, PlanState::ready);
  } catch (...) {
    fail(plan);
    throw;
  }
}

void PlanCache::fail(Plan& plan) {
  PlanRef kept;  // so that it goes after the lock
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(plans_.begin(), plans_.end(),
                                 [&](const auto& each) { return each.second.get() == &plan; });
    if (it != plans_.end()) kept = take_out(it);
  }
  end_making(plan, PlanState::failed);
}

void PlanCache::forget(const DeviceRecord& record) {
  std::vector<PlanRef> forgotten;  // which go after the lock
  const std::lock_guard lock(mutex_);
  for (auto it = plans_.begin(); it != plans_.end();) {
    const auto next = std::next(it);
    if (&it->second->record == &record) forgotten.push_back(take_out(it));
    it = next;
  }
}

void PlanCache::forget_all() {
  Plans forgotten;  // which go after the lock
  const std::lock_guard lock(mutex_);
  forgotten.swap(plans_);
}

void PlanCache::through_fork(ForkStep step) {
  if (step == ForkStep::in_child)  // no other thread is here to end what it was making
    std::erase_if(plans_,
                  [](const auto& each) { return each.second->state == PlanState::in_the_making; });
  take_through_fork(mutex_, step);
}

void fork_plans(ForkStep step) {
  Caches& c = caches();
  if (step == ForkStep::before) c.mutex.lock();
  for (const auto& each : c.all) each->through_fork(step);
  if (step != ForkStep::before) c.mutex.unlock();
}

PlanInUse::~PlanInUse() {
  if (plan_ && plan_->is_forgotten) drop_after(*stream_, plan_);
}

PlanInUse& PlanInUse::operator=(PlanInUse&& other) noexcept {
  std::swap(plan_, other.plan_);
  std::swap(stream_, other.stream_);
  return *this;
}

PlanCache* make_plan_cache() {
  Caches& c = caches();
  const std::lock_guard lock(c.mutex);
  return c.all.emplace_back(std::make_shared<PlanCache>()).get();
}

void end_plan_cache(PlanCache& cache) {
  Caches& c = caches();
  std::shared_ptr<PlanCache> kept;  // another thread may be forgetting a device's plans
  {
    const std::lock_guard lock(c.mutex);
    const auto found = std::find_if(c.all.begin(), c.all.end(),
                                    [&](const auto& each) { return each.get() == &cache; });
    kept = std::move(*found);
    c.all.erase(found);
  }
  kept->forget_all();
}

bool plan_call(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call) {
  PlanRef plan = candidate.plans->find(candidate, frame, call);
  if (!plan) return false;
  const bp_plan& said = plan->said;
  launch.plan = PlanInUse(std::move(plan), frame.stream);
  call.plan = said.own;
  if (said.workspace != 0)
    call.workspace = allocate_workspace(launch, said.workspace, said.alignment);
  return true;
}

void forget_plans(Backend&, DeviceRecord& record) {
  Caches& c = caches();
  std::vector<std::shared_ptr<PlanCache>> all;
  {
    const std::lock_guard lock(c.mutex);
    all.assign(c.all.begin(), c.all.end());
  }
  for (const auto& each : all) each->forget(record);
}

}  // namespace bp
