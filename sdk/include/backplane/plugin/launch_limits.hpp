// For backends that compile: what a device or a kernel allows to one launch, whether a launch keeps to it, and the
// error for one that does not. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_LAUNCH_LIMITS_HPP
#define BACKPLANE_PLUGIN_LAUNCH_LIMITS_HPP

#include <algorithm>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// A kernel's own are the device's, or fewer items.
struct LaunchLimits {
  uint64_t items[3] = {0, 0, 0};                              // of a group
  uint64_t groups[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};  // as many as the numbers allow
  uint64_t all_items = 0;                                     // of a group
  uint64_t local_memory = 0;                                  // bytes of a group

  // Whether sizes and the number of arguments fit: asked at each launch.
  bool takes(const bp_launch& launch, uint32_t num_arguments) const {
    uint64_t of_group = 1;
    bool fits = launch.num_arguments == num_arguments;
    for (int i = 0; i < 3; ++i) {
      // A 0 wraps to more than any limit.
      fits &= launch.items[i] - 1 < items[i] && launch.groups[i] - 1 < groups[i];
      of_group *= launch.items[i];
    }
    return fits && of_group <= all_items;
  }

  // Explains why a launch is refused, with BP_BAD_ARGUMENT. `name` is the kernel's.
  Status refuse(const char* name, const bp_launch& launch, uint32_t num_arguments) const {
    for (int i = 0; i < 3; ++i) {
      if (launch.items[i] == 0 || launch.groups[i] == 0) {
        return bad_argument("%s: %llu groups of %llu work-items along dimension %d", name,
                            number(launch.groups[i]), number(launch.items[i]), i);
      }
      if (launch.items[i] > items[i]) {
        return bad_argument(
            "%s: a group of %llu work-items along dimension %d; this device takes %llu", name,
            number(launch.items[i]), i, number(items[i]));
      }
      if (launch.groups[i] > groups[i]) {
        return bad_argument("%s: %llu groups along dimension %d; this device takes %llu", name,
                            number(launch.groups[i]), i, number(groups[i]));
      }
    }
    const uint64_t of_group = launch.items[0] * launch.items[1] * launch.items[2];
    if (of_group > all_items) {
      return bad_argument(
          "%s: a group of %llu work-items; this kernel takes at most %llu on this device", name,
          number(of_group), number(all_items));
    }
    return bad_argument("%s: launched with %u arguments, and it has %u", name, launch.num_arguments,
                        num_arguments);
  }

  // BP_UNSUPPORTED for a kernel that needs more local memory than a group has.
  Status check_local_memory(const char* name, uint64_t needed) const {
    if (needed <= local_memory) return ok;
    return unsupported(
        "%s: it needs %llu bytes of local memory for a group, and the device has %llu", name,
        number(needed), number(local_memory));
  }

  // The device's, as its compiler describes itself.
  void describe(bp_compiler_info& info) const {
    std::copy_n(items, 3, info.max_group);
    info.max_group_items = all_items;
    info.local_memory = local_memory;
  }

 private:
  static unsigned long long number(uint64_t value) { return value; }  // what %llu takes
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_LAUNCH_LIMITS_HPP
