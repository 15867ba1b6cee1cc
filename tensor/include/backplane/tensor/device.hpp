// A device, known here only by its number; names and properties are in runtime/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include <backplane/tensor/api.hpp>

namespace bp {

// The number is given at run time, when a backend is loaded. 0 is "meta": shapes without data.
struct Device {
  std::uint32_t number = 0;
  friend constexpr bool operator==(Device, Device) = default;
};

inline constexpr Device meta_device{0};

// "acme:0". Defined in runtime/, which has the names; "device 7 (not registered)" for numbers without one.
BP_API std::string to_string(Device device);
BP_API std::ostream& operator<<(std::ostream& stream, Device device);

}  // namespace bp

// For std::unordered_map and std::unordered_set.
template <> struct std::hash<bp::Device> {
  std::size_t operator()(bp::Device device) const noexcept { return device.number; }
};
