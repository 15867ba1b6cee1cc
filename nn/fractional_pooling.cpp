#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/pooling.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

// [N, C, count]: where windows of `kernel` elements begin in a dimension of `size`, by one random number for each channel.
Tensor window_starts(const Tensor& samples, std::int64_t size, std::int64_t count,
                     std::int64_t kernel) {
  const std::int64_t last = size - kernel;
  const Tensor at_end = full({1}, last, i64, samples.device());
  const Dims shape = {samples.size(0), samples.size(1), 1};
  if (count == 1) return expand(at_end, shape);
  const double step = static_cast<double>(last) / static_cast<double>(count - 1);
  const Tensor sample = unsqueeze(samples, -1);
  const Tensor numbers = arange(0, count - 1, 1, samples.dtype(), samples.device());
  const Tensor starts = floor((numbers + sample) * step) - floor(sample * step);
  return cat({cast(starts, i64), expand(at_end, shape)}, 2);
}

// [N, C, windows, window's elements]: places in the flattened input, over all dimensions.
Tensor window_places(const Tensor& samples, IntList sizes, IntList counts, IntList kernel) {
  const std::int64_t batch = samples.size(0), channels = samples.size(1);
  Tensor places = zeros({batch, channels, 1, 1}, i64, samples.device());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // PyTorch's samples of two dimensions begin with the width, those of three with the depth.
    const std::size_t number = sizes.size() == 2 ? 1 - i : i;
    const Tensor sample = select(samples, 2, static_cast<std::int64_t>(number));
    const Tensor starts = unsqueeze(window_starts(sample, sizes[i], counts[i], kernel[i]), -1);
    const Tensor inside = starts + arange(0, kernel[i], 1, i64, samples.device());
    const Tensor outer = unsqueeze(unsqueeze(places * sizes[i], 3), 5);  // [N, C, w, 1, k, 1]
    const Tensor joined = outer + unsqueeze(unsqueeze(inside, 2), 4);    // [N, C, w, W, k, K]
    places =
        reshape(joined, {batch, channels, places.size(2) * counts[i], places.size(3) * kernel[i]});
  }
  return places;
}

}  // namespace

FractionalMaxPool::FractionalMaxPool(const char* layer, std::size_t rank, const Sizes& kernel_size,
                                     const FractionalMaxPoolOptions& options)
    : layer_(layer), rank_(rank), kernel_size_(kernel_size.each(rank, layer, "kernel_size", 1)),
      output_ratio_(options.output_ratio), random_samples_(options.random_samples) {
  BP_CHECK(options.output_size.is_given() != !output_ratio_.empty(),
           "{}: output_size is {} and output_ratio has {} numbers; pass one of the two", layer,
           options.output_size.text(), output_ratio_.size());
  if (options.output_size.is_given())
    output_size_ = options.output_size.each(rank, layer, "output_size", 1);
  if (output_ratio_.size() == 1) output_ratio_.assign(rank, output_ratio_[0]);
  BP_CHECK(output_ratio_.empty() || output_ratio_.size() == rank,
           "{}: output_ratio has {} numbers; pass one, or {}", layer, output_ratio_.size(), rank);
  for (double ratio : output_ratio_)
    BP_CHECK(ratio > 0 && ratio < 1, "{}: output_ratio is {}; pass numbers between 0 and 1", layer,
             ratio);
}

void FractionalMaxPool::list_parts(Parts& parts) {
  parts.buffer("_random_samples", random_samples_);
}

std::vector<std::int64_t> FractionalMaxPool::output_sizes(IntList input_sizes) const {
  std::vector<std::int64_t> sizes = output_size_.list();
  for (std::size_t i = sizes.size(); i < rank_; ++i)
    sizes.push_back(
        static_cast<std::int64_t>(static_cast<double>(input_sizes[i]) * output_ratio_[i]));
  for (std::size_t i = 0; i < rank_; ++i) {
    const std::int64_t kernel = kernel_size_.list()[i];
    BP_CHECK(sizes[i] >= 1 && sizes[i] + kernel - 1 <= input_sizes[i],
             "{}: {} windows of {} do not fit into {} (dimension {}); use fewer or smaller ones",
             layer_, sizes[i], kernel, input_sizes[i], i);
  }
  return sizes;
}

PooledWithIndices FractionalMaxPool::forward_with_indices(const Tensor& x) const {
  const auto rank = static_cast<std::size_t>(x.ndim());
  BP_CHECK(rank == rank_ + 1 || rank == rank_ + 2,
           "{}: the input is {}; pass {} dimensions, or {} without a batch", layer_,
           to_string(x.shape()), rank_ + 2, rank_ + 1);
  if (rank == rank_ + 1) {
    const auto [values, indices] = forward_with_indices(unsqueeze(x, 0));
    return {squeeze(values, 0), squeeze(indices, 0)};
  }
  const std::int64_t batch = x.size(0), channels = x.size(1);
  const std::vector<std::int64_t> sizes = {x.shape().begin() + 2, x.shape().end()};
  const std::vector<std::int64_t> counts = output_sizes(sizes);
  const Dims wanted = {batch, channels, static_cast<std::int64_t>(rank_)};
  const Tensor samples =
      random_samples_.defined() ? random_samples_ : rand(wanted, x.dtype(), x.device());
  BP_CHECK(samples.shape() == wanted, "{}: random_samples is {} for an input of {}; pass {}",
           layer_, to_string(samples.shape()), to_string(x.shape()), to_string(wanted));
  const Tensor places = window_places(samples, sizes, counts, kernel_size_.list());
  const Tensor windows =
      gather(flatten(x, 2), 2, flatten(places, 2));  // [N, C, windows * elements]
  const Tensor laid_out = reshape(windows, places.shape());
  const Tensor chosen = argmax(laid_out, -1, true);
  std::vector<std::int64_t> shape = {batch, channels};
  shape.insert(shape.end(), counts.begin(), counts.end());
  return {reshape(gather(laid_out, -1, chosen), shape), reshape(gather(places, -1, chosen), shape)};
}

}  // namespace bp::nn
