// Two devices in one process. Each tensor says where it is; only to() moves one.
#include <iostream>

#include <backplane/backplane.hpp>

int main() {
  const bp::Device cpu = bp::device("cpu"),
                   other = bp::device("reference:0");  // loads their plugins
  const bp::Tensor a = bp::arange(0, 4, {.dtype = bp::f32, .device = cpu});
  const bp::Tensor b = bp::to(a, other);  // a copy in the other device's memory
  std::cout << a.device() << " and " << b.device() << '\n';
  std::cout << bp::exp(b) << '\n';  // computed there

  try {
    a + b;  // nothing is copied behind your back
  } catch (const bp::Error& error) {
    std::cout << error.error_class() << ": " << error.what() << '\n';
  }
}
