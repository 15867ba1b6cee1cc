// A trained tensor, as a member of a module.
#pragma once

#include <backplane/tensor/tensor.hpp>

namespace bp::nn {

// A leaf that requires grad. An ordinary tensor becomes one only explicitly, by Parameter(tensor),
// so that no assignment replaces a leaf that an optimizer holds. A default-constructed one is
// absent, like the bias of a layer without bias.
class BP_API Parameter : public Tensor {
 public:
  Parameter() = default;
  // Has the memory of `data`, which itself stays outside of every record. Throws bad_argument if `data` is undefined, and
  // with `requires_grad` unless it holds floating-point or complex numbers.
  explicit Parameter(const Tensor& data, bool requires_grad = true);
};

}  // namespace bp::nn
