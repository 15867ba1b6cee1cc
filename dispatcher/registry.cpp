#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/plans.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/call_number.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "kernel_table.hpp"
#include "level_bounds.hpp"
#include "living_chains.hpp"
#include "registered_chains.hpp"

namespace bp {
namespace {

// Rows and custom operators, and candidates for them, live as long as the process: tables and plugins hold pointers to
// them. Joined operators come and go (living_chains.cpp), and have their candidates themselves.
// Joined operators have numbers of their own, none twice as long as there are others: an error that comes out late names
// the operator of its call or none.
constexpr std::uint32_t first_joined = 1u << 23, end_of_numbers = (1u << 24) - 1;

struct Registry {
  std::mutex mutex;
  std::vector<Operator*> operators;         // by number
  std::map<std::uint32_t, Joined*> joined;  // by number
  std::uint32_t next_joined = first_joined;
  std::deque<std::pair<std::uint32_t, std::string>> former_joined;  // the last that ended
  std::map<std::string, Operator*, std::less<>> by_name;
  std::deque<Candidate> candidates;
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::vector<const Candidate*>> offered;
  std::vector<OperatorListener> listeners;
  std::atomic<std::uint32_t> epoch{1};
};
Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

// Held while the table's operators are registered one by one, so outside of the registry's own.
constinit std::mutex filling_mutex;
constinit std::atomic<bool> filled{false};

void describe(Operator& op) {
  op.abi.h = {sizeof(bp_operator), BP_TYPE_OPERATOR, nullptr};
  if (!op.abi.name) op.abi.name = op.schema->name.c_str();  // other threads may read a row's
  op.abi.schema = op.schema->text.c_str();
  op.abi.schema_hash = op.schema->hash;
  op.abi.kind = op.kind;
  op.abi.flags = op.flags;
  op.abi.dtypes = op.dtypes;
  op.abi.num_nodes = op.num_nodes;
  op.abi.nodes = op.nodes;
  op.abi.initial = op.initial;
}

// Why a declaration cannot be used at all; empty if it can.
std::string defect_of(const bp_kernel* kernel) {
  if (!kernel) return "is NULL";
  constexpr std::size_t floor = offsetof(bp_kernel, run) + sizeof(bp_kernel::run);
  if (kernel->h.type != BP_TYPE_KERNEL)
    return fmt::format("has header type {}, expected {}", kernel->h.type, BP_TYPE_KERNEL);
  if (kernel->h.size < floor)
    return fmt::format("has size {}, the least is {}", kernel->h.size, floor);
  if (!kernel->op) return "names no operator";
  if (!kernel->run) return fmt::format("of '{}' has no run function", kernel->op);
  if (BP_HAS(kernel, bp_kernel, plan) && kernel->plan &&
      !(BP_HAS(kernel, bp_kernel, release_plan) && kernel->release_plan))
    return fmt::format("of '{}' has plan without release_plan", kernel->op);
  if (kernel->num_args && !kernel->args)
    return fmt::format("of '{}' declares {} arguments at NULL", kernel->op, kernel->num_args);
  if (kernel->num_args > 128)
    return fmt::format("of '{}' declares {} arguments, at most 128 are possible", kernel->op,
                       kernel->num_args);
  return {};
}

// The operator that a kernel is for, or null with a line in the log.
Operator* operator_for(const Backend& backend, const bp_kernel& kernel) {
  Operator* op = find_operator(kernel.op);
  if (!op) {
    log_warning(fmt::format("{}: a kernel for '{}' is left out: this host has no such operator",
                            backend.name, kernel.op));
    return nullptr;
  }
  if (known_arguments(*op, kernel.schema_hash).count < 0) {
    log_warning(fmt::format(
        "{}: a kernel for '{}' is left out: it was written against another "
        "schema (hash {:#x}); here it is '{}' (hash {:#x})",
        backend.name, kernel.op, kernel.schema_hash, op->schema->text, op->schema->hash));
    return nullptr;
  }
  return op;
}

// The declaration of every place, those that the kernel left out among them.
std::vector<bp_arg> all_places(const Operator& op, const bp_kernel& kernel, std::uint32_t num_known,
                               std::uint32_t level) {
  std::vector<bp_arg> places(kernel.args, kernel.args + kernel.num_args);
  places.resize(std::max(places.size(), num_known + op.schema->returns.size()));
  for (bp_arg& place : places) {
    place = bounded_by_level(place, level);
    // Calls in complex numbers are taken apart: no kernel was asked for them when it was written.
    if (op.decompose_complex) place.dtypes &= ~dtypes::complex;
  }
  return places;
}

const Candidate& keep_candidate(Registry& r, Operator& op, const bp_kernel& kernel,
                                std::uint32_t level, Rung rung) {
  Candidate& candidate =
      (op.joined ? static_cast<Joined&>(op).candidates : r.candidates).emplace_back();
  candidate.rung = rung;
  const KnownArguments known = known_arguments(op, kernel.schema_hash);
  candidate.num_known = static_cast<std::uint32_t>(known.count);
  candidate.whole = known.whole;
  candidate.kernel = &kernel;
  std::memcpy(&candidate.declared, &kernel, std::min<std::size_t>(kernel.h.size, sizeof kernel));
  candidate.num_declared_results = static_cast<std::uint32_t>(op.schema->returns.size());
  candidate.args = all_places(op, kernel, candidate.num_known, level);
  if (candidate.declared.plan) candidate.plans = make_plan_cache();
  return candidate;
}

void offer(Registry& r, Operator& op, std::uint16_t backend, const Candidate& candidate) {
  auto& list = r.offered[{op.id, backend}];
  const auto place = std::find_if(list.begin(), list.end(), [&](const Candidate* other) {
    if (other->rung != candidate.rung) return other->rung > candidate.rung;
    return other->declared.priority < candidate.declared.priority;
  });
  list.insert(place, &candidate);
  publish_table(op, backend, list);
}

std::uint32_t number_for_joined(Registry& r) {
  do {
    if (++r.next_joined >= end_of_numbers) r.next_joined = first_joined;
  } while (r.joined.contains(r.next_joined));
  return r.next_joined;
}

// Under the lock.
void add_operator(Registry& r, Operator& op) {
  const auto [it, added] = r.by_name.try_emplace(op.schema->name, &op);
  BP_CHECK(added,
           "{}: an operator of this name is registered already, as '{}'; choose another "
           "name, with your prefix: 'acme::{}'",
           op.schema->name, it->second->schema->text, op.schema->name);
  if (op.joined) {
    op.id = number_for_joined(r);
    r.joined[op.id] = &static_cast<Joined&>(op);
  } else {
    op.id = static_cast<std::uint32_t>(r.operators.size());
    r.operators.push_back(&op);
  }
}

Operator* operator_of(Registry& r, std::uint32_t id) {
  if (id < r.operators.size()) return r.operators[id];
  const auto found = r.joined.find(id);
  return found == r.joined.end() ? nullptr : found->second;
}

// Whose work an error is of, by the number of its call. Empty: nobody knows.
std::string name_by_id(std::uint32_t id) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (const Operator* op = operator_of(r, id)) return op->name();
  for (const auto& [former, name] : r.former_joined)
    if (former == id) return name;
  return {};
}

}  // namespace

void fork_operators(ForkStep step) {
  take_through_fork(filling_mutex, step);
}

void fork_registry(ForkStep step) {
  take_through_fork(registry().mutex, step);
}

void ensure_operators() {
  if (filled.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(filling_mutex);
  if (filled.load(std::memory_order_relaxed)) return;
  register_core_operators();
  filled.store(true, std::memory_order_release);
}

void register_operator(Operator& op) {
  auto schema = std::make_unique<Schema>();
  parse_schema(op.schema_text, *schema);
  BP_CHECK(schema->returns_list() == (op.count != nullptr), "{}: {}; the schema is {}",
           schema->name,
           op.count ? "has a rule for how many tensors a Tensor[] has, and no such result"
                    : "nothing says how many tensors its Tensor[] has; give it a count rule",
           schema->text);
  if (op.hash_of) schema->hash = schema_hash(op.hash_of);
  op.schema = schema.get();
  describe(op);
  Registry& r = registry();
  std::vector<OperatorListener> listeners;
  {
    const std::lock_guard lock(r.mutex);
    add_operator(r, op);
    listeners = r.listeners;
  }
  name_operators_with(name_by_id);
  if (op.joined)
    static_cast<Joined&>(op).owned_schema = std::move(schema);
  else
    static_cast<void>(schema.release());  // as long as the process, like the operator
  for (const OperatorListener& listener : listeners) listener.added(op);
  op.registered.store(true, std::memory_order_release);
}

KnownArguments known_arguments(const Operator& op, std::uint64_t hash) {
  const auto& now = op.schema->arguments;
  if (op.schema->hash == hash) return {static_cast<int>(now.size())};
  for (const char* const* past = op.past_schemas; past && *past; ++past) {
    if (schema_hash(*past) != hash) continue;
    Schema schema;
    parse_schema(*past, schema);
    KnownArguments known{static_cast<int>(schema.arguments.size())};
    for (std::size_t i = 0; i < schema.arguments.size(); ++i)
      if (schema.arguments[i].type == ArgumentType::integer && now[i].type == ArgumentType::scalar)
        known.whole |= std::uint64_t{1} << i;
    return known;
  }
  return {};
}

Operator* find_operator(std::string_view name) {
  ensure_operators();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.by_name.find(name);
  return it == r.by_name.end() ? nullptr : it->second;
}

std::vector<Operator*> registered_operators() {
  ensure_operators();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.operators;
}

void listen_for_operators(const OperatorListener& listener) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (std::find(r.listeners.begin(), r.listeners.end(), listener) == r.listeners.end())
    r.listeners.push_back(listener);
}

std::vector<Chain> living_chains() {
  std::vector<Chain> living;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  living.reserve(r.joined.size());
  for (const auto& [_, joined] : r.joined)
    if (Chain chain = try_share(*joined)) living.push_back(std::move(chain));
  return living;
}

std::map<std::uint32_t, std::string> names_of_operators() {
  std::map<std::uint32_t, std::string> names;
  for (const Operator* op : registered_operators()) names[op->id] = op->name();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const auto& [id, joined] : r.joined) names[id] = joined->name();
  return names;
}

void offer_to_listeners(Joined& joined) {
  std::vector<OperatorListener> listeners;
  {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    listeners = r.listeners;
  }
  for (const OperatorListener& listener : listeners) listener.added(joined);
}

namespace {

// A device that is opened again has none of its kernels loaded.
void forget_runs(Backend& backend, DeviceRecord& record) {
  const ChainsStay none_begins_to_wait_for_the_device;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const auto& [place, candidates] : r.offered)
    if (place.second == backend.number)
      for (const Candidate* each : candidates)
        __atomic_fetch_and(&each->ran_on, ~(std::uint64_t{1} << record.index), __ATOMIC_RELAXED);
}

}  // namespace

void register_kernels(Backend& backend, const bp_kernel* const* kernels, std::uint32_t num_kernels,
                      Rung rung) {
  BP_CHECK(num_kernels == 0 || kernels, "{}: offers {} kernels at NULL", backend.name, num_kernels);
  BP_CHECK(num_kernels <= 100000, "{}: offers {} kernels; at most 100000 are possible",
           backend.name, num_kernels);
  // All are checked before one is added, so that a broken plugin changes nothing.
  std::vector<std::pair<Operator*, const bp_kernel*>> accepted;
  for (std::uint32_t i = 0; i < num_kernels; ++i) {
    const std::string defect = defect_of(kernels[i]);
    BP_CHECK(defect.empty(), "{}: kernel {} of {} {}", backend.name, i, num_kernels, defect);
    if (Operator* op = operator_for(backend, *kernels[i])) accepted.emplace_back(op, kernels[i]);
  }
  const std::uint32_t level = backend.plugin ? backend.plugin->abi : BP_ABI_LEVEL;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const auto& [op, kernel] : accepted) {
    const Candidate& kept = keep_candidate(r, *op, *kernel, level, rung);
    hear_of_closing(backend, forget_runs);
    if (kept.plans) hear_of_closing(backend, forget_plans);
    offer(r, *op, backend.number, kept);
  }
  r.epoch.fetch_add(1);
}

std::uint32_t kernels_epoch() {
  return registry().epoch.load(std::memory_order_acquire);
}

void unregister_kernels(std::uint16_t backend) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (auto it = r.offered.begin(); it != r.offered.end();) {
    if (it->first.second != backend) {
      ++it;
      continue;
    }
    operator_of(r, it->first.first)->tables[backend].store(nullptr, std::memory_order_release);
    it = r.offered.erase(it);
  }
  r.epoch.fetch_add(1);
}

namespace {

// The devices of a backend on which a kernel has run, as far as they are open.
void add_devices(std::uint16_t backend, std::uint64_t ran_on, std::vector<DeviceRecord*>& devices) {
  for (const DeviceRecord* each : registered_devices()) {
    if (each->backend_number != backend || !(ran_on >> each->index & 1u)) continue;
    DeviceRecord* record = detail::device_records[each->device.number].load();
    if (record && record->opened.load(std::memory_order_acquire)) devices.push_back(record);
  }
}

}  // namespace

std::vector<StreamImpl*> streams_at_work_with(const Joined& joined) {
  std::vector<std::pair<std::uint16_t, std::uint64_t>> ran_on;
  {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    for (auto it = r.offered.lower_bound({joined.id, 0});
         it != r.offered.end() && it->first.first == joined.id; ++it)
      for (const Candidate* each : it->second)
        ran_on.emplace_back(it->first.second, __atomic_load_n(&each->ran_on, __ATOMIC_RELAXED));
  }
  std::vector<DeviceRecord*> devices;
  for (const auto& [backend, bits] : ran_on)
    if (bits != 0) add_devices(backend, bits, devices);
  std::vector<StreamImpl*> streams;
  for (DeviceRecord* record : devices) {
    const std::vector<StreamImpl*> busy = busy_streams_of(*record);
    streams.insert(streams.end(), busy.begin(), busy.end());
  }
  return streams;
}

void unregister_joined(Joined& joined) {
  Registry& r = registry();
  std::vector<OperatorListener> listeners;
  {
    const std::lock_guard lock(r.mutex);
    r.former_joined.emplace_back(joined.id, joined.name());
    if (r.former_joined.size() > constants::former_chains) r.former_joined.pop_front();
    r.by_name.erase(joined.name());
    r.joined.erase(joined.id);
    r.offered.erase(r.offered.lower_bound({joined.id, 0}),
                    r.offered.lower_bound({joined.id + 1, 0}));
    listeners = r.listeners;
  }
  for (const Candidate& each : joined.candidates)
    if (each.plans) end_plan_cache(*each.plans);
  for (const OperatorListener& listener : listeners)
    if (listener.ended) listener.ended(joined);
}

}  // namespace bp
