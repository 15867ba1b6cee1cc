// What the registry tells the generators.
#pragma once

#include <cstdint>

namespace bp {

// The device is going: the next that gets its number draws from the common seed on, as the first did.
void restart_generator(std::uint32_t number);

}  // namespace bp
