// What convolutions and pools have in common: windows over the dimensions behind batch and channels.
#pragma once

#include <backplane/core_ops/generated/view.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/per_dim.hpp"

namespace bp {

// Where the elements of one dimension go: element i to offset + i * step of `size` places.
struct Spread {
  std::int64_t size, offset, step;
};

// Zeros of the given sizes behind batch and channels, with `input`'s elements where `spreads` says; those
// that would lie outside are left out.
Tensor spread_out(const Tensor& input, const Spread* spreads);

// [batch, channels, kernel..., windows...]: the elements under each place of the kernel, as a view.
Tensor windows_of(const Tensor& input, IntList kernel, IntList windows, IntList stride,
                  IntList dilation);

inline IntList behind(IntList shape, std::size_t first) {
  return {shape.data() + first, shape.size() - first};
}

inline std::int64_t product_of(IntList sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes) product *= size;
  return product;
}

// Calls `compute` with an input of rank + 2 dimensions: adds the batch where it is absent, and takes it away
// from the result.
template <class Compute>
Tensor with_batch(std::int64_t rank, const char* name, const Tensor& input,
                  const Compute& compute) {
  BP_CHECK(input.ndim() == rank + 2 || input.ndim() == rank + 1,
           "{}: the input has shape {}, rank {}; it needs rank {}, or {} without a batch", name,
           to_string(input.shape()), input.ndim(), rank + 2, rank + 1);
  if (input.ndim() == rank + 2) return compute(input);
  return squeeze(compute(unsqueeze(input, 0)), 0);
}

}  // namespace bp
