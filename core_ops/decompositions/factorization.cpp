#include "decompositions/factorization.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/matrices.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// `rows`, [batch, w, m], are those of a Hermitian matrix from the diagonal on, less what earlier ones gave: they become the
// factor's. A pivot that is not positive gives NaN from there on.
void factor_hermitian_rows(const Tensor& rows) {
  const std::int64_t count = rows.size(1), length = rows.size(2);
  for (std::int64_t j = 0; j < count; ++j) {
    const Tensor pivot = matrix_part(rows, j, 1, j, 1);
    const Tensor number = real_part_of(pivot);
    const Tensor root = sqrt(where(gt(number, 0), number, std::nan("")));
    div_(matrix_part(rows, j, 1, j, length - j), root);
    if (is_complex(rows.dtype())) copy_(pivot, root);
    if (j + 1 == count) break;
    const Tensor factors = adjoint(matrix_part(rows, j, 1, j + 1, count - j - 1));
    const Tensor behind = matrix_part(rows, j, 1, j + 1, length - j - 1);
    sub_(matrix_part(rows, j + 1, count - j - 1, j + 1, length - j - 1), mul(factors, behind));
  }
}

// ---- LU

Tensor places_along(const Tensor& input, std::int64_t count) {
  return reshape(arange(0, count, 1, i64, input.device()), {1, 1, count});
}

// Along the last dimension of [batch, w, m]: swaps the place with another, which differs from batch to batch.
void swap_places(const Tensor& lines, std::int64_t place, const Tensor& other,
                 const Tensor& places) {
  const Tensor here = copy(narrow(lines, 2, place, 1));
  const Tensor there = gather(lines, 2, expand(other, {lines.size(0), lines.size(1), 1}));
  copy_(lines, where(eq(places, other), here, lines));
  copy_(narrow(lines, 2, place, 1), there);
}

// Which of numbers is the largest: as LAPACK does, complex ones by the sum of their parts.
Tensor sizes_of_pivots(const Tensor& input) {
  if (!is_complex(input.dtype())) return abs(input);
  return add(abs(real(input)), abs(imag(input)));
}

// Columns of a matrix from the diagonal down, as lines of memory, and where its rows came from.
struct LuPanel {
  Tensor columns;  // [batch, w, m]
  Tensor order;    // [batch, 1, m]
  std::vector<Tensor> pivots;
};

LuPanel factor_columns(const Tensor& panel, bool pivot) {
  const Tensor columns = fresh_matrices(transpose_last(panel));
  const std::int64_t batch = columns.size(0), count = columns.size(1), length = columns.size(2);
  const Tensor places = places_along(columns, length);
  LuPanel made{columns, fresh_matrices(expand(places, {batch, 1, length})), {}};
  for (std::int64_t j = 0; j < count; ++j) {
    if (pivot) {
      const Tensor column = matrix_part(columns, j, 1, j, length - j);
      made.pivots.push_back(add(argmax(sizes_of_pivots(column), 2, true), j));
      swap_places(columns, j, made.pivots.back(), places);
      swap_places(made.order, j, made.pivots.back(), places);
    }
    if (j + 1 == length) break;
    const Tensor head = matrix_part(columns, j, 1, j, 1);
    const Tensor below = matrix_part(columns, j, 1, j + 1, length - j - 1);
    // Below a pivot of zero, the largest of its column, there are zeros.
    div_(below, pivot ? where(eq(head, 0), 1, head) : head);
    if (j + 1 == count) continue;
    const Tensor factors = matrix_part(columns, j + 1, count - j - 1, j, 1);
    sub_(matrix_part(columns, j + 1, count - j - 1, j + 1, length - j - 1), mul(factors, below));
  }
  return made;
}

// What lies right of a factored panel, whose rows are in order already.
void eliminate_right_of(const Tensor& lu, std::int64_t start, std::int64_t width) {
  const std::int64_t right = lu.size(2) - start - width, below = lu.size(1) - start - width;
  if (right == 0) return;
  const Tensor top = matrix_part(lu, start, width, start + width, right);
  solve_triangular_in_place(matrix_part(lu, start, width, start, width), top, false, true);
  if (below == 0) return;
  sub_(matrix_part(lu, start + width, below, start + width, right),
       matmul(matrix_part(lu, start + width, below, start, width), top));
}

}  // namespace

// The factor's adjoint, row by row: rows lie in memory as they are walked.
Tensor cholesky_by_blocks(const Tensor& input, bool upper) {
  check_square("linalg_cholesky", "input", input);
  if (is_shape_alone(input)) return zeros_in_batch(input, input.size(-2), input.size(-1));
  const Tensor given = flat_batch(input);
  const Tensor factor = fresh_matrices(upper ? given : adjoint(given));
  const std::int64_t size = factor.size(1);
  for (std::int64_t start = 0; start < size; start += matrix_block) {
    const std::int64_t width = std::min(matrix_block, size - start), length = size - start;
    const Tensor rows = matrix_part(factor, start, width, start, length);
    if (start > 0) {
      const Tensor above = matrix_part(factor, 0, start, start, length);
      sub_(rows, matmul(adjoint(narrow(above, 2, 0, width)), above));
    }
    factor_hermitian_rows(rows);
  }
  const Tensor result = triu(factor);
  return with_batch(upper ? result : contiguous(adjoint(result)), batch_of_matrices(input));
}

void solve_triangular_in_place(const Tensor& factor, const Tensor& x, bool upper,
                               bool unitriangular) {
  const std::int64_t size = x.size(1);
  for (std::int64_t done = 0; done < size; done += matrix_block) {
    const std::int64_t width = std::min(matrix_block, size - done);
    const std::int64_t start = upper ? size - done - width : done;
    if (done > 0) {
      const std::int64_t from = upper ? start + width : 0;
      sub_(matrix_rows(x, start, width),
           matmul(matrix_part(factor, start, width, from, done), matrix_rows(x, from, done)));
    }
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t j = start + (upper ? width - 1 - i : i), left = width - 1 - i;
      const Tensor row = matrix_rows(x, j, 1);
      if (!unitriangular) div_(row, matrix_part(factor, j, 1, j, 1));
      if (left == 0) break;
      const std::int64_t next = upper ? start : j + 1;
      sub_(matrix_rows(x, next, left), mul(matrix_part(factor, next, left, j, 1), row));
    }
  }
}

Dims batch_of_triangular_system(const Tensor& A, const Tensor& B, bool left) {
  const char* const op = "linalg_solve_triangular";
  check_square(op, "A", A);
  check_matrices(op, "B", B);
  check_dtypes_agree(op, A, B);
  return batch_of_system(op, A, B, left);
}

Tensor triangular_solution(const Tensor& A, const Tensor& B, bool upper, bool left,
                           bool unitriangular) {
  const Dims batch = batch_of_triangular_system(A, B, left);
  const Tensor wanted = expand_batch(B, batch);
  if (is_shape_alone(wanted)) return zeros(wanted.shape(), B.dtype(), B.device());
  const Tensor factor = flat_batch(expand_batch(A, batch)), given = flat_batch(wanted);
  if (left) {
    const Tensor x = fresh_matrices(given);
    solve_triangular_in_place(factor, x, upper, unitriangular);
    return with_batch(x, batch);
  }
  // The transposed system, with the other half.
  const Tensor x = fresh_matrices(transpose_last(given));
  solve_triangular_in_place(transpose_last(factor), x, !upper, unitriangular);
  return with_batch(contiguous(transpose_last(x)), batch);
}

Tensor cholesky_solution(const Tensor& input, const Tensor& factor, bool upper) {
  check_matrices("cholesky_solve", "input", input);
  check_square("cholesky_solve", "input2", factor);
  const Tensor turned = adjoint(factor);
  const Tensor& lower = upper ? turned : factor;
  const Tensor& other = upper ? factor : turned;
  return linalg_solve_triangular(other, linalg_solve_triangular(lower, input, false), true);
}

Tensor cholesky_inverted(const Tensor& input, bool upper) {
  check_square("cholesky_inverse", "input", input);
  const std::int64_t size = input.size(-1);
  return cholesky_solve(expand(eye_like(input, size, size), input.shape()), input, upper);
}

LinalgLuFactorResult lu_by_blocks(const Tensor& A, bool pivot) {
  check_matrices("linalg_lu_factor", "A", A);
  const std::int64_t rows = A.size(-2), columns = A.size(-1), size = std::min(rows, columns);
  if (is_shape_alone(A))
    return {zeros_in_batch(A, rows, columns), zeros(batch_of_vectors(A, size), i32, A.device())};
  const Tensor given = flat_batch(A);
  const Tensor lu = fresh_matrices(given);
  std::vector<Tensor> pivots;
  for (std::int64_t start = 0; start < size; start += matrix_block) {
    const std::int64_t width = std::min(matrix_block, size - start), below = rows - start;
    const LuPanel panel = factor_columns(matrix_part(lu, start, below, start, width), pivot);
    if (pivot) {
      const Tensor rest = matrix_rows(lu, start, below);
      copy_(rest, gather(rest, 1, expand(transpose_last(panel.order), rest.shape())));
    }
    copy_(matrix_part(lu, start, below, start, width), transpose_last(panel.columns));
    eliminate_right_of(lu, start, width);
    for (const Tensor& each : panel.pivots) pivots.push_back(add(each, start + 1));
  }
  const Dims shape = batch_of_vectors(A, size);
  const Tensor numbers = pivot ? cat(pivots, 2) : add(places_along(A, size), 1);
  const Tensor all = expand(numbers, {given.size(0), 1, size});
  return {with_batch(lu, batch_of_matrices(A)), reshape(cast(all, i32), shape)};
}

Tensor order_by_pivots(const Tensor& pivots, std::int64_t rows) {
  const std::int64_t batch = pivots.size(0), count = pivots.size(1);
  const Tensor places = places_along(pivots, rows);
  const Tensor order = fresh_matrices(expand(places, {batch, 1, rows}));
  const Tensor others = reshape(sub(cast(pivots, i64), 1), {batch, 1, count});
  for (std::int64_t i = 0; i < count; ++i) swap_places(order, i, narrow(others, 2, i, 1), places);
  return order;
}

LuUnpackResult lu_parts(const Tensor& data, const Tensor& pivots) {
  check_matrices("lu_unpack", "LU_data", data);
  const std::int64_t rows = data.size(-2), columns = data.size(-1), size = std::min(rows, columns);
  BP_CHECK(pivots.dtype() == i32 && pivots.shape() == IntList(batch_of_vectors(data, size)),
           "lu_unpack: LU_pivots is {} of shape {} for LU_data of shape {}; pass what "
           "linalg_lu_factor gives",
           name(pivots.dtype()), to_string(pivots.shape()), to_string(data.shape()));
  Dims square = batch_of_matrices(data);
  square.push_back(rows);
  square.push_back(rows);
  const Tensor lower = add(tril(narrow(data, -1, 0, size), -1), eye_like(data, rows, size));
  const Tensor upper = triu(narrow(data, -2, 0, size));
  if (is_shape_alone(data)) return {expand(eye_like(data, rows, rows), square), lower, upper};
  const Tensor order = order_by_pivots(reshape(pivots, {-1, size}), rows);
  const Tensor numbers = reshape(arange(0, rows, 1, i64, data.device()), {rows, 1});
  return {reshape(cast(eq(numbers, order), data.dtype()), square), lower, upper};
}

}  // namespace bp
