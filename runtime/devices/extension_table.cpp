#include "devices/extension_table.hpp"

#include <backplane/tensor/check.hpp>

namespace bp {

const bp_header* extension_header(const DeviceRecord& record, const char* name,
                                  std::uint32_t version) {
  if (!record.backend) return nullptr;  // meta
  const bp_plugin& plugin = *record.backend->plugin;
  if (!BP_HAS(&plugin, bp_plugin, extension) || !plugin.extension) return nullptr;
  const bp_header* found = plugin.extension(plugin.self, name, version);
  if (!found) return nullptr;
  if (found->type != BP_TYPE_EXTENSION || found->size < sizeof(bp_header))
    throw_error(ErrorClass::internal,
                fmt::format("{}: the extension '{}' has type {} and {} bytes; {} is expected "
                            "(plugin {})",
                            record.name, name, found->type, found->size, BP_TYPE_EXTENSION,
                            record.backend->name));
  return found;
}

}  // namespace bp
