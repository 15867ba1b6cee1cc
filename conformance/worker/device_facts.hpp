// Steps that ask what a plugin says of its devices, for the probes of facts.
#pragma once

#include "worker/direct_scope.hpp"

namespace bp::conform {

// {"do":"facts"} -> "counts": how many devices there were when they were opened, and each time that they were asked;
// "first", "second": what each device says of itself, asked twice; texts with all their bytes.
Json ask_facts(const DirectPlugin& plugin);
// {"do":"links"} -> "links": [{"to", "from", "code", "kind"}...] between all devices that open.
Json ask_links(const DirectPlugin& plugin);

// The extension bp.peer with a `link`, or null.
const bp_header* find_links(const DirectPlugin& plugin);

}  // namespace bp::conform
