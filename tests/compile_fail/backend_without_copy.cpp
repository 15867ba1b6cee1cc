// expect: a backend needs bp::Status copy(
#include <backplane/plugin.hpp>

struct Acme : bp::Backend {
  static constexpr bp::Identity identity{"acme", "Acme", "1"};
  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
};

BP_PLUGIN(Acme)
