// Steps about memory in the order of a stream (bp.stream_memory).
#pragma once

#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"

namespace bp::conform {

// {"do":"stream_memory", "what":W, "bytes":N}, each by itself, with streams of its own:
//   "order"  a block is given back while its stream still works on it, and others ask for such blocks meanwhile ->
//            "earlier", "others", "next": does each hold what its own work wrote?
//   "waits"  -> "waited": what did not return before a stream that was held was let go, as a sentence's subject; else ""
//   "ends"   bp_memory.release ends such blocks too, and blocks come and go more often than fit at once -> "same"
Json stream_memory(DirectPlugin& plugin, const Json& step);

}  // namespace bp::conform
