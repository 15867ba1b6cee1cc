// Eigenvalues and singular values by Jacobi's rotations, all disjoint pairs of a round at once (Brent and Luk 1985).
#include <algorithm>
#include <bit>
#include <utility>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/matrices.hpp"
#include "decompositions/orthogonal.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// Convergence is quadratic, but for many equal or graded values it begins late; a fixed number, so that nobody waits for
// the device.
std::int64_t num_sweeps(std::int64_t size) {
  if (size <= 2) return 3;
  return (size < 32 ? 6 : 8) + std::bit_width(static_cast<std::uint64_t>(size - 1));
}

// The rotations for pairs of places i and i + half. Those of complex numbers first multiply the second place by a phase.
struct Rotations {
  Tensor cosines, sines, phases;
};

// Smaller complex numbers have no phase to rely on, and do no harm beside 1.
double least_with_phase(Dtype real_dtype) {
  return real_dtype == f64 ? 0x1p-960 : 0x1p-100;
}

// Those that make zeros of `mixed` between `first` and `second`, real numbers, by the smaller angle.
Rotations real_rotations_for(const Tensor& first, const Tensor& mixed, const Tensor& second) {
  const Tensor distance = sub(second, first), twice = mul(mixed, 2);
  const Tensor divisor = add(abs(distance), sqrt(add(square(distance), square(twice))));
  const Tensor size = div(twice, where(gt(divisor, 0), divisor, 1));
  const Tensor tangent = where(ge(distance, 0), size, neg(size));
  const Tensor cosines = rsqrt(add(square(tangent), 1));
  return {cosines, mul(cosines, tangent), {}};
}

// With the phases, `mixed` is real: its sizes.
Rotations rotations_for(const Tensor& first, const Tensor& mixed, const Tensor& second) {
  if (!is_complex(mixed.dtype())) return real_rotations_for(first, mixed, second);
  const Tensor sizes = abs(mixed);
  const Tensor are_tiny = le(sizes, least_with_phase(sizes.dtype()));  // NaN is not
  const Tensor phases = where(are_tiny, 1, div(conj(mixed), where(are_tiny, 1, sizes)));
  const Rotations real = real_rotations_for(first, where(are_tiny, 0, sizes), second);
  return {cast(real.cosines, mixed.dtype()), cast(real.sines, mixed.dtype()), phases};
}

// Rotates the two halves of `dim`, and moves its places so that the next round has other pairs: the first stays, the
// others go round.
Tensor rotated(const Tensor& input, std::int64_t dim, const Rotations& by) {
  const std::int64_t half = input.size(dim) / 2;
  const Tensor upper = narrow(input, dim, 0, half);
  Tensor lower = narrow(input, dim, half, half);
  if (by.phases.defined()) lower = mul(lower, by.phases);
  const Tensor first = sub(mul(upper, by.cosines), mul(lower, by.sines));
  const Tensor second = add(mul(upper, by.sines), mul(lower, by.cosines));
  if (half == 1) return cat({first, second}, dim);
  return cat({narrow(first, dim, 0, 1), narrow(second, dim, 0, 1), narrow(first, dim, 1, half - 2),
              narrow(second, dim, 1, half - 1), narrow(first, dim, half - 1, 1)},
             dim);
}

// [batch, 1, half] by columns, and by rows.
Rotations turned_round(const Rotations& by) {
  return {transpose_last(by.cosines), transpose_last(by.sines),
          by.phases.defined() ? adjoint(by.phases) : Tensor()};
}

// The largest magnitude of each matrix, 1 for zeros: squares of what was divided by it stay within the range.
Tensor largest_in_matrices(const Tensor& flat) {
  const Tensor largest = max(abs(flat), {1, 2}, true);
  return where(gt(largest, 0), largest, 1);
}

// Of each column of [batch, n, k]: 1 or -1, so that its largest element, the first of equals, becomes positive. As [batch, 1, k].
Tensor signs_of_columns(const Tensor& vectors) {
  const Tensor largest = gather(vectors, 1, argmax(abs(vectors), 1, true));
  return cast(sub(mul(cast(ge(largest, 0), i32), 2), 1), vectors.dtype());
}

// What makes the largest element of each column positive. The one of complex numbers is the first of those that are as large
// within a thousandth.
struct Turns {
  Tensor factors;  // [batch, 1, k]
  Tensor places;   // of the largest elements, if they are complex
};
Turns turns_of_columns(const Tensor& vectors) {
  if (!is_complex(vectors.dtype())) return {signs_of_columns(vectors), {}};
  const Tensor sizes = abs(vectors);
  const Tensor are_large = ge(sizes, mul(max(sizes, 1, true), 0.999));
  const Tensor places = argmax(cast(are_large, i32), 1, true);
  return {conj(sgn(gather(vectors, 1, places))), places};
}

Tensor turned_columns(const Tensor& vectors, const Turns& turns) {
  const Tensor turned = mul(vectors, turns.factors);
  if (!is_complex(vectors.dtype())) return turned;
  const Tensor numbers = reshape(arange(0, vectors.size(1), 1, i64, vectors.device()), {-1, 1});
  return where(eq(numbers, turns.places), real(turned), turned);
}

Tensor columns_in_order(const Tensor& input, const Tensor& order) {
  const Dims shape{input.size(0), input.size(1), order.size(-1)};
  return gather(input, 2, expand(unsqueeze(order, 1), shape));
}

// A zero dimension in front makes the size even. It keeps its place, and is never mixed with others.
Tensor with_even_columns(const Tensor& input) {
  return input.size(2) % 2 == 0 ? input : constant_pad_nd(input, {1, 0});
}

struct FlatEigh {
  Tensor values, vectors;
};
FlatEigh flat_eigh(const Tensor& hermitian) {
  const std::int64_t batch = hermitian.size(0), given = hermitian.size(1);
  const std::int64_t size = given + given % 2, half = size / 2, before = size - given;
  const Tensor matrix = constant_pad_nd(hermitian, {before, 0, before, 0});
  // The matrix, and below it what rotates with its columns alone.
  Tensor both = cat({matrix, expand(eye_like(matrix, size, size), {batch, size, size})}, 1);
  for (std::int64_t round = 0; round < num_sweeps(given) * (size - 1); ++round) {
    const auto diagonal_of = [&](std::int64_t row, std::int64_t column) {
      return unsqueeze(diagonal(matrix_part(both, row, half, column, half), 0, 1, 2), 1);
    };
    const Rotations by = rotations_for(real_part_of(diagonal_of(0, 0)), diagonal_of(0, half),
                                       real_part_of(diagonal_of(half, half)));
    const Tensor turned = rotated(both, 2, by);
    both = cat({rotated(matrix_rows(turned, 0, size), 1, turned_round(by)),
                matrix_rows(turned, size, size)},
               1);
  }
  const Tensor values = diagonal(matrix_part(both, before, given, before, given), 0, 1, 2);
  return {real_part_of(values), matrix_part(both, size + before, given, before, given)};
}

// Rotates columns of `flat`, [batch, n, m], until they are orthogonal: returns them with the rotations below.
Tensor orthogonal_columns(const Tensor& flat) {
  const std::int64_t batch = flat.size(0), rows = flat.size(1), columns = flat.size(2);
  const Tensor turns = expand(eye_like(flat, columns, columns), {batch, columns, columns});
  Tensor both = with_even_columns(cat({flat, turns}, 1));
  const std::int64_t size = both.size(2), half = size / 2;
  for (std::int64_t round = 0; round < num_sweeps(columns) * (size - 1); ++round) {
    const Tensor first = matrix_part(both, 0, rows, 0, half);
    const Tensor second = matrix_part(both, 0, rows, half, half);
    const Rotations by = rotations_for(sum(squared_sizes(first), 1, true),
                                       sum(mul(conjugate_of(first), second), 1, true),
                                       sum(squared_sizes(second), 1, true));
    both = rotated(both, 2, by);
  }
  return narrow(both, 2, size - columns, columns);
}

// With a largest one of the first `rows` components that is real: what QR completes columns with depends on their phases.
Tensor in_phase(const Tensor& columns, std::int64_t rows) {
  if (!is_complex(columns.dtype())) return columns;
  const Tensor factors = turns_of_columns(matrix_rows(columns, 0, rows)).factors;
  return mul(columns, where(ne(factors, 0), factors, 1));
}

struct FlatSvd {
  Tensor left, values, right;  // [batch, n, k or n], [batch, 1, m], [batch, m, m]
};

// Of matrices with at least as many rows as columns. QR of the orthogonal columns, the longest first, makes vectors of
// them, and of those that are zero too.
FlatSvd flat_svd(const Tensor& flat, bool full_matrices) {
  const std::int64_t rows = flat.size(1), columns = flat.size(2);
  const Tensor scale = largest_in_matrices(flat);
  const Tensor both = orthogonal_columns(div(flat, scale));
  const Tensor lengths = sqrt(sum(squared_sizes(matrix_rows(both, 0, rows)), 1));
  const SortResult sorted = sort(lengths, -1, true);
  const Tensor ordered = in_phase(columns_in_order(both, sorted.indices), rows);
  const FlatQr made = flat_qr(matrix_rows(ordered, 0, rows), full_matrices ? rows : columns);
  const Tensor diagonals = diagonal(matrix_rows(made.r, 0, columns), 0, 1, 2);
  const Tensor heads = unsqueeze(real_part_of(diagonals), 1);
  const Tensor turned = where(lt(heads, 0), -1, where(ge(heads, 0), 1, heads));
  const Tensor right = mul(matrix_rows(ordered, rows, columns), turned);
  return {made.q, mul(unsqueeze(sorted.values, 1), scale), right};
}

// Signs by the left vectors, where there are any, else by the right ones.
void unify_signs(Tensor& left, Tensor& right) {
  const std::int64_t common = std::min(left.size(2), right.size(2));
  const Turns of_left = turns_of_columns(left);
  const Tensor shared = narrow(of_left.factors, 2, 0, common);
  left = turned_columns(left, of_left);
  if (right.size(2) == common) {
    right = mul(right, shared);
    return;
  }
  const Tensor rest = narrow(right, 2, common, right.size(2) - common);
  right = mul(right, cat({shared, turns_of_columns(rest).factors}, 2));
}

// Of [batch, n, n]. What would be the imaginary part of the diagonal is not read.
Tensor hermitian_of_half(const Tensor& given, bool is_upper) {
  const Tensor whole = is_upper ? add(triu(given), adjoint(triu(given, 1)))
                                : add(tril(given), adjoint(tril(given, -1)));
  if (is_complex(given.dtype())) fill_(imag(diagonal(whole, 0, 1, 2)), 0);
  return whole;
}

}  // namespace

void check_eigh_arguments(const char* op, const Tensor& input, std::string_view half) {
  check_square(op, "input", input);
  BP_CHECK(half == "L" || half == "U" || half == "l" || half == "u",
           "{}: UPLO is '{}'; choose 'L' or 'U'", op, half);
}

LinalgEighResult eigh_by_rotations(const Tensor& input, std::string_view half) {
  check_eigh_arguments("linalg_eigh", input, half);
  const std::int64_t size = input.size(-1);
  if (is_shape_alone(input))
    return {zeros(batch_of_vectors(input, size), to_real(input.dtype()), input.device()),
            zeros_in_batch(input, size, size)};
  const bool is_upper = half == "U" || half == "u";
  const Tensor given = flat_batch(input);
  const Tensor hermitian = hermitian_of_half(given, is_upper);
  const Tensor scale = largest_in_matrices(hermitian);
  const FlatEigh made = flat_eigh(div(hermitian, scale));
  const SortResult sorted = sort(made.values, -1);
  const Tensor vectors = columns_in_order(made.vectors, sorted.indices);
  const Tensor values = mul(sorted.values, squeeze(scale, {2}));
  return {reshape(values, batch_of_vectors(input, size)),
          with_batch(turned_columns(vectors, turns_of_columns(vectors)), batch_of_matrices(input))};
}

LinalgSvdResult svd_by_rotations(const Tensor& A, bool full_matrices) {
  check_matrices("linalg_svd", "A", A);
  const std::int64_t rows = A.size(-2), columns = A.size(-1), size = std::min(rows, columns);
  const Dims batch = batch_of_matrices(A), shape = batch_of_vectors(A, size);
  if (is_shape_alone(A)) {
    const std::int64_t left = full_matrices ? rows : size, right = full_matrices ? columns : size;
    return {add(zeros_in_batch(A, rows, left), eye_like(A, rows, left)),
            zeros(shape, to_real(A.dtype()), A.device()),
            add(zeros_in_batch(A, right, columns), eye_like(A, right, columns))};
  }
  const bool is_wide = rows < columns;
  const Tensor given = flat_batch(A);
  FlatSvd made = flat_svd(is_wide ? adjoint(given) : given, full_matrices);
  if (is_wide) std::swap(made.left, made.right);
  unify_signs(made.left, made.right);
  return {with_batch(made.left, batch), reshape(made.values, shape),
          with_batch(contiguous(adjoint(made.right)), batch)};
}

}  // namespace bp
