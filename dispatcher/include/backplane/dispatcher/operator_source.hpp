// Where the operators of the table come from. This room knows no operators; core_ops, linked above it, provides
// them, and they are registered before the first plugin is loaded.
#pragma once

#include <backplane/tensor/api.hpp>

namespace bp {

// Registers every operator of the table. Defined in core_ops; called once, by ensure_operators.
BP_API void register_core_operators();

// Registers the operators unless that is already done. Threads: any.
BP_API void ensure_operators();

}  // namespace bp
