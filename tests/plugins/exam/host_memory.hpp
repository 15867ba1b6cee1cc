#pragma once

#include <cstdint>

#include <backplane/abi.h>

namespace exam {

// The extension bp.host_memory; null for another name.
const bp_header* host_memory(const char* name, uint32_t min_version);

}  // namespace exam
