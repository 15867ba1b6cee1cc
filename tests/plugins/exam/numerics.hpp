// What the device declares of its arithmetic.
#pragma once

#include <cstdint>

#include <backplane/abi.h>

namespace exam {

const bp_header* declared_numerics(const char* name, uint32_t min_version);

}  // namespace exam
