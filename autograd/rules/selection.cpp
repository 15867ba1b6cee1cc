// Gradients of writing by index and of looking rows up.
#include "rules.hpp"

namespace bp::autograd {

Tensor padded_behind(Tensor read, IntList shape) {
  if (read.shape() == shape) return read;
  if (shape.empty()) return reshape(read, shape);
  if (read.ndim() == 0) read = reshape(read, {1});
  std::vector<std::int64_t> pad;
  for (std::size_t d = shape.size(); d-- > 0;) {
    pad.push_back(0);
    pad.push_back(shape[d] - read.shape()[d]);
  }
  return constant_pad_nd(read, pad);
}

Tensor scatter_added(const Tensor& gradient, std::int64_t dim, const Tensor& index, IntList shape) {
  return padded_behind(gather(gradient, dim, index), shape);
}

Tensor scatter_chosen(const Tensor& gradient, std::int64_t dim, const Tensor& index,
                      IntList shape) {
  Tensor all = gather(gradient, dim, index);
  if (index.numel() != 0) {
    Dims line(static_cast<std::uint32_t>(index.ndim()), 1);
    const std::int64_t size = index.ndim() == 0 ? 1 : index.size(dim);
    if (index.ndim() != 0)
      line[static_cast<std::size_t>(dim < 0 ? dim + index.ndim() : dim)] = size;
    const Tensor numbers =
        expand(reshape(arange(0, size, 1, Dtype::i64, index.device()), line), index.shape());
    const Tensor none = full(gradient.shape(), 0, Dtype::i64, index.device());
    const Tensor is_last = gather(scatter(none, dim, index, numbers), dim, index) == numbers;
    all = where(is_last, all, 0);
  }
  return padded_behind(std::move(all), shape);
}

Tensor embedding_gradient(const Tensor& gradient, IntList weight_shape, const Tensor& indices,
                          std::int64_t padding_idx) {
  const Tensor counted =
      padding_idx == -1 ? gradient : where(unsqueeze(indices != padding_idx, -1), gradient, 0);
  const Tensor nothing = zeros(weight_shape, gradient.dtype(), gradient.device());
  return rows_added(nothing, 0, reshape(indices, {indices.numel()}),
                    reshape(counted, {indices.numel(), weight_shape[1]}));
}

std::vector<std::int64_t> negated(IntList numbers) {
  std::vector<std::int64_t> result;
  for (std::int64_t number : numbers) result.push_back(-number);
  return result;
}

}  // namespace bp::autograd
