// backplane repeat: one call that differed, once more, with the tensors that it had.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/loader.hpp>
#include <backplane/tracing/compare.hpp>
#include <backplane/tracing/saved_call.hpp>

#include "commands.hpp"
#include "load.hpp"
#include "output.hpp"

namespace bp::tools {

int repeat(const Options& options) {
  const tracing::SavedCall saved = tracing::read_call(options.file.string());
  const std::string wanted_on = options.devices.empty() ? saved.device : options.devices[0];
  Options tried = options;
  tried.devices = {wanted_on};
  try_named_plugins(tried);
  load_named_plugins(options);
  const Device on = device(wanted_on), host = host_device();
  const auto got = tracing::repeat_call(saved, on);
  const auto difference = tracing::find_difference(saved, got, tracing::repeat_call(saved, host));
  if (options.json)
    print_json({{"op", saved.op},
                {"device", device_name(on)},
                {"host", device_name(host)},
                {"agrees", !difference},
                {"difference", difference.value_or("")}});
  else if (difference)
    fmt::print("{} on {} differs from {}: {}\n", saved.op, device_name(on), device_name(host),
               *difference);
  else
    fmt::print("{} on {} agrees with {}\n", saved.op, device_name(on), device_name(host));
  return difference ? 1 : 0;
}

}  // namespace bp::tools
