// Convolutions by packed weights: [batch, height, width, channels] becomes [batch, height, width, to].
#include "per_dim.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

constexpr std::int64_t panel_width = 32;

Dims packed_shape(IntList size, std::int64_t groups) {
  if (groups > 1 && size[1] == 1 && size[0] == groups) return {size[2], size[3], size[0]};
  return {groups,     (size[0] / groups + panel_width - 1) / panel_width, size[2], size[3], size[1],
          panel_width};
}

void check_same(const Call& call, std::uint32_t place, IntList shape) {
  if (is_none(call, place)) return;
  const TensorImpl& tensor = impl_arg(call, place);
  const auto& what = call.op.schema->arguments[place].name;
  const Dtype dtype = dtype_of(impl_arg(call, 0));
  BP_CHECK(dtype_of(tensor) == dtype, "{}: the input is {} and {} is {}; cast one", call.op.name(),
           name(dtype), what, name(dtype_of(tensor)));
  BP_CHECK(shape_of(tensor) == shape, "{}: {} has shape {}; it must be {}", call.op.name(), what,
           bp::to_string(shape_of(tensor)), bp::to_string(shape));
}

// `size` is the weight's before it was packed.
void check_weight(const Call& call, IntList input, IntList size, std::int64_t groups) {
  BP_CHECK(input.size() == 4,
           "{}: the input has shape {}; it needs a batch, height, width and channels",
           call.op.name(), bp::to_string(input));
  BP_CHECK(size.size() == 4, "{}: weight_size is {}; it needs results, channels, height and width",
           call.op.name(), bp::to_string(size));
  for (const std::int64_t each : size)
    BP_CHECK(each >= 0 && each <= most_of_windows, "{}: weight_size is {}; sizes are 0 to 2^31",
             call.op.name(), bp::to_string(size));
  BP_CHECK(groups >= 1 && groups <= most_of_windows && size[0] % groups == 0,
           "{}: {} kernels in {} groups; make them a multiple", call.op.name(), size[0], groups);
  BP_CHECK(input[3] == size[1] * groups,
           "{}: the input has {} channels and the weight, of size {}, takes {} in {} groups; make "
           "them equal",
           call.op.name(), input[3], bp::to_string(size), size[1] * groups, groups);
  check_same(call, 1, packed_shape(size, groups));
}

}  // namespace

void packed_convolution(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const IntList size = list_arg(call, 4), stride = list_arg(call, 5), padding = list_arg(call, 6),
                dilation = list_arg(call, 7);
  check_dtype(call.op, dtype_of(input));
  check_weight(call, shape_of(input), size, int_arg(call, 8));
  check_per_dim(call, "stride", stride, 2, 1);
  check_per_dim(call, "padding", padding, 4, 0);
  check_per_dim(call, "dilation", dilation, 2, 1);
  BP_CHECK(padding.size() == 4, "{}: padding is {}; pass that above, left, below and right",
           call.op.name(), bp::to_string(padding));
  Dims& shape = out.outputs[0].shape;
  shape = {input.shape[0]};
  for (std::size_t dim = 0; dim < 2; ++dim) {
    const std::int64_t kernel = size[dim + 2],
                       padded = input.shape[dim + 1] + padding[dim] + padding[dim + 2];
    const std::int64_t reach = of_dim(dilation, dim) * (kernel - 1) + 1;
    BP_CHECK(kernel >= 1 && reach <= padded,
             "{}: the kernel reaches over {} elements and the padded input has {} in dimension {}; "
             "pad more, or take a smaller kernel",
             call.op.name(), reach, padded, dim);
    shape.push_back((padded - reach) / of_dim(stride, dim) + 1);
  }
  shape.push_back(size[0]);
  checked_numel(call.op.name(), shape);
  check_same(call, 2, {size[0]});
  check_same(call, 3, shape);
  out.compute_dtype = out.outputs[0].dtype = dtype_of(input);
  out.decomposes = input.abi.numel == 0 || impl_arg(call, 1).abi.numel == 0;
}

}  // namespace bp::rules
