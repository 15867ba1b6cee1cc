// The layer `trace`: sees every call that reaches a backend.
#pragma once

#include <backplane/dispatcher/operator.hpp>

namespace bp::tracing {

// Its handler, for every operator.
void watch(const Call& call, const Level* level);

}  // namespace bp::tracing
