// A device, known here only by its number; names and properties are in runtime/.
#pragma once

#include <cstdint>

namespace bp {

// The number is given at run time, when a backend is loaded. 0 is "meta": shapes without data.
struct Device {
  std::uint32_t number = 0;
  friend constexpr bool operator==(Device, Device) = default;
};

inline constexpr Device meta_device{0};

}  // namespace bp
