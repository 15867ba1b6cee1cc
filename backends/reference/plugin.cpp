// The software device `reference`, kept for the sake of the host: it shows every mistake that a device with
// its own memory and its own time would, on any machine.
#include <cstring>

#include <backplane/plugin.hpp>

#include "device.hpp"
#include "hooks.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  return std::strcmp(name, "reference.hooks") == 0 && min_version <= 1 ? hooks() : nullptr;
}

BP_PLUGIN(reference::Device)
