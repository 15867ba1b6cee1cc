// Calls that watching makes itself.
#pragma once

#include <backplane/dispatcher/layers.hpp>

namespace bp::tracing {

// While it lives, this thread's calls are seen by no layer and counted nowhere.
class Unseen {
 public:
  Unseen() { ++thread_state().uncounted_depth; }
  ~Unseen() { --thread_state().uncounted_depth; }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  ExcludeLayers excluded_{~0ull << 1};  // but for a capture's mark, which is not a layer
};

}  // namespace bp::tracing
