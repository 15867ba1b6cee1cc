#include "decompositions.hpp"

#include <backplane/dispatcher/transfer.hpp>

#include "arguments.hpp"

namespace bp {
namespace {

// [batch..., n, m] as one batch of matrices, with the batch that the other factor asks for.
Tensor as_one_batch(const Tensor& input, IntList batch) {
  Dims shape(batch);
  shape.push_back(input.size(-2));
  shape.push_back(input.size(-1));
  return reshape(expand(input, shape), {-1, input.size(-2), input.size(-1)});
}

IntList batch_of(const Tensor& input) {
  return {input.shape().data(), input.shape().size() - 2};
}

}  // namespace

void finish(const Call& call, std::span<Tensor> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (call.results[i].defined())
      copy_into(call.results[i], values[i]);
    else
      call.results[i] = std::move(values[i]);
  }
}

Tensor widened(const Tensor& input) {
  return input.dtype() == f16 || input.dtype() == bf16 ? cast(input, f32) : input;
}

Tensor along_dim(const Tensor& vector, std::int64_t dim, std::int64_t rank) {
  Dims line(static_cast<std::uint32_t>(rank), 1);
  line[dim] = vector.numel();
  return reshape(vector, line);
}

Tensor in_dtype(const Tensor& input, Dtype dtype) {
  return input.dtype() == dtype ? input : cast(input, dtype);
}

Tensor operand_arg(const Call& call, std::uint32_t place) {
  if (is_tensor(call, place)) return Tensor::share(TensorImpl::of(call.args[place].u.tensor));
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (!is_tensor(call, i) || !(call.op.promoted >> i & 1u)) continue;
    const TensorImpl& other = impl_arg(call, i);
    return scalar_tensor(scalar_arg(call, place), dtype_of(other), {other.abi.device});
  }
  throw_error(ErrorClass::internal, "a decomposition without a tensor");
}

std::int64_t num_reduced(const Tensor& input, const DimList& dim) {
  const std::optional<IntList> dims = dim.list();
  if (!dims) return input.numel();
  std::int64_t count = 1;
  for (std::int64_t d : *dims) count *= input.shape()[d];
  return count;
}

Tensor matmul_by_bmm(const Tensor& input, const Tensor& other) {
  const Dims batch = broadcast_shapes("matmul", batch_of(input), batch_of(other));
  Dims shape = batch;
  shape.push_back(input.size(-2));
  shape.push_back(other.size(-1));
  return reshape(bmm(as_one_batch(input, batch), as_one_batch(other, batch)), shape);
}

Tensor index_select_by_gather(const Tensor& input, std::int64_t dim, const Tensor& index) {
  if (input.ndim() == 0) return gather(input, 0, reshape(index, {}));
  Dims line(static_cast<std::uint32_t>(input.ndim()), 1);
  line[dim] = index.numel();
  Dims shape(input.shape());
  shape[dim] = index.numel();
  return gather(input, dim, expand(reshape(index, line), shape));
}

// Not by comparing with a range: a class outside of it would be zeros instead of an error.
Tensor one_hot_by_scatter(const Tensor& input, std::int64_t num_classes) {
  Dims shape(input.shape());
  shape.push_back(num_classes);
  const Tensor classes = unsqueeze(input, -1);
  return scatter_add(full(shape, 0, i64, input.device()), -1, classes,
                     full(classes.shape(), 1, i64, input.device()));
}

}  // namespace bp
