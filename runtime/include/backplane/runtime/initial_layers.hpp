// The layers that see every call of every thread, because the environment asks for them. This room knows no layer; the
// one that watches calls (tracing/) provides them when the library is linked.
#pragma once

#include <cstdint>

#include <backplane/tensor/api.hpp>

namespace bp {

// Key bits that each thread starts with. Defined in tracing; called before a thread has its state, which it must not ask
// for. Threads: any.
BP_API std::uint64_t initial_layers();

}  // namespace bp
