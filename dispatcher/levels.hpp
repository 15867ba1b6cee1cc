// Levels, as layers ask for them: the place of all levels together among the layers.
#pragma once

#include <backplane/dispatcher/level.hpp>

namespace bp {

// Gives the call to the highest active level of the layers in `keys` that it concerns and whose layer handles the operator;
// false if there is none. Throws bad_argument if one of the tensors then is opaque.
bool handle_by_level(std::uint64_t keys, const Call& call);
// The same for a transfer; undefined if there is none.
Tensor transfer_by_level(std::uint64_t keys, const Tensor& tensor, MemoryPlace place);

}  // namespace bp
