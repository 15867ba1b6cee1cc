// expect: no matching function for call to ‘item
#include <cstdio>

#include <backplane/tensors.hpp>

void print(const bp::Tensor& loss) {
  std::printf("%f\n", bp::item(loss));  // item<double>(loss) is meant
}
