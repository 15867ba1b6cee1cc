#include "load.hpp"

#include <backplane/dispatcher/loader.hpp>
#include <backplane/dispatcher/loading/discovery.hpp>
#include <backplane/tensor/error.hpp>

namespace bp::tools {

void load_named_plugins(const Options& options) {
  using loading::Origin;
  if (options.plugins.empty()) return;
  for (const auto& candidate : discover(loading::Environment::current(), options.plugins)) {
    if (candidate.origin != Origin::explicit_path) continue;
    if (!candidate.usable()) throw_error(ErrorClass::bad_argument, candidate.problem);
    load_plugin(candidate.library);
  }
}

void load_plugins(const Options& options) {
  load_named_plugins(options);
  load_all_plugins();
}

}  // namespace bp::tools
