// Tensors by name, by index, and in print.
#include <iostream>

#include <backplane/backplane.hpp>

using bp::Ellipsis, bp::NewAxis, bp::Slice;

int main() {
  const bp::Tensor a = bp::reshape(bp::arange(0, 12), {3, 4});
  std::cout << a.shape() << ' ' << a.dtype() << '\n' << a << '\n';
  std::cout << "row 1:           " << a[1] << '\n';
  std::cout << "last column:     " << a[{Ellipsis{}, -1}] << '\n';
  std::cout << "every other:     " << a[{0, Slice{.step = 2}}] << '\n';
  std::cout << "where above 9:   " << a[a > 9] << '\n';
  std::cout << "as a column:     " << a[{0, Slice{}, NewAxis{}}].shape() << '\n';

  a[0] += 100;  // a view: a changes
  std::cout << "first element:   " << bp::item<int>(a[{0, 0}]) << '\n';
}
