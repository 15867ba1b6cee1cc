// expect: use of deleted function
// Scopes end in the reverse order of their beginning, which only the stack keeps.
#include <backplane/amp/autocast.hpp>

bp::amp::Autocast* keep() {
  return new bp::amp::Autocast("cpu");
}
