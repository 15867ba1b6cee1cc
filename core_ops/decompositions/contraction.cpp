#include "decompositions/contraction.hpp"

#include <algorithm>

#include <backplane/core_ops/operators.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// The dimensions that are contracted, in order, and those that stay.
struct Sides {
  Dims contracted, kept, kept_sizes;
  std::int64_t count = 1, num_kept = 1;
};
Sides sides_of(const Tensor& input, IntList dims) {
  Sides sides;
  std::uint64_t seen = 0;
  for (const std::int64_t d : dims) {
    const std::int64_t dim = wrap_dim("tensordot", d, input.ndim());
    BP_CHECK(
        input.ndim() > 0 && !(seen >> dim & 1u),
        "tensordot: dimension {} of shape {} does not exist, or is named twice; list each once", d,
        to_string(input.shape()));
    seen |= std::uint64_t{1} << dim;
    sides.contracted.push_back(dim);
    sides.count *= input.size(dim);
  }
  for (std::int64_t d = 0; d < input.ndim(); ++d) {
    if (seen >> d & 1u) continue;
    sides.kept.push_back(d);
    sides.kept_sizes.push_back(input.size(d));
    sides.num_kept *= input.size(d);
  }
  return sides;
}

// Where `other` has a size of 1, that element meets each of `input`'s: with their sum all is said.
Tensor summed_against_ones(const Tensor& input, IntList dims, const Tensor& other,
                           IntList other_dims) {
  const Sides sides = sides_of(input, dims), others = sides_of(other, other_dims);
  Dims summed;
  for (std::size_t i = 0; i < sides.contracted.size(); ++i)
    if (other.size(others.contracted[i]) == 1 && input.size(sides.contracted[i]) != 1)
      summed.push_back(sides.contracted[i]);
  return summed.empty() ? input : in_dtype(sum(input, summed, true), input.dtype());
}

Dims joined(const Dims& first, const Dims& second) {
  Dims all(first);
  for (const std::int64_t each : second) all.push_back(each);
  return all;
}

// Both with the rank of the larger, and `dim` of it.
struct Pair {
  Tensor x, y;
  std::int64_t dim;
};
Pair broadcast_pair(const char* op, const Tensor& x, const Tensor& y, std::int64_t dim) {
  const Dims shape = broadcast_shapes(op, x.shape(), y.shape());
  BP_CHECK(!shape.empty(), "{}: 0-dim tensors have no dimension; reshape them", op);
  return {expand(x, shape), expand(y, shape),
          wrap_dim(op, dim, static_cast<std::int64_t>(shape.size()))};
}

}  // namespace

Tensor products_along(const Tensor& x, const Tensor& y, std::int64_t dim) {
  const Pair pair = broadcast_pair("vecdot", is_complex(x.dtype()) ? conj(x) : x, y, dim);
  const Tensor products = mul(pair.x, pair.y);
  return in_dtype(sum(products, {pair.dim}), products.dtype());
}

Tensor inner_by_matmul(const Tensor& input, const Tensor& other) {
  if (input.ndim() == 0 || other.ndim() == 0) return mul(input, other);
  BP_CHECK(input.size(-1) == other.size(-1),
           "inner: shapes {} and {} end in {} and {}; make their last sizes equal",
           to_string(input.shape()), to_string(other.shape()), input.size(-1), other.size(-1));
  return contracted(input, other, {-1}, {-1});
}

Tensor contracted(const Tensor& input, const Tensor& other, IntList dims_self, IntList dims_other) {
  BP_CHECK(dims_self.size() == dims_other.size(),
           "tensordot: {} dimensions against {}; pass as many of both", dims_self.size(),
           dims_other.size());
  const Tensor left_sums = summed_against_ones(input, dims_self, other, dims_other);
  const Tensor right_sums = summed_against_ones(other, dims_other, input, dims_self);
  const Sides left = sides_of(left_sums, dims_self), right = sides_of(right_sums, dims_other);
  for (std::size_t i = 0; i < left.contracted.size(); ++i)
    BP_CHECK(left_sums.size(left.contracted[i]) == right_sums.size(right.contracted[i]),
             "tensordot: dimension {} of shape {} against {} of {}; make their sizes equal",
             left.contracted[i], to_string(input.shape()), right.contracted[i],
             to_string(other.shape()));
  const Tensor rows =
      reshape(permute(left_sums, joined(left.kept, left.contracted)), {left.num_kept, left.count});
  const Tensor columns = reshape(permute(right_sums, joined(right.contracted, right.kept)),
                                 {right.count, right.num_kept});
  return reshape(matmul(rows, columns), joined(left.kept_sizes, right.kept_sizes));
}

Tensor cross_by_turns(const Tensor& input, const Tensor& other, std::int64_t dim) {
  BP_CHECK(input.ndim() == other.ndim(), "cross: shapes {} and {}; make their ranks equal",
           to_string(input.shape()), to_string(other.shape()));
  const Pair pair = broadcast_pair("cross", input, other, dim);
  BP_CHECK(input.size(dim) == 3 && other.size(dim) == 3,
           "cross: dimension {} of shapes {} and {} needs 3 numbers", pair.dim,
           to_string(input.shape()), to_string(other.shape()));
  const auto after = [&](const Tensor& vectors, std::int64_t places) {
    return roll(vectors, {-places}, {pair.dim});
  };
  return sub(mul(after(pair.x, 1), after(pair.y, 2)), mul(after(pair.x, 2), after(pair.y, 1)));
}

Tensor blocks_of_products(const Tensor& input, const Tensor& other) {
  const std::int64_t rank = std::max(input.ndim(), other.ndim());
  Dims of_input, of_other, shape;
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t i = d - (rank - input.ndim()), o = d - (rank - other.ndim());
    const std::int64_t blocks = i < 0 ? 1 : input.size(i), size = o < 0 ? 1 : other.size(o);
    of_input.push_back(blocks);
    of_input.push_back(1);
    of_other.push_back(1);
    of_other.push_back(size);
    shape.push_back(checked_numel("kron", {blocks, size}));
  }
  check_rank("kron", of_input.size());
  return reshape(mul(reshape(input, of_input), reshape(other, of_other)), shape);
}

Tensor added_outer(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                   const Scalar& alpha) {
  BP_CHECK(vec1.ndim() == 1 && vec2.ndim() == 1,
           "addr: vec1 has shape {} and vec2 has shape {}; both need one dimension: flatten them",
           to_string(vec1.shape()), to_string(vec2.shape()));
  // As a column by a row, which addmm's checks and its product know.
  const ProductNames names{"addr", "vec1", "vec2", 2};
  return added_product(names, input, unsqueeze(vec1, 1), unsqueeze(vec2, 0), beta, alpha);
}

// For each row the vector by all matrices, then each of these by the other vector.
Tensor bilinear_by_products(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                            const Tensor& bias) {
  BP_CHECK(weight.ndim() == 3 && input1.ndim() == input2.ndim() && input1.ndim() > 0 &&
               input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2),
           "bilinear: inputs of shape {} and {} and weight {}; the inputs need one rank and end in "
           "the last sizes of weight, which is [out, in1, in2]",
           to_string(input1.shape()), to_string(input2.shape()), to_string(weight.shape()));
  BP_CHECK(input1.dtype() == input2.dtype() && input1.dtype() == weight.dtype(),
           "bilinear: input1 is {}, input2 is {} and weight is {}; cast them to one",
           name(input1.dtype()), name(input2.dtype()), name(weight.dtype()));
  Dims rows(input1.shape());
  rows.resize(rows.size() - 1);
  Dims other(input2.shape());
  other.resize(other.size() - 1);
  BP_CHECK(rows == other,
           "bilinear: inputs of shape {} and {}; all but their last sizes need to be equal",
           to_string(input1.shape()), to_string(input2.shape()));
  const Tensor by_matrices = contracted(input1, weight, {-1}, {1});
  const Tensor result = sum(mul(by_matrices, unsqueeze(input2, -2)), {-1});
  return bias.defined() ? add(result, bias) : result;
}

Tensor sum_of_diagonal(const Tensor& input) {
  BP_CHECK(input.ndim() == 2, "trace: the shape is {}; pass a matrix", to_string(input.shape()));
  return sum(diagonal(input));
}

}  // namespace bp
