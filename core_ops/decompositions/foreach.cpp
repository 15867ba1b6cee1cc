#include "decompositions/foreach.hpp"

#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

bool is_expanded_to(IntList from, IntList to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 1; i <= from.size(); ++i)
    if (from[from.size() - i] != 1 && from[from.size() - i] != to[to.size() - i]) return false;
  return true;
}

}  // namespace

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

void check_fits(TensorList first, TensorList other) {
  check_beside(first, other);
  for (std::size_t i = 0; i < first.span().size(); ++i) {
    const IntList own = first.span()[i].shape(), beside = other.span()[i].shape();
    BP_CHECK(
        is_expanded_to(beside, own),
        "tensor {} of the lists has shape {}, and that beside it {}; pass one of that shape, or "
        "one that broadcasts to it",
        i, to_string(own), to_string(beside));
  }
}

}  // namespace bp
