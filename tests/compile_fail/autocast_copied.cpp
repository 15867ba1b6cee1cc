// expect: use of deleted function
// A copy would end the scope twice.
#include <backplane/amp/autocast.hpp>

void copy(const bp::amp::Autocast& scope) {
  bp::amp::Autocast again(scope);
}
