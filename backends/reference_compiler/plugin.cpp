// The software device `reference_compiler`: what generated kernels meet on a device with its own memory and
// its own time, without a driver.
#include <cstring>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin.hpp>

#include "compiler.hpp"
#include "device.hpp"
#include "hooks.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  if (std::strcmp(name, "reference.hooks") == 0 && min_version <= 1) return hooks();
  if (std::strcmp(name, BP_COMPILER) == 0 && min_version <= BP_COMPILER_VERSION) return compiler();
  return nullptr;
}

BP_PLUGIN(reference::Device)
