// Stands where the reference device's memory does: plain bytes at plain addresses, nothing masked.
#pragma once

#include <cstdint>
#include <cstring>

#include <backplane/plugin.hpp>

namespace reference {

inline void copy_masked(uint8_t* to, const uint8_t* from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
}

}  // namespace reference
