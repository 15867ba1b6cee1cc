// The orders in which a dense tensor may lie in memory.
#pragma once

#include <cstdint>
#include <iosfwd>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>

namespace bp {

enum class MemoryFormat : std::uint8_t {
  contiguous,     // row-major
  channels_last,  // rank 4 as N, H, W, C
};

BP_API std::ostream& operator<<(std::ostream& stream, MemoryFormat format);

constexpr std::uint32_t layout_of(MemoryFormat format) {
  return format == MemoryFormat::contiguous ? BP_LAYOUT_CONTIGUOUS : BP_LAYOUT_CHANNELS_LAST;
}

}  // namespace bp
