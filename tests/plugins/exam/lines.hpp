// A tensor's lines along one dimension, by places in row-major order.
#pragma once

#include <cstdint>

#include <backplane/abi.h>

namespace exam {

struct Line {
  int64_t first, size, step;
  int64_t place(int64_t k) const { return first + k * step; }
};

template <class Act> void each_line(const bp_tensor& tensor, int64_t dim, Act act) {
  if (tensor.dl.ndim == 0) return;
  int64_t step = 1;
  for (int32_t d = tensor.dl.ndim - 1; d > dim; --d) step *= tensor.dl.shape[d];
  const int64_t size = tensor.dl.shape[dim];
  for (int64_t line = 0; size != 0 && line < tensor.numel / size; ++line)
    act(Line{line / step * size * step + line % step, size, step});
}

}  // namespace exam
