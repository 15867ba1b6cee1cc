// The software device `reference_primitives`: what a maker writes first. It has a kernel for each row that is
// marked primitive and for nothing else; every other row comes to it as calls of these.
#include <cstring>

#include <backplane/plugin.hpp>

#include "device.hpp"
#include "hooks.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  return std::strcmp(name, "reference.hooks") == 0 && min_version <= 1 ? hooks() : nullptr;
}

BP_PLUGIN(reference::Device, pointwise, reduction, matmul, gather, sort, copy, factory)
