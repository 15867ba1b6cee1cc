#pragma once

#include "witness.hpp"

namespace planned {

extern const WitnessStand stand;

}  // namespace planned
