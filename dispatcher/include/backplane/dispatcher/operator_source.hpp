// Where the operators of the table come from. This room knows no operator; the room above provides
// the rows when the library is linked, and they are registered before the first plugin is loaded.
#pragma once

#include <backplane/tensor/api.hpp>

namespace bp {

// Registers every row. Defined in core_ops; called once, by ensure_operators.
BP_API void register_core_operators();

// Registers the rows unless that is done. Threads: any.
BP_API void ensure_operators();

}  // namespace bp
