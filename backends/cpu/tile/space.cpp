#include "tile/space.hpp"

#include <cstdlib>
#include <utility>

namespace bp::cpu::tile {

void Space::join() {
  drop_ones();
  sort();
  merge();
}

void Space::join_in_order() {
  drop_ones();
  merge();
}

void Space::drop_ones() {
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
void Space::sort() {
  const auto goes_before = [this](int right, int left) {
    for (int k = 0; k < num_operands; ++k) {
      const int64_t a = std::llabs(strides[k][left]), b = std::llabs(strides[k][right]);
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

void Space::merge() {
  int last = 0;
  for (int dim = 1; dim < rank; ++dim) {
    bool one_run = true;
    for (int k = 0; k < num_operands && one_run; ++k) {
      one_run = strides[k][last] == strides[k][dim] * shape[dim];
    }
    if (one_run) {
      shape[last] *= shape[dim];
    } else {
      shape[++last] = shape[dim];
    }
    for (int k = 0; k < num_operands; ++k) strides[k][last] = strides[k][dim];
  }
  rank = last + 1;
}

}  // namespace bp::cpu::tile
