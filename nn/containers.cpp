#include <backplane/nn/containers.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

Module& Sequential::operator[](std::size_t index) {
  return const_cast<Module&>(std::as_const(*this)[index]);
}

const Module& Sequential::operator[](std::size_t index) const {
  BP_CHECK(index < modules_.size(), "Sequential: no module {} of {}; count from 0", index,
           modules_.size());
  return *modules_[index];
}

void Sequential::list_parts(Parts& parts) {
  for (std::size_t i = 0; i < modules_.size(); ++i) parts.module(std::to_string(i), *modules_[i]);
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor result = x;
  for (const AnyModule& module : modules_) result = (*module)(result);
  return result;
}

}  // namespace bp::nn
