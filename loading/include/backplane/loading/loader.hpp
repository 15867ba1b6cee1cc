// Loads and unloads plugins: libraries, or parts of the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/abi.h>
#include <backplane/dispatcher/host_device.hpp>

namespace bp {

// Loads one plugin from a file, whatever the manifests say, and registers its backend. Throws with
// path and reason; the process is as before then. The same file twice gives the same backend.
BP_API Backend& load_plugin(const std::string& path);

// Registers the backend of a plugin that is linked into this program: `get_plugin` is its entry, `name` the one that it
// gives its devices. It has to pass every check that a loaded plugin does, except those of files: owner, lint, manifest,
// and the trial start in another process; if it crashes at its start, so does the program. Throws with name and reason;
// the process is as before then. The same entry twice gives the same backend.
BP_API Backend& register_plugin(bp_get_plugin_fn get_plugin, const std::string& name);

// Unloads a backend: throws retry with what still lives on it (tensors, streams, events). The
// library may stay mapped when it holds threads. A linked plugin is shut down, and can be registered again.
BP_API void unload_plugin(Backend& backend);

// A device by name ("acme:0", "acme", "meta"); loads the plugin that offers it when needed. Throws
// bad_argument with the names that exist and why others could not be loaded.
BP_API Device device(std::string_view name);

// The plugins that offer an extension ("bp.collective", "acme.x"), of this version or a later one: those in use, after
// loading those whose manifests say so in "offers" and those that have no manifest. In the order of loading.
BP_API std::vector<Backend*> backends_offering(const std::string& extension,
                                               std::uint32_t min_version = 1);

// The extension's table, which lives until the backend is unloaded; null where it is not offered.
BP_API const bp_header* extension_of(const Backend& backend, const std::string& extension,
                                     std::uint32_t min_version = 1);

// Loads every plugin that can be found; problems go to the log and to `backplane doctor`.
BP_API void load_all_plugins();

}  // namespace bp
