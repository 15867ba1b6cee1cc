// The extension bp.peer: what lies between two of these devices, which is the host alone.
#pragma once

#include <backplane/extensions/peer.h>

namespace reference {

extern const bp_peer peer_functions;

}  // namespace reference
