// Steps about a device's memories besides the main one.
#pragma once

#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"

namespace bp::conform {

// {"do":"describe_space", "space":1}: what the plugin says of it; "ends": is its name terminated?
Json describe_space(DirectPlugin& plugin, const Json& step);

// {"do":"fill_up", "space":1}: allocates until the plugin refuses, and gives all back. "code" and "message" are the refusal's,
// "given" the bytes that there were; "after" says how an allocation went afterwards.
Json fill_up(DirectPlugin& plugin, const Json& step);

// Does the plugin say that the host may use the handles of this memory as addresses?
bool is_host_visible(DirectPlugin& plugin, std::uint32_t space);

}  // namespace bp::conform
