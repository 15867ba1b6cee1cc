#include "kinds/strides.hpp"

#include <cstdlib>
#include <utility>

namespace bp::codegen {

StridedSpace::StridedSpace(const bp_tensor& tensor) : rank(tensor.dl.ndim), numel(tensor.numel) {
  for (int dim = 0; dim < rank; ++dim) shape[dim] = tensor.dl.shape[dim];
  add(tensor);
}

void StridedSpace::add(const bp_tensor& tensor) {
  for (int dim = 0; dim < rank; ++dim) strides[num_operands][dim] = tensor.dl.strides[dim];
  ++num_operands;
}

void StridedSpace::join() {
  drop_ones();
  sort();
  merge();
}

bool StridedSpace::is_flat() const {
  if (rank != 1) return false;
  for (int k = 0; k < num_operands; ++k)
    if (strides[k][0] != 1 && shape[0] != 1) return false;
  return true;
}

void StridedSpace::drop_ones() {
  int kept = 0;
  for (int dim = 0; dim < rank; ++dim) {
    if (shape[dim] == 1) continue;
    shape[kept] = shape[dim];
    for (int k = 0; k < num_operands; ++k) strides[k][kept] = strides[k][dim];
    ++kept;
  }
  if (kept == 0) {
    shape[0] = 1;
    for (int k = 0; k < num_operands; ++k) strides[k][0] = 1;
    kept = 1;
  }
  rank = kept;
}

// By insertion: ranks are small, and the usual order is already right.
void StridedSpace::sort() {
  const auto goes_before = [this](int right, int left) {
    for (int k = 0; k < num_operands; ++k) {
      const std::int64_t a = std::llabs(strides[k][left]), b = std::llabs(strides[k][right]);
      if (a != b && a != 0 && b != 0) return a < b;
    }
    return false;
  };
  for (int i = 1; i < rank; ++i) {
    for (int j = i; j > 0 && goes_before(j, j - 1); --j) {
      std::swap(shape[j], shape[j - 1]);
      for (int k = 0; k < num_operands; ++k) std::swap(strides[k][j], strides[k][j - 1]);
    }
  }
}

void StridedSpace::merge() {
  int last = 0;
  for (int dim = 1; dim < rank; ++dim) {
    bool one_run = true;
    for (int k = 0; k < num_operands && one_run; ++k)
      one_run = strides[k][last] == strides[k][dim] * shape[dim];
    shape[one_run ? last : last + 1] = one_run ? shape[last] * shape[dim] : shape[dim];
    last += !one_run;
    for (int k = 0; k < num_operands; ++k) strides[k][last] = strides[k][dim];
  }
  rank = last + 1;
}

}  // namespace bp::codegen
