// Layers, as the call path asks for them.
#pragma once

#include <backplane/dispatcher/layers.hpp>

namespace bp {

// Gives the call to the outermost layer of `keys`, which are some, that handles the operator; false if none does.
bool handle_by_layer(std::uint64_t keys, const Call& call);

// Gives a transfer to the outermost layer of `keys` that looks at transfers; undefined if none does.
Tensor transfer_by_layer(std::uint64_t keys, const Tensor& tensor, MemoryPlace place);

// The layer's own handler for the operator, or its fallback; null: the layer lets the operator pass.
LayerHandler handler_of(const Operator& op, unsigned layer);
// Null: the layer does not look at transfers.
TransferHandler transfer_handler(unsigned layer);

// Asks the layers of each tensor that the call writes into whether it may. Throws as they do. Who returns nothing writes
// into all that it may; others, as batch_norm, only sometimes, and are not asked for.
void check_written_by_layers(const Call& call);

// The call once no layer is left.
void dispatch_below_layers(const Call& call);

}  // namespace bp
