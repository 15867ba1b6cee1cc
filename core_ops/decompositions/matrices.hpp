// What operators of matrices share: checks, and [..., n, m] as one batch of matrices.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Loops over columns stay within so many; between them there are matrix products.
constexpr std::int64_t matrix_block = 32;

void check_matrices(const char* op, const char* what, const Tensor& input);
void check_square(const char* op, const char* what, const Tensor& input);
void check_dtypes_agree(const char* op, const Tensor& a, const Tensor& b);

// Without elements, or without memory: there is nothing to walk.
inline bool is_shape_alone(const Tensor& input) {
  return input.numel() == 0 || input.device() == meta_device;
}

// All sizes but the last two.
Dims batch_of_matrices(const Tensor& input);
// The same, and a last dimension of `length`.
Dims batch_of_vectors(const Tensor& matrices, std::int64_t length);
// Of the solutions of A X = B, or X A = B without `left`; an error where their sizes do not meet.
Dims batch_of_system(const char* op, const Tensor& A, const Tensor& B, bool left);
// Is B one vector for each matrix of A, or one for all?
bool is_vector_side(const Tensor& A, const Tensor& B);
// Up to which part of the largest one singular values count as 0, where nobody says.
double usual_cut(const Tensor& matrices);
// [..., n, m] as [batch, n, m], and back.
Tensor flat_batch(const Tensor& input);
Tensor with_batch(const Tensor& flat, IntList batch);
// The same with more batches, by repeating.
Tensor expand_batch(const Tensor& input, IntList batch);
// [batch, n, m] without gaps in memory of its own, which may be written.
Tensor fresh_matrices(const Tensor& flat);

// Parts of [batch, n, m].
Tensor matrix_rows(const Tensor& input, std::int64_t row, std::int64_t rows);
Tensor matrix_part(const Tensor& input, std::int64_t row, std::int64_t rows, std::int64_t column,
                   std::int64_t columns);
inline Tensor transpose_last(const Tensor& input) {
  return transpose(input, -1, -2);
}
// Without a call where the numbers are real.
Tensor conjugate_of(const Tensor& input);
Tensor real_part_of(const Tensor& input);
// The transposed conjugate; of real matrices the transposed one, as a view.
inline Tensor adjoint(const Tensor& input) {
  return conjugate_of(transpose_last(input));
}
// |z|^2 of each number.
Tensor squared_sizes(const Tensor& input);
// [n, m] with ones on the diagonal, like `input` in dtype and device.
Tensor eye_like(const Tensor& input, std::int64_t n, std::int64_t m);
Tensor zeros_in_batch(const Tensor& input, std::int64_t n, std::int64_t m);

}  // namespace bp
