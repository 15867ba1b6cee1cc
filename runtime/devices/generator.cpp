#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/core_mutex.hpp"
#include "devices/generators.hpp"

namespace bp {
namespace {

// A spin lock on one byte, since it is held for two instructions. The byte says in which process it
// was taken: one that a thread of the parent held during a fork counts as free in the child.
class Spin {
 public:
  explicit Spin(unsigned char& byte) : byte_(byte) {
    const unsigned char mine = fork_tag();
    for (;;) {
      unsigned char found = byte_.load(std::memory_order_relaxed);
      if (found != mine && byte_.compare_exchange_weak(found, mine, std::memory_order_acquire))
        return;
      while (byte_.load(std::memory_order_relaxed) == mine) pause();
    }
  }
  ~Spin() { byte_.store(0, std::memory_order_release); }
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::atomic_ref<unsigned char> byte_;
};

}  // namespace

// One for each number that a device may get, made before there are devices.
struct DefaultGenerators {
  template <std::size_t... Number>
  explicit DefaultGenerators(std::index_sequence<Number...>)
      : of_device{Generator(std::optional(Device{static_cast<std::uint32_t>(Number)}), 0)...} {}

  CoreMutex mutex;  // orders seeding of all against that of one
  std::uint64_t seed = 0;
  Generator of_device[max_devices];
};

namespace {

DefaultGenerators& generators() {
  static DefaultGenerators& all = *new DefaultGenerators(std::make_index_sequence<max_devices>());
  return all;
}
BP_MADE_AT_LOAD(generators);

}  // namespace

Generator::Generator(std::optional<Device> device, std::uint64_t seed)
    : state_{{sizeof(bp_generator), BP_TYPE_GENERATOR, nullptr}, seed, 0}, device_(device) {}

Generator::Generator(Device device, std::uint64_t seed)
    : Generator(std::optional<Device>(device), seed) {
  BP_CHECK(device.number < max_devices && detail::device_records[device.number],
           "Generator: there is no device number {}", device.number);
}

bp_value Generator::value() {
  static_assert(offsetof(Generator, state_) == 0);
  bp_value value{};
  value.tag = BP_GENERATOR;
  value.aux = live;
  value.u.ptr = this;
  return value;
}

void Generator::manual_seed(std::uint64_t seed) {
  set_state({seed, 0});
}

std::uint64_t Generator::initial_seed() const {
  return state().seed;
}

PhiloxState Generator::state() const {
  const Spin lock(lock_);
  return {state_.seed, state_.offset};
}

void Generator::set_state(PhiloxState state) {
  const Spin lock(lock_);
  state_.seed = state.seed;
  state_.offset = state.offset;
}

PhiloxState Generator::reserve(std::uint64_t num_words) {
  const Spin lock(lock_);
  const PhiloxState before{state_.seed, state_.offset};
  state_.offset += num_words / 4 + (num_words % 4 != 0);
  return before;
}

Generator& default_generator(Device device) {
  BP_CHECK(device.number < max_devices &&
               (device == meta_device || detail::device_records[device.number]),
           "default_generator: there is no device number {}", device.number);
  return generators().of_device[device.number];
}

PhiloxState draw_from(Generator* generator, Device device, std::uint64_t num_words) {
  if (device == meta_device) return {};
  const std::optional<Device> own = generator ? generator->device() : device;
  BP_CHECK(!own || *own == device,
           "the generator belongs to {} and the numbers are drawn on {}; pass one of that device, "
           "or one made without a device",
           device_name(*own), device_name(device));
  return (generator ? *generator : default_generator(device)).reserve(num_words);
}

void manual_seed(std::uint64_t seed) {
  DefaultGenerators& all = generators();
  const std::lock_guard lock(all.mutex);
  all.seed = seed;
  for (Generator& generator : all.of_device) generator.manual_seed(seed);
}

void restart_generator(std::uint32_t number) {
  DefaultGenerators& all = generators();
  const std::lock_guard lock(all.mutex);
  all.of_device[number].manual_seed(all.seed);
}

}  // namespace bp
