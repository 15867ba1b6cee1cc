// Conversions in one step, by dtypes; those that take two are NULL. Inside convert.cpp.
#pragma once

#include <backplane/abi.h>

#include "tile/convert.hpp"

namespace bp::cpu::tile {

struct ConvertTable {
  ConvertStage stages[BP_NUM_DTYPES][BP_NUM_DTYPES] = {};
};

}  // namespace bp::cpu::tile
