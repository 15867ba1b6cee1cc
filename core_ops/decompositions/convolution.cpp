#include "decompositions/convolution.hpp"

#include <backplane/core_ops/creation.hpp>

#include "decompositions/windows.hpp"

namespace bp {
namespace {

Tensor padded(const Tensor& input, IntList padding) {
  Spread spreads[3];
  for (std::size_t dim = 0; dim + 2 < input.shape().size(); ++dim)
    spreads[dim] = {input.shape()[dim + 2] + 2 * of_dim(padding, dim), of_dim(padding, dim), 1};
  return spread_out(input, spreads);
}

// Of an input that is padded already, with kernels [groups, to / groups, channels / groups * kernel].
Tensor convolved(const Tensor& input, const Tensor& kernels, IntList kernel, IntList stride,
                 IntList dilation) {
  const std::int64_t batch = input.shape()[0], groups = kernels.shape()[0];
  Dims shape{batch, groups * kernels.shape()[1]};
  for (std::size_t dim = 0; dim < kernel.size(); ++dim) {
    const std::int64_t reach = of_dim(dilation, dim) * (kernel[dim] - 1) + 1;
    shape.push_back((input.shape()[dim + 2] - reach) / of_dim(stride, dim) + 1);
  }
  const IntList windows = behind(shape, 2);
  const Tensor columns = reshape(windows_of(input, kernel, windows, stride, dilation),
                                 {batch, groups, kernels.shape()[2], product_of(windows)});
  return reshape(matmul(kernels, columns), shape);
}

Tensor convolved_forwards(const Tensor& input, const Tensor& weight, IntList stride,
                          IntList padding, IntList dilation, std::int64_t groups) {
  const IntList kernel = behind(weight.shape(), 2);
  const std::int64_t each = weight.shape()[1] * product_of(kernel);
  const Tensor kernels = reshape(weight, {groups, weight.shape()[0] / groups, each});
  return convolved(padded(input, padding), kernels, kernel, stride, dilation);
}

Tensor convolved_backwards(const Tensor& input, const Tensor& weight, IntList stride,
                           IntList padding, IntList dilation, IntList output_padding,
                           std::int64_t groups) {
  const IntList kernel = behind(weight.shape(), 2);
  Spread spreads[3];
  for (std::size_t dim = 0; dim < kernel.size(); ++dim) {
    const std::int64_t reach = of_dim(dilation, dim) * (kernel[dim] - 1);
    const std::int64_t stretched = (input.shape()[dim + 2] - 1) * of_dim(stride, dim) + 1;
    spreads[dim] = {stretched + 2 * (reach - of_dim(padding, dim)) + of_dim(output_padding, dim),
                    reach - of_dim(padding, dim), of_dim(stride, dim)};
  }
  const std::int64_t from = weight.shape()[0] / groups, to = weight.shape()[1];
  const std::int64_t places = product_of(kernel);
  Tensor kernels = transpose(reshape(weight, {groups, from, to, places}), 1, 2);
  if (places > 1)
    kernels = index_select(kernels, 3, arange(places - 1, -1, -1, Dtype::i64, input.device()));
  return convolved(spread_out(input, spreads), reshape(kernels, {groups, to, from * places}),
                   kernel, {1}, dilation);
}

}  // namespace

Tensor convolution_by_windows(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              IntList stride, IntList padding, IntList dilation, bool transposed,
                              IntList output_padding, std::int64_t groups) {
  // What would be rounded twice, by the product and by a sum, is rounded once.
  const bool sums_after = bias.defined() || transposed;
  if (sums_after && (input.dtype() == f16 || input.dtype() == bf16)) {
    const Tensor wide_bias = bias.defined() ? cast(bias, f32) : bias;
    return cast(convolution(cast(input, f32), cast(weight, f32), wide_bias, stride, padding,
                            dilation, transposed, output_padding, groups),
                input.dtype());
  }
  Tensor result = transposed ? convolved_backwards(input, weight, stride, padding, dilation,
                                                   output_padding, groups)
                             : convolved_forwards(input, weight, stride, padding, dilation, groups);
  if (!bias.defined()) return result;
  Dims channels(static_cast<std::uint32_t>(input.shape().size()) - 1, 1);
  channels[0] = bias.numel();
  return add(result, reshape(bias, channels));
}

// One product per group: the batch is a part of the sum.
Tensor convolution_weight_by_windows(const Tensor& grad_output, const Tensor& input,
                                     IntList weight_size, IntList stride, IntList padding,
                                     IntList dilation, std::int64_t groups) {
  const IntList kernel = behind(weight_size, 2), windows = behind(grad_output.shape(), 2);
  const std::int64_t batch = input.shape()[0], count = product_of(windows);
  const std::int64_t to = weight_size[0] / groups, each = weight_size[1] * product_of(kernel);
  Dims order{1};
  const auto last = static_cast<std::int64_t>(2 + 2 * kernel.size());
  for (std::int64_t dim = 2; dim < last; ++dim) {
    if (dim == 2 + static_cast<std::int64_t>(kernel.size())) order.push_back(0);
    order.push_back(dim);
  }
  const Tensor shown = windows_of(padded(input, padding), kernel, windows, stride, dilation);
  const Tensor columns = reshape(permute(shown, order), {groups, each, batch * count});
  const Tensor gradients =
      reshape(permute(reshape(grad_output, {batch, groups, to, count}), {1, 2, 0, 3}),
              {groups, to, batch * count});
  return reshape(bmm(gradients, transpose(columns, 1, 2)), weight_size);
}

Tensor conv_over(std::int64_t rank, const char* name, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                 std::int64_t groups) {
  return with_batch(rank, name, input, [&](const Tensor& batch) {
    return convolution(batch, weight, bias, stride, padding, dilation, false, {0}, groups);
  });
}

Tensor conv_transpose_over(std::int64_t rank, const char* name, const Tensor& input,
                           const Tensor& weight, const Tensor& bias, IntList stride,
                           IntList padding, IntList output_padding, std::int64_t groups,
                           IntList dilation) {
  return with_batch(rank, name, input, [&](const Tensor& batch) {
    return convolution(batch, weight, bias, stride, padding, dilation, true, output_padding,
                       groups);
  });
}

}  // namespace bp
