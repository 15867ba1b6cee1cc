// The reference device, with kernels that plan.
#include <cstring>

#include <backplane/extensions/reference.h>
#include <backplane/plugin.hpp>

#include "device.hpp"
#include "hooks.hpp"
#include "kernels.hpp"
#include "native.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (std::strcmp(name, "reference.hooks") == 0) return hooks();
  if (std::strcmp(name, BP_REFERENCE_NATIVE) == 0) return &native_functions.h;
  if (std::strcmp(name, "planned.witness") == 0) return &planned::stand.h;
  return nullptr;
}

BP_PLUGIN(reference::Device, planned)
