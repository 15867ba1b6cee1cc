#include "decompositions/unpooling.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/windows.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

void check_window_list(const char* op, const char* what, IntList list, std::int64_t rank,
                       std::int64_t least) {
  BP_CHECK(list.size() == 1 || static_cast<std::int64_t>(list.size()) == rank,
           "{}: {} {} has {} elements for {} dimensions; give one, or one for each", op, what,
           to_string(list), list.size(), rank);
  for (const std::int64_t value : list)
    BP_CHECK(value >= least && value <= rules::most_of_windows,
             "{}: {} {} has {}; it must be at least {} and at most 2^31", op, what, to_string(list),
             value, least);
}

// The size asked for of dimension `d`, without those of batch and channels, which may stand in front.
std::int64_t asked_size(const char* op, IntList asked, std::int64_t rank, std::size_t d) {
  const auto count = static_cast<std::int64_t>(asked.size());
  BP_CHECK(count == rank || count == rank + 2,
           "{}: output_size {} has {} numbers; pass {}, or {} with batch and channels", op,
           to_string(asked), count, rank, rank + 2);
  return asked[d + static_cast<std::size_t>(count - rank)];
}

}  // namespace

Tensor power_pool_over(std::int64_t rank, const char* name, const Tensor& input, double norm_type,
                       IntList kernel_size, IntList stride, bool ceil_mode) {
  BP_CHECK(norm_type != 0, "{}: norm_type is 0; pass another", name);
  check_window_list(name, "kernel_size", kernel_size, rank, 1);
  double count = 1;
  for (std::int64_t d = 0; d < rank; ++d)
    count *= static_cast<double>(of_dim(kernel_size, static_cast<std::size_t>(d)));
  return with_batch(rank, name, input, [&](const Tensor& batch) {
    const Tensor means =
        avg_pool(pow(widened(batch), norm_type), kernel_size, stride, {0}, ceil_mode);
    return in_dtype(pow(mul(means, count), 1 / norm_type), input.dtype());
  });
}

Tensor unpooled_over(std::int64_t rank, const char* op, const Tensor& input, const Tensor& indices,
                     IntList kernel_size, IntList stride, IntList padding, DimList output_size) {
  BP_CHECK(input.ndim() == rank + 2 || input.ndim() == rank + 1,
           "{}: the input has shape {}, rank {}; it needs rank {}, or {} without a batch", op,
           to_string(input.shape()), input.ndim(), rank + 2, rank + 1);
  BP_CHECK(indices.dtype() == i64 && indices.shape() == input.shape(),
           "{}: indices is {} of shape {} for input of {}; pass int64 of the same shape", op,
           name(indices.dtype()), to_string(indices.shape()), to_string(input.shape()));
  check_window_list(op, "kernel_size", kernel_size, rank, 1);
  const IntList steps = stride.empty() ? kernel_size : stride;
  check_window_list(op, "stride", steps, rank, 1);
  check_window_list(op, "padding", padding, rank, 0);
  Dims shape(input.shape());
  const auto leading = static_cast<std::size_t>(input.ndim() - rank);
  std::int64_t planes = 1, elements = 1, windows = 1;
  for (std::size_t d = 0; d < leading; ++d) planes *= input.shape()[d];
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const std::int64_t count = input.shape()[leading + d], step = of_dim(steps, d);
    const std::int64_t usual =
        checked_numel(op, {count, step}) - step + of_dim(kernel_size, d) - 2 * of_dim(padding, d);
    const auto asked = output_size.list();
    const std::int64_t size = asked ? asked_size(op, *asked, rank, d) : usual;
    BP_CHECK(size > 0 && (size == usual || (size > usual - step && size < usual + step)),
             "{}: size {} of dimension {}, where the windows reach over {}; pass one above {} and "
             "below {}",
             op, size, d, usual, std::max<std::int64_t>(usual - step, 0), usual + step);
    shape[leading + d] = size;
    elements = checked_numel(op, {elements, size});
    windows *= count;
  }
  const Tensor none = full({planes, elements}, 0, input.dtype(), input.device());
  return reshape(
      scatter(none, 1, reshape(indices, {planes, windows}), reshape(input, {planes, windows})),
      shape);
}

}  // namespace bp
