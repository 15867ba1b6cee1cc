// The gradients of convolutions, which are convolutions.
#pragma once

#include <backplane/core_ops/creation.hpp>

namespace bp::autograd {

// By the input, of this shape: a convolution in the other direction.
Tensor input_gradient_of_convolution(const Tensor& gradient, const Tensor& weight, IntList shape,
                                     IntList stride, IntList padding, IntList dilation,
                                     bool transposed, std::int64_t groups);
Tensor weight_gradient_of_convolution(const Tensor& gradient, const Tensor& input,
                                      IntList weight_shape, IntList stride, IntList padding,
                                      IntList dilation, bool transposed, std::int64_t groups);
// Over batch and places: what a bias of each channel gets.
Tensor sum_to_channels(const Tensor& gradient);

}  // namespace bp::autograd
