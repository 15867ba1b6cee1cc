#include "decompositions/windows.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/transfer.hpp>

namespace bp {

Tensor spread_out(const Tensor& input, const Spread* spreads) {
  const std::size_t rank = input.shape().size() - 2;
  Dims shape(input.shape());
  bool is_same = true;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    shape[dim + 2] = spreads[dim].size;
    is_same = is_same && spreads[dim].size == input.shape()[dim + 2] && spreads[dim].offset == 0;
  }
  if (is_same) return input;
  Tensor all = zeros(shape, input.dtype(), input.device());
  Tensor source = input, target = all;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const auto [size, offset, step] = spreads[dim];
    const std::int64_t first = offset < 0 ? (-offset + step - 1) / step : 0;
    const std::int64_t end =
        size <= offset ? 0 : std::min(input.shape()[dim + 2], (size - 1 - offset) / step + 1);
    if (end <= first) return all;
    const auto place = static_cast<std::int64_t>(dim) + 2;
    source = narrow(source, place, first, end - first);
    target = slice(target, place, offset + first * step, offset + (end - 1) * step + 1, step);
  }
  copy_into(target, source);
  return all;
}

Tensor windows_of(const Tensor& input, IntList kernel, IntList windows, IntList stride,
                  IntList dilation) {
  Dims shape{input.shape()[0], input.shape()[1]};
  Dims strides{input.strides()[0], input.strides()[1]};
  for (std::size_t dim = 0; dim < kernel.size(); ++dim) {
    shape.push_back(kernel[dim]);
    strides.push_back(input.strides()[dim + 2] * of_dim(dilation, dim));
  }
  for (std::size_t dim = 0; dim < kernel.size(); ++dim) {
    shape.push_back(windows[dim]);
    strides.push_back(input.strides()[dim + 2] * of_dim(stride, dim));
  }
  return as_strided(input, shape, strides);
}

}  // namespace bp
