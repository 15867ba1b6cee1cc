// The extension bp.interop: Level Zero's own objects of devices and streams. Memory is addresses.
#pragma once

#include <backplane/extensions/interop.h>

namespace level_zero {

extern const bp_interop interop_functions;

}  // namespace level_zero
