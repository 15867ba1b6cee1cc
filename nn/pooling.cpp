#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/pooling.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

template <class... Functions> auto of_rank(std::size_t rank, Functions... functions) {
  using Pool = std::common_type_t<Functions...>;
  const Pool all[] = {functions...};
  return all[rank - 1];
}

Sizes stride_or_kernel(const char* layer, std::size_t rank, const Sizes& stride,
                       const Sizes& kernel_size) {
  if (!stride.is_given()) return kernel_size;
  stride.each(rank, layer, "stride", 1);
  return stride;
}

void check_padding(const char* layer, std::size_t rank, const Sizes& padding,
                   const Sizes& kernel_size) {
  const std::vector<std::int64_t> sides = padding.each(rank, layer, "padding", 0).list();
  const std::vector<std::int64_t> kernel = kernel_size.each(rank, layer, "kernel_size", 1).list();
  for (std::size_t i = 0; i < rank; ++i)
    BP_CHECK(sides[i] <= kernel[i] / 2, "{}: padding {} is beyond half of kernel_size {}; pad less",
             layer, padding.text(), kernel_size.text());
}

}  // namespace

MaxPool::MaxPool(const char* layer, std::size_t rank, const Sizes& kernel_size,
                 const MaxPoolOptions& options)
    : layer_(layer), rank_(rank), kernel_size_(kernel_size), options_(options) {
  check_padding(layer, rank, options.padding, kernel_size);
  options_.stride = stride_or_kernel(layer, rank, options.stride, kernel_size);
  each_ = {kernel_size.each(rank, layer, "kernel_size", 1).list(),
           options_.stride.each(rank, layer, "stride", 1).list(),
           options.padding.each(rank, layer, "padding", 0).list(),
           options.dilation.each(rank, layer, "dilation", 1).list()};
}

Tensor MaxPool::forward(const Tensor& x) const {
  const auto pool = of_rank(rank_, &max_pool1d, &max_pool2d, &max_pool3d);
  return pool(x, each_.kernel_size, each_.stride, each_.padding, each_.dilation,
              options_.ceil_mode);
}

PooledWithIndices MaxPool::forward_with_indices(const Tensor& x) const {
  const auto rank = static_cast<std::size_t>(x.ndim());
  BP_CHECK(rank == rank_ + 1 || rank == rank_ + 2,
           "{}: the input is {}; pass {} dimensions, or {} without a batch", layer_,
           to_string(x.shape()), rank_ + 2, rank_ + 1);
  const bool has_batch = rank == rank_ + 2;
  const auto [values, indices] =
      max_pool_with_indices(has_batch ? x : unsqueeze(x, 0), each_.kernel_size, each_.stride,
                            each_.padding, each_.dilation, options_.ceil_mode);
  if (has_batch) return {values, indices};
  return {squeeze(values, 0), squeeze(indices, 0)};
}

std::string MaxPool::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
                     kernel_size_.text(), options_.stride.text(), options_.padding.text(),
                     options_.dilation.text(), repr(options_.ceil_mode));
}

AvgPool::AvgPool(const char* layer, std::size_t rank, const Sizes& kernel_size,
                 const AvgPoolOptions& options)
    : rank_(rank), kernel_size_(kernel_size), options_(options) {
  check_padding(layer, rank, options.padding, kernel_size);
  options_.stride = stride_or_kernel(layer, rank, options.stride, kernel_size);
  BP_CHECK(options.divisor_override != 0, "{}: divisor_override is 0; pass another number", layer);
  BP_CHECK(rank > 1 || !options.divisor_override, "{}: it has no divisor_override; leave it out",
           layer);
  if (rank > 1) return;
  // As PyTorch's, which prints (3,) for one dimension.
  kernel_size_ = kernel_size_.each(1, layer, "kernel_size", 1);
  options_.stride = options_.stride.each(1, layer, "stride", 1);
  options_.padding = options_.padding.each(1, layer, "padding", 0);
  for (Sizes* sizes : {&kernel_size_, &options_.stride, &options_.padding})
    *sizes = Sizes(sizes->list());
}

Tensor AvgPool::forward(const Tensor& x) const {
  if (rank_ == 1)
    return avg_pool1d(x, kernel_size_.list(), options_.stride.list(), options_.padding.list(),
                      options_.ceil_mode, options_.count_include_pad);
  const auto pool = rank_ == 2 ? &avg_pool2d : &avg_pool3d;
  return pool(x, kernel_size_.list(), options_.stride.list(), options_.padding.list(),
              options_.ceil_mode, options_.count_include_pad, options_.divisor_override);
}

std::string AvgPool::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}", kernel_size_.text(),
                     options_.stride.text(), options_.padding.text());
}

LPPool::LPPool(const char* layer, std::size_t rank, double norm_type, const Sizes& kernel_size,
               const LPPoolOptions& options)
    : rank_(rank), norm_type_(norm_type), kernel_size_(kernel_size), options_(options) {
  kernel_size.each(rank, layer, "kernel_size", 1);
  if (options.stride.is_given()) options.stride.each(rank, layer, "stride", 1);
  BP_CHECK(norm_type != 0, "{}: norm_type is 0; pass another number", layer);
}

Tensor LPPool::forward(const Tensor& x) const {
  const auto pool = of_rank(rank_, &lp_pool1d, &lp_pool2d, &lp_pool3d);
  return pool(x, norm_type_, kernel_size_.list(), options_.stride.list(), options_.ceil_mode);
}

std::string LPPool::extra_repr() const {
  return fmt::format("norm_type={}, kernel_size={}, stride={}, ceil_mode={}", repr(norm_type_),
                     kernel_size_.text(), options_.stride.text(), repr(options_.ceil_mode));
}

MaxUnpool::MaxUnpool(const char* layer, std::size_t rank, const Sizes& kernel_size,
                     const MaxUnpoolOptions& options)
    : rank_(rank), kernel_size_(kernel_size.each(rank, layer, "kernel_size", 1)),
      stride_(options.stride.is_given() ? options.stride.each(rank, layer, "stride", 1)
                                        : kernel_size_),
      padding_(options.padding.each(rank, layer, "padding", 0)) {}

Tensor MaxUnpool::forward(const Tensor& x, const Tensor& indices, IntList output_size) const {
  const auto unpool = of_rank(rank_, &max_unpool1d, &max_unpool2d, &max_unpool3d);
  if (output_size.size() > rank_)
    output_size = {output_size.end() - rank_, rank_};  // batch and channels stay
  return unpool(x, indices, kernel_size_.list(), stride_.list(), padding_.list(),
                output_size.empty() ? DimList() : DimList(output_size));
}

std::vector<Tensor> MaxUnpool::forward_all(std::span<const Tensor> inputs) const {
  BP_CHECK(inputs.size() == 2, "{}: got {} tensors; pass the values and their indices", type_name(),
           inputs.size());
  return {forward(inputs[0], inputs[1])};
}

std::string MaxUnpool::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}", kernel_size_.text(), stride_.text(),
                     padding_.text());
}

AdaptivePool::AdaptivePool(const char* layer, std::size_t rank, const OutputSizes& output_size)
    : layer_(layer), each_rank_(rank), given_(output_size), each_(output_size.each(rank, layer)) {}

std::vector<std::int64_t> AdaptivePool::sizes_for(const Tensor& x) const {
  const auto rank = static_cast<std::size_t>(x.ndim());
  BP_CHECK(rank == each_rank_ + 1 || rank == each_rank_ + 2,
           "{}: the input is {}; pass {} dimensions, or {} without a batch", layer_,
           to_string(x.shape()), each_rank_ + 2, each_rank_ + 1);
  return each_.of(x.shape());
}

std::string AdaptivePool::extra_repr() const {
  return "output_size=" + given_.text();
}

Tensor AdaptiveAvgPool::forward(const Tensor& x) const {
  const auto pool =
      of_rank(rank(), &adaptive_avg_pool1d, &adaptive_avg_pool2d, &adaptive_avg_pool3d);
  return pool(x, sizes_for(x));
}

Tensor AdaptiveMaxPool::forward(const Tensor& x) const {
  const auto pool =
      of_rank(rank(), &adaptive_max_pool1d, &adaptive_max_pool2d, &adaptive_max_pool3d);
  return pool(x, sizes_for(x));
}

PooledWithIndices AdaptiveMaxPool::forward_with_indices(const Tensor& x) const {
  const std::vector<std::int64_t> sizes = sizes_for(x);
  const bool has_batch = static_cast<std::size_t>(x.ndim()) == rank() + 2;
  const auto [values, indices] =
      adaptive_max_pool_with_indices(has_batch ? x : unsqueeze(x, 0), sizes);
  if (has_batch) return {values, indices};
  return {squeeze(values, 0), squeeze(indices, 0)};
}

}  // namespace bp::nn
