// The points that a reduction visits: its dimensions in two groups, ordered and joined so that loops are
// few and long.
#pragma once

#include <array>
#include <cstdint>

#include <backplane/abi.h>

#include "device/invocation.hpp"

namespace bp::codegen {

// Dimensions with the strides, in elements, of an input (0) and an output (1).
struct ReductionSpace {
  int rank = 0;  // at least 1 once joined
  std::int64_t numel = 1;
  std::array<std::int64_t, BP_MAX_RANK> sizes{};
  std::array<std::int64_t, BP_MAX_RANK> strides[2] = {};

  void add(std::int64_t size, std::int64_t in, std::int64_t out);
  // Drops dimensions of size 1, puts those with the largest strides first and joins neighbours that are
  // one run on both sides. The order of visits changes.
  void join();
  // The same without changing the order.
  void join_in_order();

  std::int64_t inner() const { return sizes[rank - 1]; }
  std::int64_t inner_stride(int side) const { return strides[side][rank - 1]; }

 private:
  void sort();
  void merge();
};

// What stays and what goes. Elements of the input lie at kept offset + reduced offset from its first.
struct ReductionPlan {
  ReductionSpace kept, reduced;

  // `dims`: a list, a number, or none for all. `in_order`: the reduced elements are visited in row-major
  // order, for who counts them.
  ReductionPlan(const bp_tensor& in, const bp_tensor& out, const bp_value& dims, bool in_order);
  // For outputs of the input's shape: `reduced` is the one dimension `dim`, with strides on both sides,
  // and `kept` the lines along it.
  ReductionPlan(const bp_tensor& in, const bp_tensor& out, const bp_value& dim);

  // Numbers of points fit 31 bits.
  bool is_small() const { return kept.numel >> 31 == 0 && reduced.numel >> 31 == 0; }
};

// A launch of `units` times `parts` pieces of work over a plan, and the kernel's values for it: v.from, v.to
// (bytes), v.units (in all), v.parts, v.outputs and v.count (points of both spaces), v.kept_rank,
// v.reduced_rank, v.kept (sizes), v.kept_in, v.kept_out, v.reduced (sizes), v.reduced_in.
struct PlanLaunch {
  std::int64_t from = 0, to = 0;
  std::int64_t units = 1, parts = 1;
};
std::vector<Field> plan_fields();
Values plan_values(const ReductionPlan& plan, const PlanLaunch& launch);

}  // namespace bp::codegen
