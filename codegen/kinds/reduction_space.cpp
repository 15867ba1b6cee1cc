#include "kinds/reduction_space.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace bp::codegen {

void ReductionSpace::add(std::int64_t size, std::int64_t in, std::int64_t out) {
  numel *= size;
  if (size == 1) return;
  sizes[rank] = size;
  strides[0][rank] = in;
  strides[1][rank] = out;
  ++rank;
}

void ReductionSpace::join() {
  sort();
  join_in_order();
}

void ReductionSpace::join_in_order() {
  // A single point: stride 0, so that nobody takes it for a run.
  if (rank == 0) sizes[rank++] = 1;
  merge();
}

// By insertion: ranks are small, and the usual order is already right.
void ReductionSpace::sort() {
  const auto goes_before = [this](int right, int left) {
    for (const auto& side : strides) {
      const std::int64_t a = std::llabs(side[left]), b = std::llabs(side[right]);
      if (a != b && a != 0 && b != 0) return a < b;
    }
    return false;
  };
  for (int i = 1; i < rank; ++i)
    for (int j = i; j > 0 && goes_before(j, j - 1); --j) {
      std::swap(sizes[j], sizes[j - 1]);
      for (auto& side : strides) std::swap(side[j], side[j - 1]);
    }
}

void ReductionSpace::merge() {
  int last = 0;
  for (int dim = 1; dim < rank; ++dim) {
    bool one_run = true;
    for (const auto& side : strides) one_run &= side[last] == side[dim] * sizes[dim];
    if (one_run)
      sizes[last] *= sizes[dim];
    else
      sizes[++last] = sizes[dim];
    for (auto& side : strides) side[last] = side[dim];
  }
  rank = last + 1;
}

ReductionPlan::ReductionPlan(const bp_tensor& in, const bp_tensor& out, const bp_value& dims,
                             bool in_order) {
  bool goes[BP_MAX_RANK] = {};
  const int rank = in.dl.ndim;
  if (dims.tag == BP_INT && rank > 0) {
    goes[dims.u.i] = true;
  } else if (dims.tag == BP_INT_LIST) {
    for (std::uint32_t i = 0; i < dims.aux; ++i)
      goes[static_cast<const std::int64_t*>(dims.u.ptr)[i]] = true;
  } else {
    std::fill_n(goes, rank, true);
  }
  const bool keeps_dims = out.dl.ndim == rank;
  int out_dim = 0;
  for (int dim = 0; dim < rank; ++dim) {
    if (goes[dim])
      reduced.add(in.dl.shape[dim], in.dl.strides[dim], 0);
    else
      kept.add(in.dl.shape[dim], in.dl.strides[dim], out.dl.strides[out_dim]);
    if (!goes[dim] || keeps_dims) ++out_dim;
  }
  kept.join();
  if (in_order)
    reduced.join_in_order();
  else
    reduced.join();
}

ReductionPlan::ReductionPlan(const bp_tensor& in, const bp_tensor& out, const bp_value& dim) {
  for (int i = 0; i < in.dl.ndim; ++i) {
    ReductionSpace& space = i == dim.u.i ? reduced : kept;
    space.add(in.dl.shape[i], in.dl.strides[i], out.dl.strides[i]);
  }
  kept.join();
  reduced.join();
}

std::vector<Field> plan_fields() {
  std::vector<Field> fields;
  for (const char* name :
       {"from", "to", "units", "parts", "outputs", "count", "kept_rank", "reduced_rank"})
    fields.push_back({name});
  for (const char* name : {"kept", "kept_in", "kept_out", "reduced", "reduced_in"})
    fields.push_back({name, false, BP_MAX_RANK});
  return fields;
}

Values plan_values(const ReductionPlan& plan, const PlanLaunch& launch) {
  const ReductionSpace &kept = plan.kept, &reduced = plan.reduced;
  Values values;
  values.add(launch.from).add(launch.to).add(launch.units * launch.parts).add(launch.parts);
  values.add(kept.numel).add(reduced.numel);
  values.add(std::int64_t{kept.rank}).add(std::int64_t{reduced.rank});
  values.add_all(kept.sizes).add_all(kept.strides[0]).add_all(kept.strides[1]);
  values.add_all(reduced.sizes).add_all(reduced.strides[0]);
  return values;
}

}  // namespace bp::codegen
