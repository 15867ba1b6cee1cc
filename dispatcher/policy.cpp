#include <atomic>
#include <ostream>

#include <backplane/dispatcher/policy.hpp>
#include <backplane/dispatcher/rung_policy.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

// Two bits for each rung of each device.
std::atomic<std::uint32_t> device_policies[max_devices];
std::atomic<std::uint32_t> warned_rungs[max_devices];

constexpr std::uint32_t bit(Rung rung) {
  return 1u << static_cast<unsigned>(rung);
}

void check_rung(Rung rung) {
  BP_CHECK(rung >= Rung::legalized && rung <= Rung::host,
           "policy: the rung '{}' has no policy; choose legalized, generated, decomposed or host",
           name(rung));
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, Policy policy) {
  static constexpr const char* names[] = {"allow", "warn_once", "forbid"};
  return stream << names[static_cast<unsigned>(policy)];
}

void set_policy(Device device, Rung rung, Policy policy) {
  check_rung(rung);
  BP_CHECK(device.number < max_devices && detail::device_records[device.number],
           "set_policy: there is no device number {}", device.number);
  if (rung == Rung::generated) generated_has_policy.store(true);
  const unsigned shift = 2 * static_cast<unsigned>(rung);
  std::uint32_t before = device_policies[device.number].load();
  std::uint32_t after;
  do {
    after = (before & ~(3u << shift)) | (static_cast<std::uint32_t>(policy) << shift);
  } while (!device_policies[device.number].compare_exchange_weak(before, after));
  warned_rungs[device.number].fetch_and(~bit(rung));
}

Policy policy(Device device, Rung rung) {
  const unsigned shift = 2 * static_cast<unsigned>(rung);
  return static_cast<Policy>(
      device_policies[device.number].load(std::memory_order_relaxed) >> shift & 3u);
}

PolicyScope::PolicyScope(Rung rung, Policy policy) {
  check_rung(rung);
  if (rung == Rung::generated) generated_has_policy.store(true);
  ThreadState& state = thread_state();
  before_ = state.forbidden_rungs | static_cast<std::uint64_t>(state.warned_rungs) << 32;
  state.forbidden_rungs &= ~bit(rung);
  state.warned_rungs &= ~bit(rung);
  if (policy == Policy::forbid) state.forbidden_rungs |= bit(rung);
  if (policy == Policy::warn_once) state.warned_rungs |= bit(rung);
}

PolicyScope::~PolicyScope() {
  ThreadState& state = thread_state();
  state.forbidden_rungs = static_cast<std::uint32_t>(before_);
  state.warned_rungs = static_cast<std::uint32_t>(before_ >> 32);
}

void forget_policies(Device device) {
  device_policies[device.number].store(0);
  warned_rungs[device.number].store(0);
}

bool rung_allowed(Device device, Rung rung) {
  return !(thread_state().forbidden_rungs & bit(rung)) && policy(device, rung) != Policy::forbid;
}

bool rung_warns(Device device, Rung rung) {
  const bool wanted =
      (thread_state().warned_rungs & bit(rung)) || policy(device, rung) == Policy::warn_once;
  if (!wanted) return false;
  return !(warned_rungs[device.number].fetch_or(bit(rung)) & bit(rung));
}

}  // namespace bp
