// The key by which calls of a kernel share a plan: equal dtypes, shapes, strides, alignments and other arguments, on one
// device.
#pragma once

#include <cstdint>
#include <vector>

#include <backplane/runtime/device_registry.hpp>

namespace bp {

using PlanKey = std::vector<std::uint64_t>;

PlanKey plan_key_of(const bp_call& call, const DeviceRecord& record);
std::uint64_t hash_of(const PlanKey& key);

}  // namespace bp
