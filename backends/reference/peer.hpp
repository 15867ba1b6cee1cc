// The extension "bp.peer": what lies between two of these devices, and streams of the one wait for events of the other.
#pragma once

#include <backplane/extensions/peer.h>

namespace reference {

extern const bp_peer peer_functions;

}  // namespace reference
