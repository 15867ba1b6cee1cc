#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string_view>
#include <thread>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {

std::atomic<std::uint32_t> detail::usual_device{0};

namespace {

constinit std::atomic<Dtype> chosen_dtype{f32};
constinit std::atomic<std::uint32_t> chosen_threads{0};  // 0: not asked for yet
constinit std::atomic<bool> only_deterministic{false};
constinit std::atomic<int> tf32_choice{-1};                       // -1: not asked for yet
constinit std::atomic<std::uint32_t> chosen_device{max_devices};  // max_devices: unset

// The cores that this process may use, which a container may have limited.
std::uint32_t num_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<std::uint32_t>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::uint32_t initial_num_threads() {
  if (const char* text = std::getenv("BACKPLANE_NUM_THREADS")) {
    std::uint32_t count = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, count);
    if (error == std::errc() && stop == end && count > 0) return count;
    if (*text) warn_of_variable("BACKPLANE_NUM_THREADS", text, "a whole number from 1 up");
  }
  return num_cores();
}

}  // namespace

Dtype default_dtype() {
  return chosen_dtype.load(std::memory_order_relaxed);
}

void set_default_dtype(Dtype dtype) {
  check_is_dtype("set_default_dtype", dtype);
  BP_CHECK(
      is_floating(dtype),
      "set_default_dtype: {} is not a floating type; take float16, bfloat16, float32 or float64",
      name(dtype));
  chosen_dtype.store(dtype, std::memory_order_relaxed);
}

std::uint32_t num_threads() {
  std::uint32_t count = chosen_threads.load(std::memory_order_relaxed);
  if (count != 0) return count;
  // Whoever comes first decides, so that set_num_threads is never overwritten.
  const std::uint32_t first = initial_num_threads();
  return chosen_threads.compare_exchange_strong(count, first, std::memory_order_relaxed) ? first
                                                                                         : count;
}

void set_num_threads(std::uint32_t count) {
  BP_CHECK(count > 0, "set_num_threads: 0 threads cannot compute; give 1 or more");
  chosen_threads.store(count, std::memory_order_relaxed);
}

bool deterministic() {
  return only_deterministic.load(std::memory_order_relaxed);
}
void set_deterministic(bool on) {
  only_deterministic.store(on, std::memory_order_relaxed);
}

bool allow_tf32() {
  const int choice = tf32_choice.load(std::memory_order_relaxed);
  if (choice >= 0) return choice != 0;
  const char* const given = std::getenv("BACKPLANE_ALLOW_TF32");
  const std::string_view text = given ? given : "";
  if (!text.empty() && text != "0" && text != "1")
    warn_of_variable("BACKPLANE_ALLOW_TF32", text, "0, 1");
  // As for threads: the first caller decides.
  int first = -1;
  const int chosen = text == "1" ? 1 : 0;
  return (tf32_choice.compare_exchange_strong(first, chosen, std::memory_order_relaxed)
              ? chosen
              : first) != 0;
}
void set_allow_tf32(bool on) {
  tf32_choice.store(on ? 1 : 0, std::memory_order_relaxed);
}

DeviceGuard::DeviceGuard(Device device) {
  BP_CHECK(device.number < max_devices && detail::device_records[device.number],
           "DeviceGuard: there is no device number {}", device.number);
  ThreadState& state = thread_state();
  before_ = state.default_device;
  had_one_ = state.has_default_device;
  state.default_device = device;
  state.has_default_device = true;
}

DeviceGuard::~DeviceGuard() {
  ThreadState& state = thread_state();
  state.default_device = before_;
  state.has_default_device = had_one_;
}

void set_default_device(Device device) {
  BP_CHECK(device.number < max_devices && detail::device_records[device.number],
           "set_default_device: there is no device number {}", device.number);
  chosen_device.store(device.number, std::memory_order_relaxed);
  detail::usual_device.store(0, std::memory_order_release);
}

bool get_default_device(Device& out) {
  const ThreadState& state = thread_state();
  if (state.has_default_device) {
    out = state.default_device;
    return true;
  }
  const std::uint32_t number = chosen_device.load(std::memory_order_relaxed);
  // One that was unloaded since is as good as none.
  if (number >= max_devices || !detail::device_records[number]) return false;
  out = {number};
  return true;
}

}  // namespace bp
