// The outcome of one step of loading a plugin. Loading does not throw: if one plugin fails, its error becomes a
// sentence in a report, and the others still load.
#pragma once

#include <string>
#include <utility>

#include <backplane/abi.h>

namespace bp::loading {

struct Outcome {
  bp_code code = BP_OK;
  std::string message;  // one sentence with path, values and what to do; empty if code is BP_OK

  bool ok() const { return code == BP_OK; }

  static Outcome failure(bp_code code, std::string message) { return {code, std::move(message)}; }
};

}  // namespace bp::loading
