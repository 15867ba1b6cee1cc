// The knobs of the software device `reference`.
#pragma once

#include <stdexcept>

#include <backplane/dispatcher/loader.hpp>
#include <backplane/extensions/reference.h>

namespace bp::test {

inline const bp_reference_hooks& reference_hooks() {
  device("reference");
  const bp_plugin& plugin = *find_backend("reference")->plugin;
  const bp_header* found = plugin.extension(plugin.self, "reference.hooks", 1);
  if (found == nullptr) throw std::runtime_error("reference has no hooks");
  device_record(find_device("reference")->device);  // opened
  return *reinterpret_cast<const bp_reference_hooks*>(found);
}

}  // namespace bp::test
