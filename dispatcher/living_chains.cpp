// How joined operators live and end. The last to let one go puts it on a list. Whoever joins or lets go next looks at what
// is there: it makes the operator wait for the streams that may be at work with it, and frees it when it comes back from
// there and nobody has taken it up again.
#include "living_chains.hpp"

#include <map>
#include <string_view>

#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/runtime/stream.hpp>

#include "counter_slots.hpp"
#include "registered_chains.hpp"

namespace bp {
namespace {

struct Chains {
  std::mutex mutex;  // held while one is joined, looked at or freed
  std::map<std::string_view, Joined*> by_key;
  std::mutex
      dropped_mutex;  // of what follows, and of references that come and go at 0; no other is taken under it
  Joined* dropped = nullptr;
};
Chains& chains() {
  static auto* all = new Chains;
  return *all;
}

// This thread has the lock: what it lets go meanwhile it looks at afterwards.
constinit thread_local bool is_locked_here = false;

class Locked {
 public:
  explicit Locked(std::unique_lock<std::mutex> lock) : lock_(std::move(lock)) {
    is_locked_here = true;
  }
  ~Locked() { is_locked_here = false; }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

// Under the lock of what is dropped.
void add_to_dropped(Joined& joined) {
  if (std::exchange(joined.is_dropped, true)) return;
  joined.next_dropped = std::exchange(chains().dropped, &joined);
}

// One stream has done the work that it had when the operator was dropped.
void end_wait(void* context) {
  auto& joined = *static_cast<Joined*>(context);
  const std::lock_guard lock(chains().dropped_mutex);
  if (--joined.num_waits == 0) add_to_dropped(joined);
}

// Comes back by end_wait, at once if nothing is to be waited for.
void wait_for_work(Joined& joined) {
  const std::vector<StreamImpl*> streams = streams_at_work_with(joined);
  joined.may_be_at_work = false;
  {
    const std::lock_guard lock(chains().dropped_mutex);
    joined.num_waits = static_cast<std::uint32_t>(streams.size()) + 1;
  }
  for (StreamImpl* stream : streams) release_after(*stream, end_wait, &joined);
  end_wait(&joined);
}

void free_chain(Joined* joined) {
  fold_counters(*joined);  // first: it may find no memory
  chains().by_key.erase(joined->key);
  unregister_joined(*joined);
  forget_operator_name(joined->name());
  delete joined;
}

Joined* next_dropped() {
  const std::lock_guard lock(chains().dropped_mutex);
  Joined* joined = chains().dropped;
  if (!joined) return nullptr;
  chains().dropped = std::exchange(joined->next_dropped, nullptr);
  joined->is_dropped = false;
  return joined;
}

// A dropped one may have been joined again, and dropped again.
bool is_held_or_waits(Joined& joined) {
  const std::lock_guard lock(chains().dropped_mutex);
  return joined.refs.load(std::memory_order_acquire) != 0 || joined.num_waits != 0 ||
         joined.is_dropped;
}

void look_at_dropped() noexcept {
  while (Joined* joined = next_dropped()) {
    if (is_held_or_waits(*joined)) continue;
    try {
      if (joined->may_be_at_work)
        wait_for_work(*joined);
      else
        free_chain(joined);
    } catch (...) {  // no memory: it stays until it is joined and dropped again
    }
  }
}

bool has_dropped() {
  const std::lock_guard lock(chains().dropped_mutex);
  return chains().dropped != nullptr;
}

// Another thread that has the lock looks when it is done with it. Not within a release, where the core may hold any lock.
void free_unheld() noexcept {
  if (is_locked_here || runs_releases()) return;
  while (has_dropped()) {
    std::unique_lock lock(chains().mutex, std::try_to_lock);
    if (!lock) return;
    const Locked locked(std::move(lock));
    look_at_dropped();
  }
}

void retain(Operator& op) noexcept {
  static_cast<Joined&>(op).refs.fetch_add(1, std::memory_order_relaxed);
}

void drop(Operator& op) noexcept {
  auto& joined = static_cast<Joined&>(op);
  std::uint32_t refs = joined.refs.load(std::memory_order_relaxed);
  while (refs > 1)
    if (joined.refs.compare_exchange_weak(refs, refs - 1, std::memory_order_release,
                                          std::memory_order_relaxed))
      return;
  {
    // The last one, unless it was joined again meanwhile: once it is on the list, it is not ours to touch.
    const std::lock_guard lock(chains().dropped_mutex);
    if (joined.refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    add_to_dropped(joined);
  }
  free_unheld();
}

}  // namespace

struct ChainAccess {
  // Takes over a reference.
  static Chain adopt(Operator& op) {
    Chain chain;
    chain.op_ = &op;
    return chain;
  }
};

Chain::Chain(const Chain& other) noexcept : op_(other.op_) {
  if (op_) retain(*op_);
}

Chain::~Chain() {
  if (op_) drop(*op_);
}

Chain Chain::sharing(Operator& op) noexcept {
  if (!op.joined) return {};
  retain(op);
  return ChainAccess::adopt(op);
}

void hold_forever(Operator& joined) noexcept {
  retain(joined);
}

Chain try_share(Joined& joined) {
  std::uint32_t refs = joined.refs.load(std::memory_order_relaxed);
  while (refs != 0)
    if (joined.refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acquire))
      return ChainAccess::adopt(joined);
  return {};
}

namespace {

// Of one that was dropped, and is not freed.
Chain take_up(Joined& joined) {
  bool was_held = false;
  {
    const std::lock_guard lock(chains().dropped_mutex);
    was_held = joined.refs.fetch_add(1, std::memory_order_acq_rel) != 0;
  }
  joined.may_be_at_work = true;
  Chain chain = ChainAccess::adopt(joined);
  if (!was_held) offer_to_listeners(joined);  // a backend that came meanwhile has not heard of it
  return chain;
}

Chain add_chain(std::unique_ptr<Joined> made, std::string key) {
  made->key = std::move(key);
  const auto place = chains().by_key.try_emplace(made->key, made.get()).first;
  made->refs.store(1, std::memory_order_relaxed);  // others may find it before this returns
  try {
    register_operator(*made);
  } catch (...) {
    if (made->id == 0)
      chains().by_key.erase(place);
    else
      const Chain known_to_some = ChainAccess::adopt(*made.release());
    throw;
  }
  return ChainAccess::adopt(*made.release());
}

}  // namespace

Chain find_or_join(std::string key,
                   const std::function<std::unique_ptr<Joined>(const std::string&)>& make) {
  Chain chain;
  {
    const Locked locked{std::unique_lock(chains().mutex)};
    const auto found = chains().by_key.find(key);
    chain = found == chains().by_key.end() ? add_chain(make(key), key) : take_up(*found->second);
    look_at_dropped();
  }
  free_unheld();
  return chain;
}

ChainsStay::ChainsStay() {
  chains().mutex.lock();
  is_locked_here = true;
}

ChainsStay::~ChainsStay() {
  is_locked_here = false;
  chains().mutex.unlock();
  free_unheld();
}

void fork_chains(ForkStep step) {
  if (step == ForkStep::before) take_through_fork(chains().mutex, step);
  take_through_fork(chains().dropped_mutex, step);
  if (step != ForkStep::before) take_through_fork(chains().mutex, step);
}

}  // namespace bp
