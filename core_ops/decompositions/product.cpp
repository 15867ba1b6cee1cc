#include "decompositions/product.hpp"

#include <backplane/core_ops/operators.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// matmul would broadcast, or promote, what PyTorch refuses here.
void check_vector_factors(const char* op, const char* left_name, const Tensor& left,
                          std::size_t rank, const char* right_name, const Tensor& right) {
  BP_CHECK(left.ndim() == static_cast<std::int64_t>(rank) && right.ndim() == 1,
           "{}: {} has shape {} and {} has shape {}; they need {} and 1 dimensions: matmul takes "
           "others",
           op, left_name, to_string(left.shape()), right_name, to_string(right.shape()), rank);
  BP_CHECK(left.dtype() == right.dtype(), "{}: {} is {} and {} is {}; cast one of them", op,
           left_name, name(left.dtype()), right_name, name(right.dtype()));
  BP_CHECK(left.size(-1) == right.size(0),
           "{}: {} of shape {} and {} of shape {} do not fit ({} against {}); make them equal", op,
           left_name, to_string(left.shape()), right_name, to_string(right.shape()), left.size(-1),
           right.size(0));
}

}  // namespace

Tensor dot_by_matmul(const Tensor& input, const Tensor& tensor) {
  check_vector_factors("dot", "input", input, 1, "tensor", tensor);
  return matmul(input, tensor);
}

Tensor matrix_by_vector(const Tensor& input, const Tensor& vec) {
  check_vector_factors("mv", "input", input, 2, "vec", vec);
  return matmul(input, vec);
}

Tensor added_vector_product(const Tensor& input, const Tensor& mat, const Tensor& vec,
                            const Scalar& beta, const Scalar& alpha) {
  check_vector_factors("addmv", "mat", mat, 2, "vec", vec);
  BP_CHECK(input.ndim() <= 1,
           "addmv: input has shape {}, and needs one dimension, or none; addmm adds to matrices",
           to_string(input.shape()));
  // As a column, which addmm's checks and its product know.
  const Tensor column = input.ndim() == 1 ? unsqueeze(input, 1) : input;
  const ProductNames names{"addmv", "mat", "vec", 2};
  return squeeze(added_product(names, column, mat, unsqueeze(vec, 1), beta, alpha), {1});
}

Tensor outer_by_broadcast(const Tensor& input, const Tensor& vec2) {
  BP_CHECK(input.ndim() == 1 && vec2.ndim() == 1,
           "outer: input has shape {} and vec2 has shape {}; both need one dimension: flatten them",
           to_string(input.shape()), to_string(vec2.shape()));
  return mul(unsqueeze(input, 1), vec2);
}

}  // namespace bp
