// The extension "bp.inject": which piece of work, or which allocation, fails because a test asked for it.
#pragma once

#include <mutex>

#include <backplane/extensions/inject.h>
#include <backplane/plugin.hpp>

namespace reference {

// Threads: any.
class Injections {
 public:
  bp::Status fail_next(uint32_t kind, uint64_t skip, bp_code code) {
    if (kind < BP_INJECT_GIVEN || kind > BP_INJECT_MEMORY)
      return bp::unsupported("fail_next: there is no kind %u", kind);
    const std::lock_guard lock(mutex_);
    asked_[kind - 1] = {skip, code};
    return bp::ok;
  }

  // BP_OK, or the code that this one is to fail with.
  bp_code take(uint32_t kind) {
    const std::lock_guard lock(mutex_);
    Asked& asked = asked_[kind - 1];
    if (asked.code == BP_OK) return BP_OK;
    if (asked.skip != 0) return --asked.skip, BP_OK;
    return std::exchange(asked.code, BP_OK);
  }

 private:
  struct Asked {
    uint64_t skip = 0;
    bp_code code = BP_OK;
  };
  std::mutex mutex_;
  Asked asked_[BP_INJECT_MEMORY];
};

inline constexpr const char* injected_text = "a failure that a test asked for";

// The table, of a Device with `injections`.
template <class Device> constexpr bp_inject inject_of() {
  return {{sizeof(bp_inject), BP_TYPE_EXTENSION, nullptr},
          [](bp_device* device, uint32_t kind, uint64_t skip, bp_code code) {
            return bp::guarded([=] {
              return reinterpret_cast<Device*>(device)->injections.fail_next(kind, skip, code);
            });
          }};
}

}  // namespace reference
