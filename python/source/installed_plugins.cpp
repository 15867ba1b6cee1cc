// Devices of plugins that pip installed: backplane/_plugins.py knows them, and is asked only when the core has no such device.
#include "objects.hpp"

namespace bp::python {

bool load_installed_plugins(nb::handle name) {
  return nb::cast<bool>(nb::module_::import_("backplane._plugins").attr("load")(name));
}

Device device_named(const std::string& name) {
  try {
    return without_gil([&] { return bp::device(name); });
  } catch (const Error& error) {
    const nb::str text(name.c_str());
    if (!load_installed_plugins(text)) {
      const auto why =
          nb::cast<std::string>(nb::module_::import_("backplane._plugins").attr("reason")(text));
      if (why.empty()) throw;
      throw Error(error.error_class(), std::string(error.what()) + "; " + why);
    }
  }
  return without_gil([&] { return bp::device(name); });
}

}  // namespace bp::python
