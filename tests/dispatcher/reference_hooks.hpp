// The knobs of the software device `reference`, and of those that are built of it.
#pragma once

#include <stdexcept>

#include <backplane/extensions/reference.h>
#include <backplane/loading/loader.hpp>

namespace bp::test {

inline const bp_reference_hooks& reference_hooks(const char* name = "reference") {
  device(name);
  const bp_plugin& plugin = *find_backend(name)->plugin;
  const bp_header* found = plugin.extension(plugin.self, "reference.hooks", 1);
  if (found == nullptr) throw std::runtime_error("reference has no hooks");
  device_record(find_device(name)->device);  // opened
  return *reinterpret_cast<const bp_reference_hooks*>(found);
}

}  // namespace bp::test
