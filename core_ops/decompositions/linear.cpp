#include "decompositions/linear.hpp"

#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

void check_factors_of(const ProductNames& names, const Tensor& left, const Tensor& right) {
  BP_CHECK(left.dtype() == right.dtype(), "{}: {} is {} and {} is {}; cast one of them", names.op,
           names.left, name(left.dtype()), names.right, name(right.dtype()));
  BP_CHECK(left.ndim() == names.rank && right.ndim() == names.rank,
           "{}: {} has shape {} and {} has shape {}; both need rank {}: matmul takes others",
           names.op, names.left, to_string(left.shape()), names.right, to_string(right.shape()),
           names.rank);
  BP_CHECK(left.size(0) == right.size(0) || names.rank == 2,
           "{}: {} of shape {} and {} of shape {} have batches of {} and {}; make them equal",
           names.op, names.left, to_string(left.shape()), names.right, to_string(right.shape()),
           left.size(0), right.size(0));
  BP_CHECK(
      left.size(-1) == right.size(-2),
      "{}: {} of shape {} and {} of shape {} do not fit ({} columns against {} rows); transpose "
      "one, or make the inner sizes equal",
      names.op, names.left, to_string(left.shape()), names.right, to_string(right.shape()),
      left.size(-1), right.size(-2));
}

void check_addend(const ProductNames& names, const Tensor& input, const Tensor& left,
                  IntList shape) {
  BP_CHECK(input.dtype() == left.dtype(), "{}: {} is {} and {} is {}; cast one of them", names.op,
           names.addend, name(input.dtype()), names.left, name(left.dtype()));
  bool fits = input.shape().size() <= shape.size();
  for (std::size_t i = 1; fits && i <= input.shape().size(); ++i) {
    const std::int64_t size = input.shape()[input.shape().size() - i];
    fits = size == 1 || size == shape[shape.size() - i];
  }
  BP_CHECK(
      fits,
      "{}: {} of shape {} does not broadcast to the product's shape {}; make its sizes equal, or 1",
      names.op, names.addend, to_string(input.shape()), to_string(shape));
}

void check_factor(const ProductNames& names, const char* which, const Scalar& factor, Dtype dtype) {
  BP_CHECK(!is_integral(dtype) || !(factor.is_floating() || factor.is_complex()),
           "{}: {} is {} and the tensors are {}; give a whole number, or cast the tensors",
           names.op, which, factor.to_double(), name(dtype));
}

}  // namespace

Tensor added_product(const ProductNames& names, const Tensor& input, const Tensor& left,
                     const Tensor& right, const Scalar& beta, const Scalar& alpha) {
  check_factors_of(names, left, right);
  Dims shape(left.shape());
  shape.back() = right.size(-1);
  check_addend(names, input, left, shape);
  check_factor(names, "beta", beta, input.dtype());
  check_factor(names, "alpha", alpha, input.dtype());
  const Tensor product = matmul(left, right);
  const bool is_scaled = alpha.to_complex() != 1.0;
  if (beta.to_complex() == 0.0) return is_scaled ? mul(product, alpha) : product;
  return add(beta.to_complex() == 1.0 ? input : mul(input, beta), product, alpha);
}

Tensor linear_by_matmul(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  BP_CHECK(input.ndim() >= 1 && (weight.ndim() == 1 || weight.ndim() == 2),
           "linear: input of shape {} and weight of shape {}; input needs a dimension, and weight "
           "is [out, in] "
           "or [in]",
           to_string(input.shape()), to_string(weight.shape()));
  BP_CHECK(
      input.size(-1) == weight.size(-1),
      "linear: input of shape {} has {} features and weight of shape {} takes {}; make them equal",
      to_string(input.shape()), input.size(-1), to_string(weight.shape()), weight.size(-1));
  BP_CHECK(input.dtype() == weight.dtype(),
           "linear: input is {} and weight is {}; cast one of them", name(input.dtype()),
           name(weight.dtype()));
  Dims shape(input.shape()), of_row;
  shape.erase(shape.size() - 1);
  std::int64_t num_rows = 1;
  for (std::int64_t size : shape) num_rows *= size;
  if (weight.ndim() == 2) {
    shape.push_back(weight.size(0));
    of_row.push_back(weight.size(0));
  }
  if (bias.defined()) check_addend({"linear", "weight", "", 2, "bias"}, bias, weight, of_row);
  // One matrix in place of a batch: its rows are many, and the weight is read once.
  const Tensor rows = input.ndim() > 2 ? reshape(input, {num_rows, input.size(-1)}) : input;
  Tensor product = matmul(rows, weight.ndim() == 2 ? transpose(weight, 0, 1) : weight);
  if (bias.defined()) product = add(product, bias);
  return input.ndim() > 2 ? reshape(product, shape) : product;
}

}  // namespace bp
