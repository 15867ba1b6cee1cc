// The extension bp.interop: contexts, queues and blocks of the software device, as reference.native makes them.
#pragma once

#include <backplane/extensions/interop.h>

namespace reference {

extern const bp_interop interop_functions;

}  // namespace reference
