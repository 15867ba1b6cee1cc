// The points that a kernel visits, and where several operands have them: shapes and strides with the
// dimensions ordered and joined, so that loops are few and long.
#pragma once

#include <array>
#include <cstdint>

#include <backplane/abi.h>

namespace bp::cpu::tile {

inline constexpr int max_operands = 9;  // an output and eight inputs

struct Space {
  int rank = 0;  // at least 1 once joined
  int num_operands = 0;
  int64_t numel = 1;
  std::array<int64_t, BP_MAX_RANK> shape;
  int64_t strides[max_operands][BP_MAX_RANK];  // in elements

  // Operands are added in turn, all of one shape.
  void set_shape(const bp_tensor& tensor) {
    rank = tensor.dl.ndim;
    numel = tensor.numel;
    for (int dim = 0; dim < rank; ++dim) shape[dim] = tensor.dl.shape[dim];
  }
  void add(const bp_tensor& tensor) { add(tensor.dl.strides); }
  void add(const int64_t* operand_strides) {
    for (int dim = 0; dim < rank; ++dim) strides[num_operands][dim] = operand_strides[dim];
    ++num_operands;
  }

  // Drops dimensions of size 1, puts those with the largest strides first (those of operand 0 count
  // most) and joins neighbours that are one run in every operand. The order of visits changes.
  void join();
  // The same without changing the order.
  void join_in_order();

  int64_t inner() const { return shape[rank - 1]; }
  int64_t inner_stride(int operand) const { return strides[operand][rank - 1]; }
  // One run of neighbours in the order of visits.
  bool is_flat(int operand) const { return rank == 1 && strides[operand][0] == 1; }
  bool is_one_run(int operand) const {
    int64_t expected = 1;
    for (int dim = rank - 1; dim >= 0; --dim) {
      if (strides[operand][dim] != expected) return false;
      expected *= shape[dim];
    }
    return true;
  }

 private:
  void drop_ones();
  void sort();
  void merge();
};

// A place in a space, moving.
struct Position {
  std::array<int64_t, BP_MAX_RANK> index;
  int64_t offsets[max_operands];  // in elements

  // To the element of this number in the order of visits.
  void seek(const Space& space, int64_t element) {
    for (int k = 0; k < space.num_operands; ++k) offsets[k] = 0;
    for (int dim = space.rank - 1; dim >= 0; --dim) {
      const int64_t size = space.shape[dim];
      index[dim] = dim == 0 ? element : element % size;
      element /= size;
      for (int k = 0; k < space.num_operands; ++k) offsets[k] += index[dim] * space.strides[k][dim];
    }
  }

  // To the beginning of the next run of the dimension `dim`, whose index is taken to be 0.
  void next_outer(const Space& space, int dim) {
    for (--dim; dim >= 0; --dim) {
      if (++index[dim] < space.shape[dim]) {
        for (int k = 0; k < space.num_operands; ++k) offsets[k] += space.strides[k][dim];
        return;
      }
      index[dim] = 0;
      for (int k = 0; k < space.num_operands; ++k) {
        offsets[k] -= space.strides[k][dim] * (space.shape[dim] - 1);
      }
    }
  }
};

}  // namespace bp::cpu::tile
