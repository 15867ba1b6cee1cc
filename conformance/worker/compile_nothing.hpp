// A kernel that does nothing, through bp.compiler, whose structs may be those of another level.
#pragma once

#include <backplane/extensions/compiler.h>

#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"

namespace bp::conform {

// -> "code", "message", "offered": true, "fault": what was written where nothing is to be written
Json compile_nothing(const DirectPlugin& plugin, const bp_compiler& api, Skew skew);

}  // namespace bp::conform
