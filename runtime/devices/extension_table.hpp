// A backend's extension as the core asks it.
#pragma once

#include <algorithm>
#include <cstring>

#include <backplane/runtime/device_registry.hpp>

namespace bp {

// Null without it. Throws internal for an answer that is no extension.
const bp_header* extension_header(const DeviceRecord& record, const char* name,
                                  std::uint32_t version);

// The table, with NULL for what the backend does not have; all NULL without the extension.
template <class Table>
Table extension_of(const DeviceRecord& record, const char* name, std::uint32_t version) {
  Table table{};
  if (const bp_header* found = extension_header(record, name, version)) {
    std::memcpy(&table, found, std::min<std::size_t>(found->size, sizeof table));
    table.h.size = sizeof table;
    table.h.next = nullptr;
  }
  return table;
}

}  // namespace bp
