// Reading the arguments of recipes.
#include "recipe.hpp"

namespace bp::bridge {

std::vector<Tensor> Arguments::tensors(int place) const {
  const bp_value& value = values_[place];
  const auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  std::vector<Tensor> list;
  for (std::uint32_t i = 0; i < value.aux; ++i)
    list.push_back(elements[i] ? Tensor::share(TensorImpl::of(elements[i])) : Tensor());
  return list;
}

}  // namespace bp::bridge
