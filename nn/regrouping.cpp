#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/regrouping.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

void check_windows(const char* layer, const Sizes& kernel_size, const UnfoldOptions& options) {
  kernel_size.each(2, layer, "kernel_size", 1);
  options.dilation.each(2, layer, "dilation", 1);
  options.padding.each(2, layer, "padding", 0);
  options.stride.each(2, layer, "stride", 1);
}

}  // namespace

Tensor FlattenOptions::apply(const Tensor& x) const {
  return flatten(x, start_dim, end_dim);
}

std::string FlattenOptions::text() const {
  return fmt::format("start_dim={}, end_dim={}", start_dim, end_dim);
}

void UnflattenOptions::check() const {
  BP_CHECK(!unflattened_size.empty(),
           "Unflatten: unflattened_size is empty; pass at least one size");
}

Tensor UnflattenOptions::apply(const Tensor& x) const {
  return unflatten(x, dim, unflattened_size);
}

std::string UnflattenOptions::text() const {
  return fmt::format("dim={}, unflattened_size={}", dim, repr(IntList(unflattened_size)));
}

Unfold::Unfold(const Sizes& kernel_size, const UnfoldOptions& options)
    : kernel_size_(kernel_size), options_(options) {
  check_windows("Unfold", kernel_size, options);
}

Tensor Unfold::forward(const Tensor& x) const {
  BP_CHECK(x.ndim() == 3 || x.ndim() == 4,
           "Unfold: the input is {}; pass [N, C, H, W] or [C, H, W]", to_string(x.shape()));
  const Tensor columns =
      im2col(x.ndim() == 4 ? x : unsqueeze(x, 0), kernel_size_.list(), options_.dilation.list(),
             options_.padding.list(), options_.stride.list());
  return x.ndim() == 4 ? columns : squeeze(columns, 0);
}

std::string Unfold::extra_repr() const {
  return fmt::format("kernel_size={}, dilation={}, padding={}, stride={}", kernel_size_.text(),
                     options_.dilation.text(), options_.padding.text(), options_.stride.text());
}

Fold::Fold(const Sizes& output_size, const Sizes& kernel_size, const UnfoldOptions& options)
    : output_size_(output_size), kernel_size_(kernel_size), options_(options) {
  output_size.each(2, "Fold", "output_size", 1);
  check_windows("Fold", kernel_size, options);
}

Tensor Fold::forward(const Tensor& x) const {
  BP_CHECK(x.ndim() == 2 || x.ndim() == 3,
           "Fold: the input is {}; pass [N, channels * elements, windows], or no N",
           to_string(x.shape()));
  const Tensor image =
      col2im(x.ndim() == 3 ? x : unsqueeze(x, 0), output_size_.list(), kernel_size_.list(),
             options_.dilation.list(), options_.padding.list(), options_.stride.list());
  return x.ndim() == 3 ? image : squeeze(image, 0);
}

std::string Fold::extra_repr() const {
  return fmt::format("output_size={}, kernel_size={}, dilation={}, padding={}, stride={}",
                     output_size_.text(), kernel_size_.text(), options_.dilation.text(),
                     options_.padding.text(), options_.stride.text());
}

void PixelShuffleOptions::check() const {
  BP_CHECK(upscale_factor > 0, "PixelShuffle: upscale_factor is {}; pass 1 or more",
           upscale_factor);
}

Tensor PixelShuffleOptions::apply(const Tensor& x) const {
  return pixel_shuffle(x, upscale_factor);
}

std::string PixelShuffleOptions::text() const {
  return fmt::format("upscale_factor={}", upscale_factor);
}

void PixelUnshuffleOptions::check() const {
  BP_CHECK(downscale_factor > 0, "PixelUnshuffle: downscale_factor is {}; pass 1 or more",
           downscale_factor);
}

Tensor PixelUnshuffleOptions::apply(const Tensor& x) const {
  return pixel_unshuffle(x, downscale_factor);
}

std::string PixelUnshuffleOptions::text() const {
  return fmt::format("downscale_factor={}", downscale_factor);
}

void ChannelShuffleOptions::check() const {
  BP_CHECK(groups > 0, "ChannelShuffle: {} groups; pass 1 or more", groups);
}

Tensor ChannelShuffleOptions::apply(const Tensor& x) const {
  BP_CHECK(x.ndim() >= 3 && x.size(1) % groups == 0,
           "ChannelShuffle: the input is {}; pass [N, C, ...] with channels that are divisible "
           "into {} groups",
           to_string(x.shape()), groups);
  const Tensor grouped = unflatten(x, 1, {groups, x.size(1) / groups});
  return flatten(transpose(grouped, 1, 2), 1, 2);
}

std::string ChannelShuffleOptions::text() const {
  return fmt::format("groups={}", groups);
}

}  // namespace bp::nn
