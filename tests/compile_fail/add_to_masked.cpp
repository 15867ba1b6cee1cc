// expect: use of deleted function
#include <backplane/tensors.hpp>

void count_up(const bp::Tensor& a, const bp::Tensor& mask) {
  a[mask] += 1;  // would change a copy that is gone at once
}
