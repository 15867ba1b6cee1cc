// The points that an elementwise kernel visits, and where each operand has them: dimensions ordered and
// joined, so that loops are few and long. The order of visits is the kernel's to choose.
#pragma once

#include <array>
#include <cstdint>

#include <backplane/abi.h>

namespace bp::codegen {

struct StridedSpace {
  static constexpr int max_operands = 17;  // an output and sixteen inputs

  // Of the shape of `tensor`, which becomes operand 0.
  explicit StridedSpace(const bp_tensor& tensor);
  // Another operand of the same shape.
  void add(const bp_tensor& tensor);
  // Drops dimensions of size 1, puts those with the largest strides first (operand 0's count most) and
  // joins neighbours that are one run in every operand.
  void join();

  std::int64_t inner() const { return shape[rank - 1]; }
  std::int64_t inner_stride(int operand) const { return strides[operand][rank - 1]; }
  std::int64_t rows() const { return inner() == 0 ? 0 : numel / inner(); }
  // Every operand's elements are neighbours, in the same order.
  bool is_flat() const;
  // The number of dimensions that a kernel for this space is made for: 1, 2, 3, 4 or BP_MAX_RANK.
  int rank_class() const { return rank <= 4 ? rank : BP_MAX_RANK; }

  int rank = 0;  // at least 1 once joined
  int num_operands = 0;
  std::int64_t numel = 1;
  std::array<std::int64_t, BP_MAX_RANK> shape;
  std::int64_t strides[max_operands][BP_MAX_RANK];  // in elements

 private:
  void drop_ones();
  void sort();
  void merge();
};

}  // namespace bp::codegen
