// Loads and unloads plugins, which are libraries or parts of the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/abi.h>
#include <backplane/dispatcher/host_device.hpp>

namespace bp {

// Loads one plugin from a file, whatever the manifests say, and registers its backend. On failure throws with path
// and reason, and leaves the process as it was. Loading the same file twice returns the same backend.
BP_API Backend& load_plugin(const std::string& path);

// Registers the backend of a plugin that is linked into this program. `get_plugin` is its entry point, `name` the name of
// its devices. It must pass every check that a loaded plugin does, except those on files (owner, lint, manifest) and the
// trial start in another process: if it crashes on start, so does the program. On failure throws with name and reason,
// and leaves the process as it was. Registering the same entry point twice returns the same backend.
BP_API Backend& register_plugin(bp_get_plugin_fn get_plugin, const std::string& name);

// Unloads a backend; throws retry, listing them, while tensors, streams or events still exist on it. The
// library may stay mapped if it has threads. A linked plugin is shut down, and can be registered again.
BP_API void unload_plugin(Backend& backend);

// A device by name ("acme:0", "acme", "meta"); loads the plugin that offers it if needed. Throws
// bad_argument with the names that exist, and the reasons why other plugins could not be loaded.
BP_API Device device(std::string_view name);

// The plugins that offer an extension ("bp.collective", "acme.x"), in this version or a later one, in the order of loading.
// First loads the plugins whose manifests list it in "offers", and those without a manifest.
BP_API std::vector<Backend*> backends_offering(const std::string& extension,
                                               std::uint32_t min_version = 1);

// The extension's table, which lives until the backend is unloaded; null if it is not offered.
BP_API const bp_header* extension_of(const Backend& backend, const std::string& extension,
                                     std::uint32_t min_version = 1);

// Loads every plugin that can be found; problems are logged, and `backplane doctor` shows them.
BP_API void load_all_plugins();

}  // namespace bp
