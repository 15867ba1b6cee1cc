// expect: ignoring returned value
#pragma GCC diagnostic error "-Wunused-result"
#include <backplane/plugin.hpp>

void forgets() {
  bp::bad_argument("nobody hears this");
}
