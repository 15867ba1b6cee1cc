// The extension bp.peer: copies between two devices of one driver, by the target's stream.
#pragma once

#include <backplane/extensions/peer.h>

namespace level_zero {

extern const bp_peer peer_functions;

}  // namespace level_zero
