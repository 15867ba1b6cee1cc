// X. Zhu et al., "Deformable ConvNets v2", CVPR 2019: the elements of each window are taken at offsets from their places.
#include <array>

#include <backplane/tensor/check.hpp>

#include "decompositions/detection.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

struct DeformedWindows {
  std::int64_t batch, channels, groups;              // groups of channels with offsets of their own
  std::array<std::int64_t, 2> image, kernel, count;  // elements, a window's, windows
  std::array<std::int64_t, 2> stride, padding, dilation;

  std::int64_t elements() const { return kernel[0] * kernel[1]; }
  std::int64_t windows() const { return count[0] * count[1]; }
};

std::array<std::int64_t, 2> both_of(const char* name, IntList values, std::int64_t least) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  BP_CHECK((values.size() == 1 || values.size() == 2) && values[0] >= least && values[0] <= most &&
               values[values.size() - 1] >= least && values[values.size() - 1] <= most,
           "deform_conv2d: {} is {}; pass one or two numbers from {} to {}", name,
           to_string(values), least, most);
  return {values[0], values[values.size() - 1]};
}

void check_dtypes_of_windows(const Tensor& input, std::initializer_list<const Tensor*> others) {
  for (const Tensor* other : others)
    BP_CHECK(!other->defined() || other->dtype() == input.dtype(),
             "deform_conv2d: input is {} and another tensor {}; cast one of them",
             name(input.dtype()), name(other->dtype()));
}

DeformedWindows deformed_windows(const Tensor& input, const Tensor& offset, const Tensor& weight,
                                 IntList stride, IntList padding, IntList dilation) {
  BP_CHECK(input.ndim() == 4 && weight.ndim() == 4 && offset.ndim() == 4,
           "deform_conv2d: input has shape {}, weight {} and offset {}; all need four dimensions",
           to_string(input.shape()), to_string(weight.shape()), to_string(offset.shape()));
  BP_CHECK(weight.numel() > 0 && input.size(1) > 0 && input.size(1) % weight.size(1) == 0 &&
               weight.size(0) % (input.size(1) / weight.size(1)) == 0,
           "deform_conv2d: weight has shape {} and input {}; groups of weight's channels need to "
           "divide those of the input and of the result",
           to_string(weight.shape()), to_string(input.shape()));
  DeformedWindows all{input.size(0),
                      input.size(1),
                      offset.size(1) / (2 * weight.size(2) * weight.size(3)),
                      {input.size(2), input.size(3)},
                      {weight.size(2), weight.size(3)},
                      {},
                      both_of("stride", stride, 1),
                      both_of("padding", padding, 0),
                      both_of("dilation", dilation, 1)};
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t reach = all.dilation[d] * (all.kernel[d] - 1) + 1;
    const std::int64_t padded = all.image[d] + 2 * all.padding[d];
    BP_CHECK(all.image[d] > 0 && reach <= padded,
             "deform_conv2d: a window reaches over {} elements of {}, padding counted; make it "
             "smaller",
             reach, padded);
    all.count[d] = (padded - reach) / all.stride[d] + 1;
  }
  const Dims expected{all.batch, 2 * all.groups * all.elements(), all.count[0], all.count[1]};
  BP_CHECK(
      all.groups > 0 && all.channels % all.groups == 0 && offset.shape() == IntList(expected),
      "deform_conv2d: offset has shape {}; windows of {} elements at {} by {} places need [{}, "
      "2 * groups * {}, {}, {}], with groups that divide {} channels",
      to_string(offset.shape()), all.elements(), all.count[0], all.count[1], all.batch,
      all.elements(), all.count[0], all.count[1], all.channels);
  return all;
}

// [N * groups, elements * windows]: where the elements of windows are taken, down (0) or across (1).
Tensor deformed_places(const DeformedWindows& all, const Tensor& offset, std::size_t d) {
  const auto steps = [&](std::int64_t count, std::int64_t step, std::int64_t first) {
    const Tensor number = mul(arange(0, count, 1, i64, offset.device()), step);
    return in_dtype(add(number, first), offset.dtype());
  };
  Dims in_kernel{1, 1, 1, 1}, in_image{1, 1, 1, 1};
  in_kernel[d] = all.kernel[d];
  in_image[d + 2] = all.count[d];
  const Tensor place = add(reshape(steps(all.kernel[d], all.dilation[d], 0), in_kernel),
                           reshape(steps(all.count[d], all.stride[d], -all.padding[d]), in_image));
  const Tensor moved = select(
      reshape(offset, {all.batch * all.groups, all.elements(), 2, all.count[0], all.count[1]}), 2,
      static_cast<std::int64_t>(d));
  const Dims windows{all.kernel[0], all.kernel[1], all.count[0], all.count[1]};
  const Dims lines{all.batch * all.groups, all.elements() * all.windows()};
  return add(reshape(moved, lines), reshape(expand(place, windows), {1, lines[1]}));
}

// [N * groups, channels of a group, elements * windows], by the distances from the four around; zeros outside.
Tensor taken_between(const DeformedWindows& all, const Tensor& input, const Tensor& down,
                     const Tensor& across) {
  const std::int64_t lines = all.batch * all.groups, height = all.image[0], width = all.image[1];
  const Tensor images = reshape(input, {lines, all.channels / all.groups, height * width});
  const Dims shape{lines, images.size(1), down.size(1)};
  const Tensor top = floor(down), left = floor(across);
  const auto inside = [](const Tensor& place, std::int64_t size) {
    return logical_and(ge(place, 0), le(place, size - 1));
  };
  Tensor total;
  for (const int corner : {0, 1, 2, 3}) {
    const bool is_bottom = corner / 2 != 0, is_right = corner % 2 != 0;
    const Tensor row = is_bottom ? add(top, 1) : top, column = is_right ? add(left, 1) : left;
    const Tensor is_inside = logical_and(inside(row, height), inside(column, width));
    const Tensor number = add(mul(cast(where(is_inside, row, 0), i64), width),
                              cast(where(is_inside, column, 0), i64));
    const Tensor weight = mul(sub(1, abs(sub(down, row))), sub(1, abs(sub(across, column))));
    const Tensor taken = gather(images, 2, expand(unsqueeze(number, 1), shape));
    const Tensor term = where(unsqueeze(is_inside, 1), mul(taken, unsqueeze(weight, 1)), 0);
    total = total.defined() ? add(total, term) : term;
  }
  return total;
}

}  // namespace

Tensor convolved_at_offsets(const Tensor& input, const Tensor& offset, const Tensor& weight,
                            const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                            const Tensor& mask) {
  check_dtypes_of_windows(input, {&offset, &weight, &bias, &mask});
  const DeformedWindows all = deformed_windows(input, offset, weight, stride, padding, dilation);
  const Tensor moved = widened(offset);
  Tensor taken = taken_between(all, widened(input), deformed_places(all, moved, 0),
                               deformed_places(all, moved, 1));
  if (mask.defined()) {
    const Dims expected{all.batch, all.groups * all.elements(), all.count[0], all.count[1]};
    BP_CHECK(mask.shape() == IntList(expected), "deform_conv2d: mask has shape {}; pass {}",
             to_string(mask.shape()), to_string(expected));
    taken = mul(
        taken, reshape(widened(mask), {all.batch * all.groups, 1, all.elements() * all.windows()}));
  }
  const std::int64_t parts = all.channels / weight.size(1), results = weight.size(0);
  const std::int64_t line = weight.size(1) * all.elements();
  const Tensor columns = reshape(taken, {all.batch, parts, line, all.windows()});
  const Tensor factors = reshape(widened(weight), {1, parts, results / parts, line});
  Tensor result =
      reshape(matmul(factors, columns), {all.batch, results, all.count[0], all.count[1]});
  if (bias.defined()) {
    BP_CHECK(bias.ndim() == 1 && bias.numel() == results,
             "deform_conv2d: bias has shape {}; {} channels need one for each",
             to_string(bias.shape()), results);
    result = add(result, reshape(widened(bias), {1, results, 1, 1}));
  }
  return in_dtype(result, input.dtype());
}

}  // namespace bp
