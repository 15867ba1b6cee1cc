// Extensions of the host: tables that plugins find by name through bp_host.extension, offered by rooms above this one.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/abi.h>

namespace bp::loading {

struct HostExtension {
  const char* name = nullptr;
  std::uint32_t version = 0;
  std::uint32_t level = 1;  // of the ABI that introduced it
  const bp_header* table = nullptr;
};

// Takes effect for the life of the process. Call it while the library is being loaded, on one thread.
void offer_to_plugins(const HostExtension& extension);

// The plugin that got this table, as far as it is known: "acme 1.2".
std::string plugin_of(const bp_host* host);

}  // namespace bp::loading
