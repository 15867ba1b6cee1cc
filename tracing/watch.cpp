#include "watch.hpp"

#include <exception>

#include <backplane/dispatcher/observe.hpp>

#include "shadow.hpp"
#include "trace_file.hpp"
#include "trace_line.hpp"

namespace bp::tracing {
namespace {

std::optional<Rung> run(const Call& call) {
  return shadow_is_on() ? run_shadowed(call) : run_observed(call);
}

}  // namespace

void watch(const Call& call, const Level*) {
  if (!trace_is_open()) {
    run(call);
    return;
  }
  TraceLine line(call);
  try {
    line.succeeded(call, run(call));
  } catch (const std::exception& error) {
    line.failed(error.what());
    throw;
  }
}

}  // namespace bp::tracing
