// QR by Householder's reflections, whose signs are LAPACK's.
#include <algorithm>
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/factorization.hpp"
#include "decompositions/matrices.hpp"
#include "decompositions/orthogonal.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// I - vectors^T by factor by conjugates, of the rows from `start` on: the product of a panel's reflections.
struct Reflections {
  std::int64_t start;
  Tensor vectors;     // [batch, w, m]
  Tensor conjugates;  // of the vectors
  Tensor factor;      // [batch, w, w]
};

// Of the reflection that makes zeros of all but the first of `line`, [batch, 1, m]: the vector is written, which begins
// with 1, and the new first element and the vector's factor are returned. Where there are only zeros already, the factor
// is 0, and nothing changes. The new first element is real; what is complex is reflected for that alone, too.
struct Reflection {
  Tensor first, factor;
};

// By which a line is divided so that squares of its elements stay within the range: 1, but for large and small ones.
Tensor scale_of(const Tensor& line) {
  const double safe = to_real(line.dtype()) == f64 ? 0x1p400 : 0x1p40;
  const Tensor largest = max(abs(line), {2}, true);
  const Tensor is_small = le(mul(largest, safe), 1), is_some = gt(largest, 0);
  const Tensor if_small = where(is_small, where(is_some, largest, 1), 1);
  return where(gt(largest, safe), largest, if_small);
}

Reflection reflection_of(const Tensor& given, const Tensor& vector) {
  const std::int64_t rest = given.size(2) - 1;
  fill_(narrow(vector, 2, 0, 1), 1);
  const bool has_parts = is_complex(given.dtype());
  if (rest == 0 && !has_parts)
    return {copy(given), zeros(given.shape(), given.dtype(), given.device())};
  const Tensor scale = scale_of(given), line = div(given, scale);
  const Tensor first = narrow(line, 2, 0, 1);
  const Tensor tail = narrow(line, 2, 1, rest);
  const Tensor number = real_part_of(first);
  Tensor squares = sum(squared_sizes(tail), 2, true);
  if (has_parts) squares = add(squares, square(imag(first)));
  const Tensor has_tail = ne(squares, 0);
  const Tensor length = sqrt(add(square(number), squares));
  const Tensor turned = where(has_tail, where(ge(number, 0), neg(length), length), number);
  copy_(narrow(vector, 2, 1, rest), div(tail, where(has_tail, sub(first, turned), 1)));
  return {mul(turned, scale),
          where(has_tail, div(sub(turned, first), where(has_tail, turned, 1)), 0)};
}

// Makes a panel, [batch, m, w], upper triangular.
Reflections reflect_panel(const Tensor& panel, std::int64_t start) {
  const Tensor columns = fresh_matrices(transpose_last(panel));
  const std::int64_t count = columns.size(1), length = columns.size(2);
  const Tensor vectors = zeros(columns.shape(), columns.dtype(), columns.device());
  std::vector<Tensor> factors;
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t size = length - j;
    const Tensor line = matrix_part(columns, j, 1, j, size);
    const Tensor vector = matrix_part(vectors, j, 1, j, size);
    const Reflection made = reflection_of(line, vector);
    factors.push_back(made.factor);
    fill_(line, 0);
    copy_(narrow(line, 2, 0, 1), made.first);
    if (j + 1 == count) break;
    const Tensor rest = matrix_part(columns, j + 1, count - j - 1, j, size);
    const Tensor products = matmul(rest, adjoint(vector));
    sub_(rest, mul(mul(products, conjugate_of(made.factor)), vector));
  }
  copy_(panel, transpose_last(columns));
  // (factors^-1 + strictly upper part of conjugates by vectors^T)^-1, without dividing by a factor of 0.
  const Tensor weights = cat(factors, 1);  // [batch, w, 1]
  const Tensor factor = mul(weights, eye_like(columns, count, count));
  const Tensor conjugates = conjugate_of(vectors);
  const Tensor system = mul(weights, matmul(conjugates, transpose_last(vectors)));
  solve_triangular_in_place(system, factor, true, true);
  return {start, vectors, conjugates, factor};
}

// The adjoint product of the panel's reflections, or the product itself, times the rows of `target`, in place.
void apply_reflections(const Reflections& panel, const Tensor& target, bool is_adjoint) {
  if (target.size(2) == 0) return;
  const Tensor rows = matrix_rows(target, panel.start, target.size(1) - panel.start);
  const Tensor factor = is_adjoint ? adjoint(panel.factor) : panel.factor;
  const Tensor products = matmul(factor, matmul(panel.conjugates, rows));
  sub_(rows, matmul(transpose_last(panel.vectors), products));
}

}  // namespace

FlatQr flat_qr(const Tensor& flat, std::int64_t columns) {
  const Tensor work = fresh_matrices(flat);
  const std::int64_t batch = work.size(0), rows = work.size(1), width = work.size(2);
  const std::int64_t size = std::min(rows, width);
  std::vector<Reflections> panels;
  for (std::int64_t start = 0; start < size; start += matrix_block) {
    const std::int64_t count = std::min(matrix_block, size - start);
    panels.push_back(reflect_panel(matrix_part(work, start, rows - start, start, count), start));
    const std::int64_t right = width - start - count;
    apply_reflections(panels.back(), narrow(work, 2, start + count, right), true);
  }
  const Tensor q = fresh_matrices(expand(eye_like(flat, rows, columns), {batch, rows, columns}));
  for (; !panels.empty(); panels.pop_back()) apply_reflections(panels.back(), q, false);
  return {q, triu(matrix_rows(work, 0, columns))};
}

void check_qr_arguments(const Tensor& A, std::string_view mode) {
  check_matrices("linalg_qr", "A", A);
  BP_CHECK(mode == "reduced" || mode == "complete" || mode == "r",
           "linalg_qr: the mode is '{}'; choose 'reduced', 'complete' or 'r'", mode);
}

LinalgQrResult qr_by_reflections(const Tensor& A, std::string_view mode) {
  check_qr_arguments(A, mode);
  const std::int64_t rows = A.size(-2), columns = A.size(-1);
  const std::int64_t size = mode == "complete" ? rows : std::min(rows, columns);
  const Tensor none = zeros({0}, A.dtype(), A.device());
  if (is_shape_alone(A)) {
    const Tensor q = add(zeros_in_batch(A, rows, size), eye_like(A, rows, size));
    return {mode == "r" ? none : q, zeros_in_batch(A, size, columns)};
  }
  const FlatQr made = flat_qr(flat_batch(A), size);
  const Dims batch = batch_of_matrices(A);
  return {mode == "r" ? none : with_batch(made.q, batch), with_batch(made.r, batch)};
}

}  // namespace bp
