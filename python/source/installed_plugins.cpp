// Devices of plugins that pip installed: backplane/_plugins.py knows them, and is asked only when the core has no such device.
#include "objects.hpp"

namespace bp::python {

bool load_installed_plugins(nb::handle name) {
  return nb::cast<bool>(nb::module_::import_("backplane._plugins").attr("load")(name));
}

Device device_named(const std::string& name) {
  try {
    return without_gil([&] { return bp::device(name); });
  } catch (const Error&) {
    if (!load_installed_plugins(nb::str(name.c_str()))) throw;
  }
  return without_gil([&] { return bp::device(name); });
}

}  // namespace bp::python
