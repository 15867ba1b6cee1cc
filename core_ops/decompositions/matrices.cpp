#include "decompositions/matrices.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "rules/decompositions.hpp"

namespace bp {

void check_matrices(const char* op, const char* what, const Tensor& input) {
  BP_CHECK(input.ndim() >= 2, "{}: {} has shape {}; pass matrices, [..., n, m]", op, what,
           to_string(input.shape()));
  const Dtype dtype = input.dtype();
  BP_CHECK(dtype == f32 || dtype == f64 || is_complex(dtype),
           "{}: {} is {}; cast it to float32 or float64", op, what, name(dtype));
}

void check_square(const char* op, const char* what, const Tensor& input) {
  check_matrices(op, what, input);
  BP_CHECK(input.size(-1) == input.size(-2),
           "{}: {} has shape {} ({} rows, {} columns); pass square matrices", op, what,
           to_string(input.shape()), input.size(-2), input.size(-1));
}

void check_dtypes_agree(const char* op, const Tensor& a, const Tensor& b) {
  BP_CHECK(a.dtype() == b.dtype(), "{}: dtypes {} and {}; cast one of them", op, name(a.dtype()),
           name(b.dtype()));
}

Dims batch_of_matrices(const Tensor& input) {
  return IntList(input.shape().data(), input.shape().size() - 2);
}

Dims batch_of_system(const char* op, const Tensor& A, const Tensor& B, bool left) {
  BP_CHECK(B.size(left ? -2 : -1) == A.size(-1),
           "{}: A has shape {} and B has shape {} ({} against {} {}); make them equal", op,
           to_string(A.shape()), to_string(B.shape()), A.size(-1), B.size(left ? -2 : -1),
           left ? "rows" : "columns");
  return broadcast_shapes(op, batch_of_matrices(A), batch_of_matrices(B));
}

bool is_vector_side(const Tensor& A, const Tensor& B) {
  if (B.ndim() == 1) return true;
  return A.ndim() - 1 == B.ndim() && B.shape() == IntList(A.shape().data(), A.shape().size() - 1);
}

double usual_cut(const Tensor& matrices) {
  const double step = to_real(matrices.dtype()) == f64 ? 0x1p-52 : 0x1p-23;
  return static_cast<double>(std::max(matrices.size(-1), matrices.size(-2))) * step;
}

Dims batch_of_vectors(const Tensor& matrices, std::int64_t length) {
  Dims shape = batch_of_matrices(matrices);
  shape.push_back(length);
  return shape;
}

Tensor flat_batch(const Tensor& input) {
  std::int64_t count = 1;
  for (const std::int64_t size : batch_of_matrices(input)) count *= size;
  return reshape(input, {count, input.size(-2), input.size(-1)});
}

Tensor with_batch(const Tensor& flat, IntList batch) {
  Dims shape(batch);
  shape.push_back(flat.size(1));
  shape.push_back(flat.size(2));
  return reshape(flat, shape);
}

Tensor expand_batch(const Tensor& input, IntList batch) {
  Dims shape(batch);
  shape.push_back(input.size(-2));
  shape.push_back(input.size(-1));
  return expand(input, shape);
}

Tensor fresh_matrices(const Tensor& flat) {
  return fresh(contiguous(flat), flat);
}

Tensor matrix_rows(const Tensor& input, std::int64_t row, std::int64_t rows) {
  return narrow(input, 1, row, rows);
}

Tensor matrix_part(const Tensor& input, std::int64_t row, std::int64_t rows, std::int64_t column,
                   std::int64_t columns) {
  return narrow(narrow(input, 1, row, rows), 2, column, columns);
}

Tensor conjugate_of(const Tensor& input) {
  return is_complex(input.dtype()) ? conj(input) : input;
}

Tensor real_part_of(const Tensor& input) {
  return is_complex(input.dtype()) ? real(input) : input;
}

Tensor squared_sizes(const Tensor& input) {
  if (!is_complex(input.dtype())) return square(input);
  return add(square(real(input)), square(imag(input)));
}

Tensor eye_like(const Tensor& input, std::int64_t n, std::int64_t m) {
  return eye(n, m, input.dtype(), input.device());
}

Tensor zeros_in_batch(const Tensor& input, std::int64_t n, std::int64_t m) {
  Dims shape = batch_of_matrices(input);
  shape.push_back(n);
  shape.push_back(m);
  return zeros(shape, input.dtype(), input.device());
}

}  // namespace bp
