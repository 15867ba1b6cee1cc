#include "decompositions.hpp"

#include <backplane/dispatcher/transfer.hpp>

#include "arguments.hpp"

namespace bp {
namespace {

// [batch..., n, m] as one batch of matrices, with the batch that the other factor asks for.
Tensor as_one_batch(const Tensor& a, IntList batch) {
  Dims shape(batch);
  shape.push_back(a.size(-2));
  shape.push_back(a.size(-1));
  return reshape(expand(a, shape), {-1, a.size(-2), a.size(-1)});
}

IntList batch_of(const Tensor& a) {
  return {a.shape().data(), a.shape().size() - 2};
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

Tensor widened(const Tensor& a) {
  return a.dtype() == f16 || a.dtype() == bf16 ? cast(a, f32) : a;
}

Tensor in_dtype(const Tensor& a, Dtype dtype) {
  return a.dtype() == dtype ? a : cast(a, dtype);
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

std::int64_t num_reduced(const Tensor& a, const DimList& dim) {
  const std::optional<IntList> dims = dim.list();
  if (!dims) return a.numel();
  std::int64_t count = 1;
  for (std::int64_t d : *dims) count *= a.shape()[d];
  return count;
}

Tensor matmul_by_bmm(const Tensor& a, const Tensor& b) {
  const Dims batch = broadcast_shapes("matmul", batch_of(a), batch_of(b));
  Dims shape = batch;
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  return reshape(bmm(as_one_batch(a, batch), as_one_batch(b, batch)), shape);
}

Tensor index_select_by_gather(const Tensor& a, std::int64_t dim, const Tensor& index) {
  if (a.ndim() == 0) return gather(a, 0, reshape(index, {}));
  Dims line(static_cast<std::uint32_t>(a.ndim()), 1);
  line[dim] = index.numel();
  Dims shape(a.shape());
  shape[dim] = index.numel();
  return gather(a, dim, expand(reshape(index, line), shape));
}

// Not by comparing with a range: a class outside of it would be zeros instead of an error.
Tensor one_hot_by_scatter(const Tensor& a, std::int64_t num_classes) {
  Dims shape(a.shape());
  shape.push_back(num_classes);
  const Tensor classes = unsqueeze(a, -1);
  return scatter_add(full(shape, 0, i64, a.device()), -1, classes,
                     full(classes.shape(), 1, i64, a.device()));
}

}  // namespace bp
