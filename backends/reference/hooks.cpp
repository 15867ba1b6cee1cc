#include "hooks.hpp"

#include <backplane/extensions/reference.h>

#include "device.hpp"

namespace reference {
namespace {

template <class Act> bp_code on_device(uint32_t index, Act act) noexcept {
  return bp::guarded([&]() -> bp::Status {
    Device* device = Device::find(index);
    if (device == nullptr)
      return bp::bad_argument("%s:%u is not open", Device::identity.name, index);
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

constexpr bp_reference_hooks hook_table = make_hooks();

}  // namespace

const bp_header* hooks() {
  return &hook_table.h;
}

}  // namespace reference
