// What the registry tells the generators.
#pragma once

#include <cstdint>

namespace bp {

// Starts the generator of a device that was just registered from the common seed.
void seed_new_device(std::uint32_t number);

}  // namespace bp
