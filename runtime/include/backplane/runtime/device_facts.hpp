// What schedulers and people ask about devices beyond their records: identity, free memory, and the paths between them.
// The facts that cost nothing are fields of DeviceRecord::info.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/extensions/peer.h>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

// The physical unit's, as "aab72995-9404-3056-df09-b55f974a312b"; empty: unknown.
BP_API std::string uuid_of(const bp_device_info& info);

// Other registered devices that stand for the same physical unit: most often those of another backend. Empty where no
// uuid is known.
BP_API std::vector<const DeviceRecord*> other_devices_of_unit(const DeviceRecord& record);

// Bytes of the device's main memory that nobody uses now, in this process or another; nothing if
// the backend does not say. Our own caches count as used. Opens the device. Throws what the plugin
// says.
BP_API std::optional<std::uint64_t> free_memory(Device device);

enum class LinkKind : std::uint32_t {
  unknown = BP_LINK_UNKNOWN,
  same_unit = BP_LINK_SAME,
  fabric = BP_LINK_FABRIC,  // the maker's own: NVLink, Infinity Fabric, ...
  pci = BP_LINK_PCI,
  host = BP_LINK_HOST,  // through the host's memory alone
};

struct Link {
  LinkKind kind = LinkKind::unknown;
  std::uint64_t bytes_per_second = 0;  // one way; 0: unknown
};

// How bytes go from `source` to `target`. Opens both, unless they are one unit or of two backends. Throws what the plugin
// says.
BP_API Link link_between(Device target, Device source);

// "same unit", "fabric", "PCI", "host", "unknown".
BP_API std::string_view to_string(LinkKind kind);

}  // namespace bp
