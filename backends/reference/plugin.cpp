// The software device `reference`, kept for the sake of the host: it shows every mistake that a device with
// its own memory and its own time would, on any machine.
#include <cstring>

#include <backplane/extensions/reference.h>
#include <backplane/plugin.hpp>

#include "device.hpp"

namespace reference {
namespace {

template <class Act> bp_code on_device(uint32_t index, Act act) noexcept {
  return bp::guarded([&]() -> bp::Status {
    Device* device = Device::find(index);
    if (device == nullptr) return bp::bad_argument("reference:%u is not open", index);
    act(*device);
    return bp::ok;
  });
}

constexpr bp_reference_hooks make_hooks() {
  bp_reference_hooks hooks{};
  hooks.h = {sizeof hooks, BP_TYPE_EXTENSION, nullptr};
  hooks.hold = [](uint32_t index) { return on_device(index, [](Device& d) { d.hold(); }); };
  hooks.release = [](uint32_t index) {
    return on_device(index, [](Device& d) { d.release_hold(); });
  };
  hooks.fail_next = [](uint32_t index, bp_code code) {
    return on_device(index, [=](Device& d) { d.fail_next(code); });
  };
  hooks.set_limit = [](uint32_t index, uint64_t bytes) {
    return on_device(index, [=](Device& d) { d.set_limit(bytes); });
  };
  hooks.usage = [](uint32_t index, uint64_t* pending, uint64_t* allocations, uint64_t* bytes) {
    return on_device(index, [=](Device& d) { d.usage(pending, allocations, bytes); });
  };
  return hooks;
}

constexpr bp_reference_hooks hooks = make_hooks();

}  // namespace

const bp_header* Device::extension(const char* name, uint32_t min_version) {
  return std::strcmp(name, "reference.hooks") == 0 && min_version <= 1 ? &hooks.h : nullptr;
}

}  // namespace reference

BP_PLUGIN(reference::Device)
