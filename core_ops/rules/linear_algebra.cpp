// Factorizations of matrices: shapes follow from those of the arguments alone.
#include "decompositions/linear_algebra.hpp"

#include <algorithm>

#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "decompositions/factorization.hpp"
#include "decompositions/matrices.hpp"
#include "decompositions/orthogonal.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

// The batch of `matrices` with other last dimensions.
Dims with_sizes(const Tensor& matrices, std::int64_t rows, std::int64_t columns) {
  Dims shape = batch_of_vectors(matrices, rows);
  shape.push_back(columns);
  return shape;
}

}  // namespace

void square_matrices(const Call& call, Inferred& out) {
  const BorrowedTensor input = tensor_arg(call, 0);
  check_square(call.op.name(), call.op.schema->arguments[0].name.c_str(), input);
  out.compute_dtype = input->dtype();
  out.outputs[0] = {input->dtype(), input->shape()};
}

void triangular_system(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0), B = tensor_arg(call, 1);
  Dims shape = batch_of_triangular_system(A, B, bool_arg(call, 3));
  shape.push_back(B->size(-2));
  shape.push_back(B->size(-1));
  out.compute_dtype = A->dtype();
  out.outputs[0] = {A->dtype(), shape};
}

void linear_system(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0), B = tensor_arg(call, 1);
  out.outputs[0] = {A->dtype(), shape_of_solution(A, B, bool_arg(call, 2))};
  out.compute_dtype = A->dtype();
}

void lu_factor(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0);
  check_matrices(call.op.name(), "A", A);
  out.compute_dtype = A->dtype();
  out.outputs[0] = {A->dtype(), A->shape()};
  out.outputs[1] = {i32, batch_of_vectors(A, std::min(A->size(-2), A->size(-1)))};
}

void qr(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0);
  const std::string_view mode = text_arg(call, 1);
  check_qr_arguments(A, mode);
  const std::int64_t rows = A->size(-2), columns = A->size(-1);
  const std::int64_t size = mode == "complete" ? rows : std::min(rows, columns);
  out.compute_dtype = A->dtype();
  out.outputs[0] = {A->dtype(), mode == "r" ? Dims{0} : with_sizes(A, rows, size)};
  out.outputs[1] = {A->dtype(), with_sizes(A, size, columns)};
}

void eigh(const Call& call, Inferred& out) {
  eigvalsh(call, out);
  out.outputs[1] = {out.compute_dtype, tensor_arg(call, 0)->shape()};
}

void eigvalsh(const Call& call, Inferred& out) {
  const BorrowedTensor input = tensor_arg(call, 0);
  check_eigh_arguments(call.op.name(), input, text_arg(call, 1));
  out.compute_dtype = input->dtype();
  out.outputs[0] = {to_real(input->dtype()), batch_of_vectors(input, input->size(-1))};
}

void eig(const Call& call, Inferred& out) {
  eigvals(call, out);
  out.outputs[1] = {to_complex(to_real(out.compute_dtype)), tensor_arg(call, 0)->shape()};
}

void eigvals(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0);
  check_square(call.op.name(), "A", A);
  out.compute_dtype = A->dtype();
  out.outputs[0] = {to_complex(to_real(A->dtype())), batch_of_vectors(A, A->size(-1))};
}

void svd(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0);
  check_matrices(call.op.name(), "A", A);
  const bool is_full = bool_arg(call, 1);
  const std::int64_t rows = A->size(-2), columns = A->size(-1), size = std::min(rows, columns);
  out.compute_dtype = A->dtype();
  out.outputs[0] = {A->dtype(), with_sizes(A, rows, is_full ? rows : size)};
  out.outputs[1] = {to_real(A->dtype()), batch_of_vectors(A, size)};
  out.outputs[2] = {A->dtype(), with_sizes(A, is_full ? columns : size, columns)};
}

void svdvals(const Call& call, Inferred& out) {
  const BorrowedTensor A = tensor_arg(call, 0);
  check_matrices(call.op.name(), "A", A);
  out.compute_dtype = A->dtype();
  out.outputs[0] = {to_real(A->dtype()), batch_of_vectors(A, std::min(A->size(-2), A->size(-1)))};
}

}  // namespace bp::rules
