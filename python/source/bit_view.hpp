// x.view(dtype): the same bytes as elements of another dtype.
#pragma once

#include "objects.hpp"

namespace bp::python {

// Over the same memory, and never recorded. The last dimension grows or shrinks by the ratio of the sizes.
// Throws ValueError where the bytes do not make up whole elements, UnsupportedError while a layer looks at the tensor.
Tensor view_of_bits(const Tensor& tensor, Dtype dtype);

// Gives the class Tensor its method view, which takes a dtype as well as sizes. After the operators are added.
void add_bit_view(nb::module_& module);

}  // namespace bp::python
