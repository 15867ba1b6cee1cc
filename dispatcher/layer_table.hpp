// What the call path asks about layers.
#pragma once

#include <backplane/dispatcher/layers.hpp>

namespace bp {

// Passes the call to the outermost layer of `keys` that handles the operator; false if none does. `keys` is not empty.
bool handle_by_layer(std::uint64_t keys, const Call& call);

// Passes a transfer to the outermost layer of `keys` that handles transfers; undefined if none does.
Tensor transfer_by_layer(std::uint64_t keys, const Tensor& tensor, MemoryPlace place);

// The layer's own handler for the operator, or its fallback; null if the layer lets the operator pass.
LayerHandler handler_of(const Operator& op, unsigned layer);
// Null if the layer does not handle transfers.
TransferHandler transfer_handler(unsigned layer);

// Asks the layers of each tensor that the call writes into whether it may; throws as they do. Only for operators that
// return nothing, since these write into every tensor that they may write into. Others, such as batch_norm, write only
// sometimes.
void check_written_by_layers(const Call& call);

// Runs the call once no layer is left.
void dispatch_below_layers(const Call& call);

}  // namespace bp
