// Layers, as the call path asks for them.
#pragma once

#include <backplane/dispatcher/layers.hpp>

namespace bp {

// Gives the call to the outermost layer of `keys` that handles the operator; false if none does.
bool handle_by_layer(std::uint64_t keys, const Call& call);

// That of the outermost layer of `keys` which looks at transfers; null: none does.
TransferHandler transfer_of_layer(std::uint64_t keys);

// The call once no layer is left.
void dispatch_below_layers(const Call& call);

}  // namespace bp
