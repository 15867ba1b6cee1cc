// Convolutions by packed weights, whose pictures have their channels last.
#include <backplane/core_ops/creation.hpp>

#include "decompositions/convolution.hpp"

namespace bp {
namespace {

constexpr std::int64_t panel_width = 32;

// Groups of one channel and one result, whose panels would hold little but zeros.
bool is_depthwise(IntList size, std::int64_t groups) {
  return groups > 1 && size[1] == 1 && size[0] == groups;
}

std::int64_t panels_for(std::int64_t results) {
  return (results + panel_width - 1) / panel_width;
}

Tensor unpacked(const Tensor& weight, IntList size, std::int64_t groups) {
  if (is_depthwise(size, groups)) return reshape(permute(weight, {2, 0, 1}), size);
  const std::int64_t each = size[0] / groups;
  const Tensor lines = reshape(permute(weight, {0, 1, 5, 4, 2, 3}),
                               {groups, panels_for(each) * panel_width, size[1], size[2], size[3]});
  return reshape(narrow(lines, 1, 0, each), size);
}

}  // namespace

Tensor weight_in_panels(const Tensor& weight, std::int64_t groups) {
  const IntList size = weight.shape();
  BP_CHECK(
      size.size() == 4,
      "pack_convolution: the weight has shape {}; it needs results, channels, height and width",
      bp::to_string(size));
  BP_CHECK(groups >= 1 && size[0] % groups == 0,
           "pack_convolution: the weight has {} kernels for {} groups; make it a multiple", size[0],
           groups);
  if (is_depthwise(size, groups))
    return contiguous(permute(reshape(weight, {size[0], size[2], size[3]}), {1, 2, 0}));
  const std::int64_t each = size[0] / groups, panels = panels_for(each);
  const Tensor wide = constant_pad_nd(reshape(weight, {groups, each, size[1], size[2], size[3]}),
                                      {0, 0, 0, 0, 0, 0, 0, panels * panel_width - each}, 0);
  return contiguous(permute(reshape(wide, {groups, panels, panel_width, size[1], size[2], size[3]}),
                            {0, 1, 4, 5, 3, 2}));
}

Tensor convolution_of_packed(const Tensor& input, const Tensor& weight, const Tensor& bias,
                             const Tensor& other, IntList weight_size, IntList stride,
                             IntList padding, IntList dilation, std::int64_t groups,
                             std::optional<double> min, std::optional<double> max) {
  Tensor pictures = permute(input, {0, 3, 1, 2});
  Dims around{padding[0], padding[1]};
  if (padding[0] != padding[2] || padding[1] != padding[3]) {
    pictures = constant_pad_nd(pictures, {padding[1], padding[3], padding[0], padding[2]}, 0);
    around = {0, 0};
  }
  Tensor result = permute(convolution(pictures, unpacked(weight, weight_size, groups), bias, stride,
                                      around, dilation, false, {0}, groups),
                          {0, 2, 3, 1});
  if (other.defined()) result = add(result, other);
  if (min) result = clamp_min(result, *min);
  return max ? clamp_max(result, *max) : result;
}

}  // namespace bp
