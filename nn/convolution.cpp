#include <algorithm>

#include <backplane/nn/convolution.hpp>
#include <backplane/tensor/check.hpp>

#include "initial.hpp"

namespace bp::nn {
namespace {

void check_channels(const char* layer, std::int64_t in_channels, std::int64_t out_channels,
                    std::int64_t groups) {
  BP_CHECK(groups > 0, "{}: {} groups; pass 1 or more", layer, groups);
  BP_CHECK(in_channels % groups == 0,
           "{}: {} input channels are not divisible into {} groups; choose a divisor", layer,
           in_channels, groups);
  BP_CHECK(out_channels % groups == 0,
           "{}: {} output channels are not divisible into {} groups; choose a divisor", layer,
           out_channels, groups);
  BP_CHECK(in_channels >= 0 && out_channels >= 0,
           "{}: {} to {} channels; pass numbers of 0 or more", layer, in_channels, out_channels);
  check_size(layer, "in_channels", in_channels);
  check_size(layer, "out_channels", out_channels);
}

void check_words(const char* layer, const ConvOptions& options) {
  const std::string& word = options.padding.word();
  BP_CHECK(word.empty() || word == "same" || word == "valid",
           "{}: padding is '{}'; pass numbers, 'same' or 'valid'", layer, word);
  BP_CHECK(word != "same" || options.stride.all_are(1),
           "{}: padding 'same' with stride {}; use stride 1, or numbers as padding", layer,
           options.stride.text());
  const std::string& mode = options.padding_mode;
  BP_CHECK(mode == "zeros" || mode == "reflect" || mode == "replicate" || mode == "circular",
           "{}: padding_mode is '{}'; pass 'zeros', 'reflect', 'replicate' or 'circular'", layer,
           mode);
}

ConvPadding each_padding(const char* layer, std::size_t rank, const ConvPadding& padding) {
  if (!padding.word().empty()) return padding;
  return padding.each(rank, layer, "padding", 0).list();
}

}  // namespace

Convolution::Convolution(const char* layer, std::size_t rank, std::int64_t in_channels,
                         std::int64_t out_channels, const Sizes& kernel_size,
                         const ConvOptions& options)
    : layer_(layer) {
  check_channels(layer, in_channels, out_channels, options.groups);
  check_words(layer, options);
  made_ = {in_channels,
           out_channels,
           kernel_size.each(rank, layer, "kernel_size", 1),
           options.stride.each(rank, layer, "stride", 1),
           each_padding(layer, rank, options.padding),
           options.dilation.each(rank, layer, "dilation", 1),
           Sizes(0).each(rank, layer, "output_padding", 0),
           options.groups,
           options.padding_mode};
  begin(false, options.bias, options.dtype, options.device);
}

Convolution::Convolution(const char* layer, std::size_t rank, std::int64_t in_channels,
                         std::int64_t out_channels, const Sizes& kernel_size,
                         const ConvTransposeOptions& options)
    : layer_(layer) {
  check_channels(layer, in_channels, out_channels, options.groups);
  BP_CHECK(options.padding_mode == "zeros",
           "{}: padding_mode is '{}'; transposed convolutions take only 'zeros'", layer,
           options.padding_mode);
  made_ = {in_channels,
           out_channels,
           kernel_size.each(rank, layer, "kernel_size", 1),
           options.stride.each(rank, layer, "stride", 1),
           ConvPadding(options.padding.each(rank, layer, "padding", 0).list()),
           options.dilation.each(rank, layer, "dilation", 1),
           options.output_padding.each(rank, layer, "output_padding", 0),
           options.groups,
           options.padding_mode};
  begin(true, options.bias, options.dtype, options.device);
}

void Convolution::begin(bool transposed, bool has_bias, Dtype dtype, Device device) {
  std::vector<std::int64_t> shape = {made_.out_channels, made_.in_channels / made_.groups};
  if (transposed) shape = {made_.in_channels, made_.out_channels / made_.groups};
  const auto& kernel = made_.kernel_size.list();
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  double fan_in = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
  const struct {
    Dtype dtype;
    Device device;
  } options{dtype, device};
  weight = uniform_parameter(shape, bound_of(fan_in), options);
  if (has_bias) bias = uniform_parameter({made_.out_channels}, bound_of(fan_in), options);
}

void Convolution::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

std::string Convolution::extra_repr() const {
  std::string text = fmt::format("{}, {}, kernel_size={}, stride={}", made_.in_channels,
                                 made_.out_channels, made_.kernel_size.text(), made_.stride.text());
  const std::string& word = made_.padding.word();
  if (!word.empty())
    text += ", padding=" + word;
  else if (!made_.padding.all_are(0))
    text += ", padding=" + made_.padding.text();
  if (!made_.dilation.all_are(1)) text += ", dilation=" + made_.dilation.text();
  if (!made_.output_padding.all_are(0)) text += ", output_padding=" + made_.output_padding.text();
  if (made_.groups != 1) text += fmt::format(", groups={}", made_.groups);
  if (!bias.defined()) text += ", bias=False";
  if (made_.padding_mode != "zeros") text += ", padding_mode=" + made_.padding_mode;
  return text;
}

std::pair<Tensor, std::vector<std::int64_t>> Convolution::padded(const Tensor& input) const {
  const std::size_t rank = made_.kernel_size.list().size();
  std::vector<std::int64_t> before(rank), after(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t all = made_.padding.word() == "same"
                                 ? made_.dilation.list()[i] * (made_.kernel_size.list()[i] - 1)
                             : made_.padding.word() == "valid" ? 0
                                                               : 2 * made_.padding.list()[i];
    before[i] = all / 2;
    after[i] = all - before[i];
  }
  if (made_.padding_mode == "zeros" && before == after) return {input, before};
  std::vector<std::int64_t> sides;
  for (std::size_t i = rank; i-- > 0;) sides.insert(sides.end(), {before[i], after[i]});
  const char* mode = made_.padding_mode == "zeros" ? "constant" : made_.padding_mode.c_str();
  return {pad(input, sides, mode), std::vector<std::int64_t>(rank, 0)};
}

#define BP_NN_CONVOLUTION(Layer, rank, function)                                              \
  Layer::Layer(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size, \
               const ConvOptions& options)                                                    \
      : Convolution(#Layer, rank, in_channels, out_channels, kernel_size, options) {}         \
  Tensor Layer::forward(const Tensor& input) const {                                          \
    const auto [x, padding] = padded(input);                                                  \
    return function(x, weight, bias, made().stride.list(), padding, made().dilation.list(),   \
                    made().groups);                                                           \
  }
BP_NN_CONVOLUTION(Conv1d, 1, conv1d)
BP_NN_CONVOLUTION(Conv2d, 2, conv2d)
BP_NN_CONVOLUTION(Conv3d, 3, conv3d)
#undef BP_NN_CONVOLUTION

Tensor TransposedConvolution::forward(const Tensor& input, IntList output_size) const {
  using Operator = decltype(&conv_transpose1d);
  constexpr Operator operators[] = {&conv_transpose1d, &conv_transpose2d, &conv_transpose3d};
  return operators[made().kernel_size.list().size() - 1](
      input, weight, bias, made().stride.list(), made().padding.list(),
      output_padding_for(input, output_size), made().groups, made().dilation.list());
}

std::vector<std::int64_t> TransposedConvolution::output_padding_for(const Tensor& input,
                                                                    IntList output_size) const {
  BP_CHECK(weight.defined(),
           "{}: it has no weight; call nn::materialize(model, x) first if the layer is lazy",
           layer_name());
  if (output_size.empty()) return made().output_padding.list();
  const std::size_t rank = made().kernel_size.list().size();
  const auto input_rank = static_cast<std::size_t>(input.ndim());
  BP_CHECK(input_rank == rank + 1 || input_rank == rank + 2,
           "{}: the input is {}; pass {} dimensions, or {} without a batch", layer_name(),
           to_string(input.shape()), rank + 2, rank + 1);
  const std::size_t num_others = input_rank - rank;
  BP_CHECK(output_size.size() == rank || output_size.size() == rank + num_others,
           "{}: output_size is {}; pass {} numbers, or {}", layer_name(), to_string(output_size),
           rank, input_rank);
  const std::size_t skipped = output_size.size() - rank;
  std::vector<std::int64_t> added(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t stride = made().stride.list()[i], size = input.shape()[num_others + i];
    BP_CHECK(size <= most_of_each, "{}: the input is {}; pass at most {} elements in a dimension",
             layer_name(), to_string(input.shape()), most_of_each);
    const std::int64_t least = (size - 1) * stride - 2 * made().padding.list()[i] +
                               made().dilation.list()[i] * (made().kernel_size.list()[i] - 1) + 1;
    const std::int64_t wanted = output_size[skipped + i];
    BP_CHECK(wanted >= least && wanted < least + stride,
             "{}: output_size is {} for an input of {}; dimension {} can have {} to {}",
             layer_name(), to_string(output_size), to_string(input.shape()), i, least,
             least + stride - 1);
    added[i] = wanted - least;
  }
  return added;
}

#define BP_NN_TRANSPOSED(Layer, rank)                                                         \
  Layer::Layer(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size, \
               const ConvTransposeOptions& options)                                           \
      : TransposedConvolution(#Layer, rank, in_channels, out_channels, kernel_size, options) {}
BP_NN_TRANSPOSED(ConvTranspose1d, 1)
BP_NN_TRANSPOSED(ConvTranspose2d, 2)
BP_NN_TRANSPOSED(ConvTranspose3d, 3)
#undef BP_NN_TRANSPOSED

}  // namespace bp::nn
