// The extension bp.peer: copies between two cards, over the link between them where there is one.
#pragma once

#include <backplane/extensions/peer.h>

namespace cuda_backend {

extern const bp_peer peer_functions;

}  // namespace cuda_backend
