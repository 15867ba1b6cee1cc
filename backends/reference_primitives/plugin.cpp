// The software device `reference_primitives`: what a maker writes first. It has a kernel for each row that is
// marked primitive and for nothing else; every other row comes to it as calls of these.
#include <cstring>

#include <backplane/extensions/reference.h>
#include <backplane/plugin.hpp>

#include "device.hpp"
#include "hooks.hpp"
#include "native.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (std::strcmp(name, "reference.hooks") == 0) return hooks();
  if (std::strcmp(name, BP_REFERENCE_NATIVE) == 0) return &native_functions.h;
  return nullptr;
}

BP_PLUGIN(reference::Device, pointwise, reduction, matmul, gather, sort, copy, factory)
