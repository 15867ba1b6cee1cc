#include "rules/convolution.hpp"

#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {
namespace {

std::int64_t of_dim(IntList list, std::size_t dim) {
  return list[list.size() == 1 ? 0 : dim];
}

// The size that windows over `small` places reach over, at least.
std::int64_t reach_of(std::int64_t small, std::int64_t kernel, IntList stride, IntList padding,
                      IntList dilation, std::size_t dim) {
  return (small - 1) * of_dim(stride, dim) + of_dim(dilation, dim) * (kernel - 1) + 1 -
         2 * of_dim(padding, dim);
}

// How many windows of this size lie over `large`. A transposed convolution with output_padding makes room
// for more than it had.
Dims windows_over(IntList large, IntList small, IntList weight, IntList stride, IntList padding,
                  IntList dilation) {
  Dims windows(small);
  for (std::size_t dim = 2; dim < small.size(); ++dim) {
    const std::int64_t reach =
        reach_of(small[dim], weight[dim], stride, padding, dilation, dim - 2);
    windows[dim] += (large[dim] - reach) / of_dim(stride, dim - 2);
  }
  return windows;
}

// The first elements of each dimension.
Tensor cut_to(Tensor input, IntList shape) {
  for (std::size_t dim = 2; dim < shape.size(); ++dim)
    if (input.shape()[dim] != shape[dim])
      input = narrow(input, static_cast<std::int64_t>(dim), 0, shape[dim]);
  return input;
}

// With zeros behind.
Tensor filled_to(Tensor input, IntList shape) {
  for (std::size_t dim = 2; dim < shape.size(); ++dim) {
    if (input.shape()[dim] == shape[dim]) continue;
    Dims rest(input.shape());
    rest[dim] = shape[dim] - rest[dim];
    input =
        cat({input, zeros(rest, input.dtype(), input.device())}, static_cast<std::int64_t>(dim));
  }
  return input;
}

}  // namespace

Tensor input_gradient_of_convolution(const Tensor& gradient, const Tensor& weight, IntList shape,
                                     IntList stride, IntList padding, IntList dilation,
                                     bool transposed, std::int64_t groups) {
  if (transposed)
    return cut_to(convolution(gradient, weight, {}, stride, padding, dilation, false, {0}, groups),
                  shape);
  // What the last windows left over.
  Dims output_padding;
  for (std::size_t dim = 0; dim + 2 < shape.size(); ++dim)
    output_padding.push_back(shape[dim + 2] - reach_of(gradient.shape()[dim + 2],
                                                       weight.shape()[dim + 2], stride, padding,
                                                       dilation, dim));
  return convolution(gradient, weight, {}, stride, padding, dilation, true, output_padding, groups);
}

Tensor weight_gradient_of_convolution(const Tensor& gradient, const Tensor& input,
                                      IntList weight_shape, IntList stride, IntList padding,
                                      IntList dilation, bool transposed, std::int64_t groups) {
  if (!transposed)
    return convolution_backward_weight(gradient, input, weight_shape, stride, padding, dilation,
                                       groups);
  const Dims windows =
      windows_over(gradient.shape(), input.shape(), weight_shape, stride, padding, dilation);
  return convolution_backward_weight(filled_to(input, windows), gradient, weight_shape, stride,
                                     padding, dilation, groups);
}

Tensor sum_to_channels(const Tensor& gradient) {
  Dims dims{0};
  for (std::int64_t dim = 2; dim < gradient.ndim(); ++dim) dims.push_back(dim);
  return sum(gradient, dims);
}

}  // namespace bp::autograd
