#include "kernels/reduction_plan.hpp"

#include <algorithm>
#include <cstdlib>

namespace bp::cpu {

ReductionPlan::ReductionPlan(const bp_tensor& in, const bp_tensor& out,
                             const std::optional<Ints>& dims, bool in_order) {
  bool goes[BP_MAX_RANK] = {};
  const int rank = in.dl.ndim;
  if (dims) {
    for (const int64_t dim : *dims) goes[dim] = true;
  } else {
    std::fill_n(goes, rank, true);
  }
  const bool keeps_dims = out.dl.ndim == rank;
  kept.num_operands = 2;
  reduced.num_operands = 1;
  int out_dim = 0;
  for (int dim = 0; dim < rank; ++dim) {
    if (goes[dim] && in.dl.strides[dim] == 0 && in.dl.shape[dim] > 1 && !in_order) {
      repeats *= in.dl.shape[dim];
      if (keeps_dims) ++out_dim;
      continue;
    }
    tile::Space& space = goes[dim] ? reduced : kept;
    space.shape[space.rank] = in.dl.shape[dim];
    space.strides[0][space.rank] = in.dl.strides[dim];
    if (!goes[dim]) space.strides[1][space.rank] = out.dl.strides[out_dim];
    if (!goes[dim] || keeps_dims) ++out_dim;
    ++space.rank;
    space.numel *= in.dl.shape[dim];
  }
  kept.join();
  if (in_order) {
    reduced.join_in_order();
  } else {
    reduced.join();
  }
}

bool ReductionPlan::reduces_rows() const {
  if (kept.numel == 1) return true;
  if (reduced.numel == 1) return false;
  const int64_t across = std::llabs(kept.inner_stride(0));
  const int64_t along = std::llabs(reduced.inner_stride(0));
  if (along == 0 && across == 1) return false;  // of a row that is repeated: neighbours are faster
  return along <= across || across == 0;
}

}  // namespace bp::cpu
