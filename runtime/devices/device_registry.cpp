#include <algorithm>
#include <charconv>
#include <mutex>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/plugin_steps.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"
#include "devices/generators.hpp"
#include "devices/plugin_answers.hpp"
#include "devices/thread_list.hpp"
#include "memory/caching_allocator.hpp"
#include "memory/spaces.hpp"

namespace bp {

namespace detail {
constinit std::atomic<PluginStepObserver> plugin_step_observer{nullptr};
constinit std::atomic<DeviceRecord*> device_records[max_devices]{};
}  // namespace detail

namespace {

struct Registry {
  CoreMutex mutex;
  std::vector<std::unique_ptr<BackendState>> backends;  // in the order of registration
  // Records of backends that are gone, since somebody may still hold the address of one.
  std::vector<std::unique_ptr<DeviceState>> former;
  DeviceState meta;
};

void leave_devices_behind();

std::unique_ptr<StreamState> make_meta_stream(DeviceState& meta) {
  auto stream = std::make_unique<StreamState>();
  stream->record = &meta;
  return stream;
}

// Never destroyed: tensors in static objects outlive every destructor here.
Registry& registry() {
  static Registry& all = *[] {
    auto* made = new Registry;
    DeviceState& meta = made->meta;
    meta.name = "meta";
    meta.info.dl_device_type = BP_DL_EXT_DEV;
    meta.streams.push_back(make_meta_stream(meta));
    meta.default_stream = meta.streams.front().get();
    meta.phase = Phase::open;
    meta.opened = true;
    detail::device_records[0] = &meta;
    run_in_forked_child(leave_devices_behind);
    return made;
  }();
  return all;
}
BP_MADE_AT_LOAD(registry);

// The locks are free here, and there is no other thread.
void leave_devices_behind() {
  for (auto& slot : detail::device_records) {
    DeviceRecord* record = slot.load(std::memory_order_relaxed);
    if (!record || !record->backend) continue;
    DeviceState& state = state_of(*record);
    const Phase phase = state.phase.load(std::memory_order_relaxed);
    if (phase == Phase::opening) state.phase = Phase::closed;  // by a thread that is not here
    if (phase != Phase::open) continue;
    for_each_allocator(state, [](CachingAllocator& each) { each.forget_other_threads(); });
    const bool follows =
        record->host_readable && record->synchronous && !record->queue->create_stream;
    if (follows) continue;
    state.phase = Phase::left_behind;
    record->opened = false;
  }
}

// Under the registry's lock, as what follows up to give_numbers().
bool name_is_taken(const Registry& all, std::string_view name) {
  if (name == "meta") return true;
  return std::any_of(all.backends.begin(), all.backends.end(),
                     [&](const auto& backend) { return backend->name == name; });
}

std::string unique_name(const Registry& all, const BackendState& backend) {
  if (!name_is_taken(all, backend.own_name)) return backend.own_name;
  const std::string qualified = backend.vendor + ":" + backend.own_name;
  std::string name = qualified;
  for (int i = 2; name_is_taken(all, name); ++i) name = fmt::format("{}-{}", qualified, i);
  return name;
}

std::uint16_t free_backend_number(const Registry& all) {
  for (std::uint16_t number = 1; number < max_backends; ++number) {
    if (std::none_of(all.backends.begin(), all.backends.end(),
                     [&](const auto& backend) { return backend->number == number; }))
      return number;
  }
  return 0;
}

std::vector<std::uint32_t> free_device_numbers(std::size_t count) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 1; number < max_devices && numbers.size() < count; ++number)
    if (!detail::device_records[number]) numbers.push_back(number);
  return numbers;
}

std::unique_ptr<DeviceState> make_state(BackendState& backend, std::uint32_t index,
                                        const bp_device_info& info) {
  auto state = std::make_unique<DeviceState>();
  state->backend = &backend;
  state->index = index;
  state->info = info;
  if (state->info.offset_alignment == 0) state->info.offset_alignment = 64;
  if (state->info.num_spaces == 0) state->info.num_spaces = 1;
  state->memory = &backend.memory_table;
  state->queue = &backend.queue_table;
  state->synchronous = (info.flags & BP_DEVICE_SYNCHRONOUS) != 0;
  state->host_readable = (info.flags & BP_DEVICE_HOST_READABLE) != 0;
  return state;
}

std::unique_ptr<BackendState> make_backend(const bp_plugin& plugin, const bp_host& host,
                                           std::string path) {
  auto backend = std::make_unique<BackendState>();
  backend->own_name = plugin.name;
  backend->vendor = plugin.vendor && *plugin.vendor ? plugin.vendor : "unknown";
  backend->version = plugin.version ? plugin.version : "";
  backend->path = std::move(path);
  backend->plugin = &plugin;
  backend->host = &host;
  backend->extensions = ask_for_extensions(plugin);
  if (!has_devices(plugin)) return backend;
  backend->memory_table = complete_table(*plugin.memory);
  backend->queue_table = complete_table(*plugin.queue);
  const std::vector<bp_device_info> infos = ask_for_devices(plugin);
  for (std::uint32_t i = 0; i < infos.size(); ++i) {
    backend->states.push_back(make_state(*backend, i, infos[i]));
    backend->devices.push_back(backend->states.back().get());
  }
  return backend;
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "acme:1" is device 1 of "acme", and "acme" the first. Under the registry's lock.
BackendState* find_locked(Registry& all, std::string_view name) {
  for (const auto& backend : all.backends)
    if (backend->shown && backend->name == name) return backend.get();
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return nullptr;
  for (const auto& backend : all.backends)
    if (backend->shown && backend->vendor == name.substr(0, colon) &&
        backend->own_name == name.substr(colon + 1))
      return backend.get();
  return nullptr;
}

// Gives numbers and a name; nobody finds the backend yet.
void give_numbers(Registry& all, std::unique_ptr<BackendState>& backend) {
  const std::uint16_t number = free_backend_number(all);
  const std::vector<std::uint32_t> numbers = free_device_numbers(backend->devices.size());
  if (number == 0 || numbers.size() < backend->devices.size())
    throw_error(ErrorClass::unsupported, fmt::format("register_backend: one process can have at "
                                                     "most {} backends and {} devices; unload some",
                                                     max_backends - 1, max_devices - 1));
  backend->number = number;
  backend->name = unique_name(all, *backend);
  all.backends.reserve(all.backends.size() + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    DeviceRecord& record = *backend->devices[i];
    record.device = {numbers[i]};
    record.backend_number = number;
    record.name = fmt::format("{}:{}", backend->name, i);
  }
  for (DeviceRecord* record : backend->devices)
    detail::device_records[record->device.number].store(record, std::memory_order_release);
  all.backends.push_back(std::move(backend));
}

// What lives once all releases that wait for streams have come.
std::string what_still_lives(DeviceState& state) {
  if (state.handle) wait_for_streams_quietly(state);
  return what_lives(state);
}

void check_nothing_lives(Backend& backend) {
  std::string lives;
  for (DeviceRecord* record : backend.devices) {
    const std::string on_device = what_still_lives(state_of(*record));
    if (on_device.empty()) continue;
    lives += fmt::format("{}{} of {}", lives.empty() ? "" : ", ", on_device, record->name);
  }
  if (!lives.empty())
    throw_error(ErrorClass::retry,
                fmt::format("unload_plugin: {} cannot be unloaded; in use: {}; drop them first",
                            backend.name, lives));
}

void tell_of_closing(Backend& backend, DeviceRecord& record) {
  std::vector<void (*)(Backend&, DeviceRecord&)> told;
  {
    const std::lock_guard lock(registry().mutex);
    told = backend.closing_device;
  }
  for (auto* closing : told) closing(backend, record);
}

void tell_of_closing(Backend& backend) {
  std::vector<void (*)(Backend&)> told;
  {
    const std::lock_guard lock(registry().mutex);
    told = backend.closing;
  }
  for (auto* closing : told) closing(backend);
}

template <class Listener> void add_once(std::vector<Listener>& all, Listener listener) {
  const std::lock_guard lock(registry().mutex);
  if (std::find(all.begin(), all.end(), listener) == all.end()) all.push_back(listener);
}

}  // namespace

Backend& register_backend(const bp_plugin& plugin, const bp_host& host, std::string path,
                          const std::function<void(Backend&)>& complete) {
  check_plugin(plugin);
  Registry& all = registry();
  std::unique_ptr<BackendState> backend = make_backend(plugin, host, std::move(path));
  BackendState& made = *backend;
  {
    const std::lock_guard lock(all.mutex);
    give_numbers(all, backend);
  }
  if (complete) {
    try {
      complete(made);
    } catch (...) {
      unregister_backend(made);
      throw;
    }
  }
  const std::lock_guard lock(all.mutex);
  made.shown = true;
  return made;
}

void hear_of_closing(Backend& backend, void (*closing)(Backend&, DeviceRecord&)) {
  add_once(backend.closing_device, closing);
}

void hear_of_closing(Backend& backend, void (*closing)(Backend&)) {
  add_once(backend.closing, closing);
}

void unregister_backend(Backend& backend) {
  Registry& all = registry();
  check_nothing_lives(backend);
  for (DeviceRecord* record : backend.devices) tell_of_closing(backend, *record);
  tell_of_closing(backend);
  const bp_plugin& plugin = *backend.plugin;
  // Its answer changes nothing: all streams are idle, and the devices close now.
  at_plugin_step("bp_plugin.quiesce");
  if (BP_HAS(&plugin, bp_plugin, quiesce) && plugin.quiesce)
    static_cast<void>(plugin.quiesce(plugin.self));
  // Before, so that a thread that ends now returns nothing to an allocator that is going; and after, since
  // closing returns blocks through this thread's own cache.
  for (DeviceRecord* record : backend.devices) forget_device_in_threads(record->device.number);
  for (DeviceRecord* record : backend.devices) close_device(state_of(*record));
  for (DeviceRecord* record : backend.devices) forget_device_in_threads(record->device.number);
  for (DeviceRecord* record : backend.devices) restart_generator(record->device.number);
  std::unique_ptr<BackendState> gone;
  const std::lock_guard lock(all.mutex);
  const auto found = std::find_if(all.backends.begin(), all.backends.end(),
                                  [&](const auto& each) { return each.get() == &backend; });
  if (found == all.backends.end()) return;
  gone = std::move(*found);
  all.backends.erase(found);
  for (DeviceRecord* record : gone->devices) {
    detail::device_records[record->device.number].store(nullptr, std::memory_order_release);
    record->backend = nullptr;
  }
  for (auto& state : gone->states) all.former.push_back(std::move(state));
}

void reset_device(Device device) {
  DeviceState& state = registered_state(device);
  if (!state.backend)
    throw_error(ErrorClass::bad_argument, "reset_device: meta has nothing to be reset");
  if (state.is_left_behind()) throw_left_behind(state);
  const std::string lives = what_still_lives(state);
  if (!lives.empty())
    throw_error(ErrorClass::retry,
                fmt::format("reset_device: {} cannot be closed; in use: {}; drop them first",
                            state.name, lives));
  tell_of_closing(*state.backend, state);
  forget_device_in_threads(device.number);
  close_device(state);
  forget_device_in_threads(device.number);
  const std::lock_guard lock(state.mutex);
  state.failure.reset();
  state.lost_because.clear();
  state.lost = false;
}

DeviceState& registered_state(Device device) {
  Registry& all = registry();
  DeviceRecord* record =
      device.number < max_devices ? detail::device_records[device.number].load() : nullptr;
  if (!record) {
    const std::lock_guard lock(all.mutex);
    std::string known = "meta";
    for (const auto& backend : all.backends)
      if (backend->shown)
        for (const DeviceRecord* each : backend->devices) known += ", " + each->name;
    throw_error(ErrorClass::bad_argument,
                fmt::format("there is no device number {}; the registered ones are {}",
                            device.number, known));
  }
  return state_of(*record);
}

const DeviceRecord* find_device(std::string_view name) {
  Registry& all = registry();
  if (name == "meta" || name == "meta:0") return &all.meta;
  const std::lock_guard lock(all.mutex);
  if (const BackendState* whole = find_locked(all, name))
    return whole->devices.empty() ? nullptr : whole->devices.front();
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || !all_digits(name.substr(colon + 1))) return nullptr;
  const BackendState* backend = find_locked(all, name.substr(0, colon));
  std::size_t index = 0;
  const std::string_view digits = name.substr(colon + 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (!backend || parsed.ec != std::errc() || index >= backend->devices.size()) return nullptr;
  return backend->devices[index];
}

std::string to_string(Device device) {
  return device_name(device);
}

std::ostream& operator<<(std::ostream& stream, Device device) {
  return stream << device_name(device);
}

std::string device_name(Device device) {
  registry();
  const DeviceRecord* record =
      device.number < max_devices ? detail::device_records[device.number].load() : nullptr;
  return record ? record->name : fmt::format("device {} (not registered)", device.number);
}

std::vector<const DeviceRecord*> registered_devices() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<const DeviceRecord*> devices;
  for (const auto& backend : all.backends)
    if (backend->shown)
      devices.insert(devices.end(), backend->devices.begin(), backend->devices.end());
  return devices;
}

std::vector<Backend*> registered_backends() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<Backend*> backends;
  for (const auto& backend : all.backends)
    if (backend->shown) backends.push_back(backend.get());
  return backends;
}

Backend* find_backend(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return find_locked(all, name);
}

}  // namespace bp
