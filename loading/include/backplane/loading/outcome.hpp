// The outcome of a step of loading a plugin. Loading throws nothing: one plugin's failure is a
// sentence in a report, while the others go on.
#pragma once

#include <string>
#include <utility>

#include <backplane/abi.h>

namespace bp::loading {

struct Outcome {
  bp_code code = BP_OK;
  std::string message;  // one sentence with path, values and way out; empty if code is BP_OK

  bool ok() const { return code == BP_OK; }

  static Outcome failure(bp_code code, std::string message) { return {code, std::move(message)}; }
};

}  // namespace bp::loading
