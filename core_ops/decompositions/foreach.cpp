#include "decompositions/foreach.hpp"

#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {

void check_beside(TensorList first, TensorList other) {
  const std::span<const Tensor> all = first.span(), beside = other.span();
  BP_CHECK(all.size() == beside.size(),
           "the lists have {} and {} tensors; pass lists of one length", all.size(), beside.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    BP_CHECK(all[i].device() == beside[i].device(),
             "tensor {} of the lists is on {} and on {}; move one with to()", i,
             device_name(all[i].device()), device_name(beside[i].device()));
    BP_CHECK(all[i].dtype() == beside[i].dtype(),
             "tensor {} of the lists is {} and {}; cast one of them", i, name(all[i].dtype()),
             name(beside[i].dtype()));
  }
}

}  // namespace bp
