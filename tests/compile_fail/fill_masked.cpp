// expect: use of deleted function
#include <backplane/tensors.hpp>

void clear(const bp::Tensor& a, const bp::Tensor& mask) {
  bp::fill_(a[mask], 0);  // would fill a copy that is gone at once; masked_fill_ is meant
}
