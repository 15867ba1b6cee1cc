// Which file is the plugin of a device.
#include <filesystem>
#include <fmt/format.h>

#include <backplane/loading/discovery.hpp>
#include <backplane/tensor/error.hpp>

#include "worker/scope.hpp"

namespace bp::conform {

std::string find_plugin_file(const std::string& device, const std::string& plugin) {
  if (!plugin.empty()) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(plugin, error);
    if (error)
      throw_error(ErrorClass::bad_argument, fmt::format("{}: there is no such file", plugin));
    return real.string();
  }
  // "acme" of "acme:0" and of "vendor:acme:0".
  const std::string padded = fmt::format(":{}:", device);
  std::string known;
  for (const loading::Candidate& candidate : loading::discover(loading::Environment::current())) {
    if (!candidate.usable()) continue;
    const std::string name =
        candidate.manifest ? candidate.manifest->name : candidate.library.stem().string();
    const bool is_it =
        candidate.manifest
            ? padded.find(fmt::format(":{}:", name)) != std::string::npos
            : name == fmt::format("libbackplane_{}", device.substr(0, device.find(':')));
    if (is_it) return candidate.library.string();
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("there is no plugin for device '{}'; found are: {}; give the library's "
                          "path with --plugin",
                          device, known.empty() ? "none" : known));
}

}  // namespace bp::conform
