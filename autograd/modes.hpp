// What scopes of an application set for its thread's recorded calls.
#pragma once

#include <memory>

#include <backplane/autograd/hooks.hpp>

namespace bp::autograd {

struct Modes {
  const std::shared_ptr<const SavedTensorHooks::Functions>*
      saved_hooks;  // the innermost; null: none
  int anomaly_depth;
};
extern constinit thread_local Modes modes;

}  // namespace bp::autograd
