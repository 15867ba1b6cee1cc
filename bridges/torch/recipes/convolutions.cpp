// Derivatives of convolutions and of pooling.
#include <algorithm>

#include "recipes/helpers.hpp"

namespace bp::bridge {
namespace {

// What a transposed convolution adds at the end, so that its result has the input's sizes.
std::vector<std::int64_t> end_padding(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                      const Window& window) {
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < window.stride.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const std::int64_t reach = (grad.size(dim) - 1) * window.stride[i] - 2 * window.padding[i] +
                               window.dilation[i] * (weight.size(dim) - 1) + 1;
    ends.push_back(input.size(dim) - reach);
  }
  return ends;
}

// The last dimensions as one.
Tensor joined(const Tensor& tensor, int num_dims) {
  std::vector<std::int64_t> shape = tensor.shape().to_vector();
  shape.resize(shape.size() - static_cast<std::size_t>(num_dims));
  std::int64_t area = 1;
  for (const std::int64_t size : last_sizes(tensor, static_cast<std::size_t>(num_dims)))
    area *= size;
  shape.push_back(area);
  return reshape(tensor, shape);
}

}  // namespace

Triple convolution_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                             const Window& window, bool transposed, IntList mask) {
  const auto& [stride, padding, dilation, groups] = window;
  const std::vector<std::int64_t> none(stride.size(), 0);
  Triple result;
  if (mask[0] != 0)
    result[0] = transposed ? convolution(grad, conj(weight), {}, stride, padding, dilation, false,
                                         none, groups)
                           : convolution(grad, conj(weight), {}, stride, padding, dilation, true,
                                         end_padding(grad, input, weight, window), groups);
  if (mask[1] != 0)
    result[1] = transposed ? convolution_backward_weight(conj(input), grad, weight.shape(), stride,
                                                         padding, dilation, groups)
                           : convolution_backward_weight(grad, conj(input), weight.shape(), stride,
                                                         padding, dilation, groups);
  if (mask[2] != 0) {
    std::vector<std::int64_t> dims{0};
    for (std::int64_t dim = 2; dim < grad.ndim(); ++dim) dims.push_back(dim);
    result[2] = sum(grad, dims);
  }
  return result;
}

Tensor put_back(const Tensor& grad, const Tensor& input, const Tensor& indices, int num_dims) {
  const Tensor nothing = joined(zeros(input.shape(), grad.dtype(), grad.device()), num_dims);
  const Tensor sums = scatter_add(nothing, -1, joined(indices, num_dims), joined(grad, num_dims));
  return reshape(sums, input.shape());
}

Tensor unpooled(const Tensor& input, const Tensor& indices, IntList size) {
  const int num_dims = static_cast<int>(size.size());
  std::vector<std::int64_t> shape = input.shape().to_vector();
  std::copy(size.begin(), size.end(), shape.end() - num_dims);
  const Tensor nothing = joined(zeros(shape, input.dtype(), input.device()), num_dims);
  return reshape(scatter(nothing, -1, joined(indices, num_dims), joined(input, num_dims)), shape);
}

}  // namespace bp::bridge
