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

// With the sizes of `shape` behind the first two dimensions: cut at the end, or filled with zeros there.
Tensor fitted(const Tensor& tensor, IntList shape) {
  std::vector<std::int64_t> pads;
  for (std::size_t dim = shape.size(); dim-- > 2;) {
    pads.push_back(0);
    pads.push_back(shape[dim] - tensor.size(static_cast<std::int64_t>(dim)));
  }
  const bool fits =
      std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
  return fits ? tensor : constant_pad_nd(tensor, pads);
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
  Triple result;
  if (transposed && (mask[0] != 0 || mask[1] != 0)) {
    // Where output_padding reaches a stride or more, it reaches behind the input: nothing comes of that.
    const std::vector<std::int64_t> none(stride.size(), 0);
    const Tensor whole =
        convolution(grad, conj(weight), {}, stride, padding, dilation, false, none, groups);
    if (mask[0] != 0) result[0] = fitted(whole, input.shape());
    if (mask[1] != 0)
      result[1] = convolution_backward_weight(fitted(conj(input), whole.shape()), grad,
                                              weight.shape(), stride, padding, dilation, groups);
  }
  if (!transposed && mask[0] != 0)
    result[0] = convolution(grad, conj(weight), {}, stride, padding, dilation, true,
                            end_padding(grad, input, weight, window), groups);
  if (!transposed && mask[1] != 0)
    result[1] = convolution_backward_weight(grad, conj(input), weight.shape(), stride, padding,
                                            dilation, groups);
  if (mask[2] != 0) {
    std::vector<std::int64_t> dims{0};
    for (std::int64_t dim = 2; dim < grad.ndim(); ++dim) dims.push_back(dim);
    result[2] = sum(grad, dims);
  }
  return result;
}

Pair adaptive_maxima(const Tensor& input, IntList output_size) {
  const bool has_batch = input.ndim() == static_cast<std::int64_t>(output_size.size()) + 2;
  const auto found =
      adaptive_max_pool_with_indices(has_batch ? input : unsqueeze(input, 0), output_size);
  if (has_batch) return {found.values, found.indices};
  return {squeeze(found.values, 0), squeeze(found.indices, 0)};
}

Tensor put_back(const Tensor& grad, const Tensor& input, const Tensor& indices, int num_dims) {
  if (input.ndim() == num_dims + 2) return max_pool_backward(grad, indices, input.shape());
  const Tensor batch = unsqueeze(input, 0);
  return squeeze(max_pool_backward(unsqueeze(grad, 0), unsqueeze(indices, 0), batch.shape()), 0);
}

Tensor unpooled(const Tensor& input, const Tensor& indices, IntList size) {
  const int num_dims = static_cast<int>(size.size());
  std::vector<std::int64_t> shape = input.shape().to_vector();
  std::copy(size.begin(), size.end(), shape.end() - num_dims);
  const Tensor nothing = joined(zeros(shape, input.dtype(), input.device()), num_dims);
  return reshape(scatter(nothing, -1, joined(indices, num_dims), joined(input, num_dims)), shape);
}

}  // namespace bp::bridge
