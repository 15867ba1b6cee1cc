// expect: passing
#include <backplane/tensors.hpp>

void set_row(const bp::Tensor& a, const bp::Tensor& b) {
  a[0] = b;  // would change a handle that is gone at once; copy_(a[0], b) is meant
}
