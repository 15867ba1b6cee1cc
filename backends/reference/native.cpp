#include "native.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "device.hpp"

namespace reference {
namespace {

// What applications have made and not yet destroyed. Values are looked up here before anything is read through them.
struct Objects {
  std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<Context>> contexts;
  std::map<uint64_t, std::pair<std::unique_ptr<Queue>, Context*>> queues;
};

Objects& objects() {
  static Objects all;
  return all;
}

uint64_t value_of(const void* object) {
  return reinterpret_cast<uint64_t>(object);
}

unsigned long long shown(uint64_t value) {
  return value;
}

bp::Status create_context(uint32_t device, uint64_t* out) {
  if (device >= device_count)
    return bp::bad_argument("there is no %s:%u, only %u devices", Device::identity.name, device,
                            device_count);
  auto made = std::make_unique<Context>(device, total_memory);
  *out = value_of(made.get());
  std::lock_guard lock(objects().mutex);
  objects().contexts[*out] = std::move(made);
  return bp::ok;
}

bp::Status destroy_context(uint64_t context) {
  std::lock_guard lock(objects().mutex);
  if (objects().contexts.erase(context) != 0) return bp::ok;
  return bp::bad_argument("%#llx is not an application's context", shown(context));
}

// Gives the context to `act`.
template <class Act> bp_code in_context(uint64_t value, Act act) noexcept {
  return bp::guarded([&]() -> bp::Status {
    bp::Result<Context*> context = find_context(value);
    return context.is_ok() ? act(*context.value()) : context.status();
  });
}

bp::Status create_block(Context& context, uint64_t bytes, uint64_t* out) {
  bp::Result<bp::Handle> made = context.memory.allocate(bytes);
  *out = made.value();
  return made.status();
}

bp::Status address_of_block(Context& context, uint64_t block, uint8_t** at) {
  bp::Result<uint8_t*> found = context.memory.find(bp::Region{{block, 0, 0}}, "address_of_block");
  *at = found.value();
  return found.status();
}

bp::Status create_queue(Context& context, uint64_t* out) {
  auto made = std::make_unique<Queue>();
  *out = value_of(made.get());
  std::lock_guard lock(objects().mutex);
  objects().queues[*out] = {std::move(made), &context};
  return bp::ok;
}

bp::Status destroy_queue(uint64_t queue) {
  std::unique_ptr<Queue> ended;  // outside of the lock: it waits for what runs
  std::lock_guard lock(objects().mutex);
  const auto found = objects().queues.find(queue);
  if (found == objects().queues.end())
    return bp::bad_argument("%#llx is not an application's queue", shown(queue));
  ended = std::move(found->second.first);
  objects().queues.erase(found);
  return bp::ok;
}

template <class Act> bp_code on_queue(uint64_t value, Act act) noexcept {
  return bp::guarded([&]() -> bp::Status {
    bp::Result<NativeQueue> found = find_queue(value);
    return found.is_ok() ? act(*found.value().queue) : found.status();
  });
}

constexpr bp_reference_native make_native_functions() {
  bp_reference_native table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.create_context = [](uint32_t device, uint64_t* out) {
    return bp::guarded([=] { return create_context(device, out); });
  };
  table.destroy_context = [](uint64_t context) {
    return bp::guarded([=] { return destroy_context(context); });
  };
  table.create_block = [](uint64_t context, uint64_t bytes, uint64_t* out) {
    return in_context(context, [=](Context& of) { return create_block(of, bytes, out); });
  };
  table.destroy_block = [](uint64_t context, uint64_t block) {
    return in_context(context, [=](Context& of) { return of.memory.release(block), bp::ok; });
  };
  table.address_of_block = [](uint64_t context, uint64_t block, uint8_t** at) {
    return in_context(context, [=](Context& of) { return address_of_block(of, block, at); });
  };
  table.create_queue = [](uint64_t context, uint64_t* out) {
    return in_context(context, [=](Context& of) { return create_queue(of, out); });
  };
  table.destroy_queue = [](uint64_t queue) {
    return bp::guarded([=] { return destroy_queue(queue); });
  };
  table.give = [](uint64_t queue, void (*work)(void*), void* argument) {
    return on_queue(
        queue, [=](Queue& to) { return to.submit([=] { return work(argument), Outcome{}; }); });
  };
  table.finish = [](uint64_t queue) {
    return on_queue(queue, [](Queue& given) { return given.synchronize(); });
  };
  return table;
}

}  // namespace

constexpr bp_reference_native native_functions = make_native_functions();

bp::Result<Context*> find_context(uint64_t value) {
  {
    std::lock_guard lock(objects().mutex);
    const auto found = objects().contexts.find(value);
    if (found != objects().contexts.end()) return found->second.get();
  }
  for (uint32_t index = 0; index < device_count; ++index) {
    Device* device = Device::find(index);
    if (device != nullptr && value_of(&device->context()) == value) return &device->context();
  }
  return bp::bad_argument("%#llx names no living context", shown(value));
}

bp::Result<NativeQueue> find_queue(uint64_t value) {
  {
    std::lock_guard lock(objects().mutex);
    const auto found = objects().queues.find(value);
    if (found != objects().queues.end())
      return NativeQueue{found->second.first.get(), found->second.second};
  }
  auto* queue = reinterpret_cast<Queue*>(value);
  for (uint32_t index = 0; index < device_count; ++index) {
    Device* device = Device::find(index);
    if (device != nullptr && device->has(queue)) return NativeQueue{queue, &device->context()};
  }
  return bp::bad_argument("%#llx names no living queue", shown(value));
}

}  // namespace reference
