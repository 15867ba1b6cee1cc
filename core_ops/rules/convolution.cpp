// Convolutions: channels fit groups, kernels fit the padded input. Lists of one element hold for all
// dimensions and stay as they are.
#include "per_dim.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

// What both rows say of their windows.
struct WindowArguments {
  IntList stride, padding, dilation;
  std::int64_t groups;
};

void check_windows(const Call& call, const WindowArguments& windows, std::size_t rank) {
  check_per_dim(call, "stride", windows.stride, rank, 1);
  check_per_dim(call, "padding", windows.padding, rank, 0);
  check_per_dim(call, "dilation", windows.dilation, rank, 1);
  BP_CHECK(windows.groups >= 1 && windows.groups <= most_of_windows,
           "{}: {} groups; there must be at least 1 and at most 2^31", call.op.name(),
           windows.groups);
}

// The number of dimensions behind batch and channels.
std::size_t spatial_rank(const Call& call, IntList input, IntList weight) {
  BP_CHECK(input.size() >= 3 && input.size() <= 5,
           "{}: the input has shape {}; it needs a batch, channels and one to three dimensions",
           call.op.name(), bp::to_string(input));
  BP_CHECK(weight.size() == input.size(),
           "{}: the weight has shape {} and the input {}; both need the same rank", call.op.name(),
           bp::to_string(weight), bp::to_string(input));
  return input.size() - 2;
}

void check_dtypes(const Call& call, std::string_view what, const TensorImpl& first,
                  const TensorImpl& other) {
  BP_CHECK(dtype_of(first) == dtype_of(other), "{}: the input is {} and the {} is {}; cast one",
           call.op.name(), name(dtype_of(first)), what, name(dtype_of(other)));
}

// How many windows fit along one dimension.
std::int64_t num_windows(const Call& call, const WindowArguments& windows, std::size_t dim,
                         std::int64_t size, std::int64_t kernel) {
  BP_CHECK(kernel >= 1, "{}: the kernel has size {} in dimension {}; it must be at least 1",
           call.op.name(), kernel, dim);
  const std::int64_t padded = size + 2 * of_dim(windows.padding, dim);
  const std::int64_t reach = of_dim(windows.dilation, dim) * (kernel - 1) + 1;
  BP_CHECK(reach <= padded,
           "{}: the kernel reaches over {} elements and the padded input has {} in dimension {}; "
           "pad more, or take a smaller kernel",
           call.op.name(), reach, padded, dim);
  return (padded - reach) / of_dim(windows.stride, dim) + 1;
}

// The size that a convolution with these windows makes `size` of.
std::int64_t size_before(const Call& call, const WindowArguments& windows, IntList output_padding,
                         std::size_t dim, std::int64_t size, std::int64_t kernel) {
  const std::int64_t stride = of_dim(windows.stride, dim), dilation = of_dim(windows.dilation, dim);
  const std::int64_t extra = of_dim(output_padding, dim);
  BP_CHECK(kernel >= 1, "{}: the kernel has size {} in dimension {}; it must be at least 1",
           call.op.name(), kernel, dim);
  BP_CHECK(extra < stride || extra < dilation,
           "{}: output_padding is {} in dimension {}, where stride is {} and dilation {}; it must "
           "be below one of them",
           call.op.name(), extra, dim, stride, dilation);
  BP_CHECK(size <= most_of_windows,
           "{}: the input has {} elements in dimension {}; transposed convolutions take 2^31",
           call.op.name(), size, dim);
  const std::int64_t result =
      (size - 1) * stride - 2 * of_dim(windows.padding, dim) + dilation * (kernel - 1) + extra + 1;
  BP_CHECK(result >= 1,
           "{}: the result would have size {} in dimension {} for an input of {} and padding {}; "
           "pad less",
           call.op.name(), result, dim, size, of_dim(windows.padding, dim));
  return result;
}

void check_channels(const Call& call, IntList input, IntList weight, std::int64_t groups) {
  BP_CHECK(input[1] == weight[1] * groups,
           "{}: the input has {} channels and the weight, of shape {}, takes {} in {} groups; make "
           "them equal",
           call.op.name(), input[1], bp::to_string(weight), weight[1] * groups, groups);
  BP_CHECK(weight[0] % groups == 0,
           "{}: the weight has {} kernels for {} groups; make it a multiple", call.op.name(),
           weight[0], groups);
}

void check_transposed_channels(const Call& call, IntList input, IntList weight,
                               std::int64_t groups) {
  BP_CHECK(input[1] == weight[0],
           "{}: the input has {} channels and the weight, of shape {}, takes {}; make them equal",
           call.op.name(), input[1], bp::to_string(weight), weight[0]);
  BP_CHECK(weight[0] % groups == 0,
           "{}: the input has {} channels for {} groups; make it a multiple", call.op.name(),
           weight[0], groups);
}

void check_bias(const Call& call, const TensorImpl& input, std::int64_t channels) {
  const TensorImpl& bias = impl_arg(call, 2);
  check_dtypes(call, "bias", input, bias);
  BP_CHECK(shape_of(bias) == IntList({channels}),
           "{}: the bias has shape {} and the result {} channels; give it one element for each",
           call.op.name(), bp::to_string(shape_of(bias)), channels);
}

// A sum of nothing is 0.
void fill_if_empty(Inferred& out, const TensorImpl& input, const TensorImpl& other) {
  out.fills = input.abi.numel == 0 || other.abi.numel == 0;
  out.fill_value = 0;
}

}  // namespace

void convolution(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const TensorImpl& weight = impl_arg(call, 1);
  const WindowArguments windows{list_arg(call, 3), list_arg(call, 4), list_arg(call, 5),
                                int_arg(call, 8)};
  const bool transposed = bool_arg(call, 6);
  const IntList output_padding = list_arg(call, 7);
  const IntList size = shape_of(input), kernel = shape_of(weight);
  const std::size_t rank = spatial_rank(call, size, kernel);
  check_dtype(call.op, dtype_of(input));
  check_dtypes(call, "weight", input, weight);
  check_windows(call, windows, rank);
  if (transposed) {
    check_per_dim(call, "output_padding", output_padding, rank, 0);
    check_transposed_channels(call, size, kernel, windows.groups);
  } else {
    check_channels(call, size, kernel, windows.groups);
  }
  const std::int64_t channels = transposed ? kernel[1] * windows.groups : kernel[0];
  Dims& shape = out.outputs[0].shape;
  shape = {size[0], channels};
  for (std::size_t dim = 0; dim < rank; ++dim)
    shape.push_back(
        transposed ? size_before(call, windows, output_padding, dim, size[dim + 2], kernel[dim + 2])
                   : num_windows(call, windows, dim, size[dim + 2], kernel[dim + 2]));
  checked_numel(call.op.name(), shape);
  const bool has_bias = !is_none(call, 2);
  if (has_bias) check_bias(call, input, channels);
  out.compute_dtype = out.outputs[0].dtype = dtype_of(input);
  if (!has_bias) fill_if_empty(out, input, weight);
}

void convolution_backward_weight(const Call& call, Inferred& out) {
  const TensorImpl& grad = impl_arg(call, 0);
  const TensorImpl& input = impl_arg(call, 1);
  const IntList weight = list_arg(call, 2);
  const WindowArguments windows{list_arg(call, 3), list_arg(call, 4), list_arg(call, 5),
                                int_arg(call, 6)};
  const IntList size = shape_of(input);
  const std::size_t rank = spatial_rank(call, size, weight);
  check_dtype(call.op, dtype_of(input));
  check_dtypes(call, "gradient", input, grad);
  check_windows(call, windows, rank);
  check_channels(call, size, weight, windows.groups);
  Dims expected{size[0], weight[0]};
  for (std::size_t dim = 0; dim < rank; ++dim)
    expected.push_back(num_windows(call, windows, dim, size[dim + 2], weight[dim + 2]));
  BP_CHECK(shape_of(grad) == expected,
           "{}: the gradient has shape {} and the convolution's result {}; they must be equal",
           call.op.name(), bp::to_string(shape_of(grad)), bp::to_string(expected));
  out.compute_dtype = out.outputs[0].dtype = dtype_of(input);
  out.outputs[0].shape = weight;
  checked_numel(call.op.name(), weight);
  fill_if_empty(out, grad, input);
}

}  // namespace bp::rules
