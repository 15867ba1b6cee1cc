// How the call path reaches levels: together they take one place among the layers.
#pragma once

#include <backplane/dispatcher/level.hpp>

namespace bp {

// Passes the call to the highest active level of the layers in `keys` that sees the call and whose layer handles the
// operator; false if there is none. In that case throws bad_argument if one of the tensors is opaque.
bool handle_by_level(std::uint64_t keys, const Call& call);
// The same for a transfer; undefined if there is no such level.
Tensor transfer_by_level(std::uint64_t keys, const Tensor& tensor, MemoryPlace place);

}  // namespace bp
