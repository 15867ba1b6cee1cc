// The steps of attention in blocks, as vector code for f32 and f64: products of small matrices, and what softmax
// does to a block of scores on the way there and back.
#pragma once

#include <cstdint>

#include "../constants.hpp"

namespace bp::cpu::tile {

// Columns of a right factor that lie together: one panel of a product's loops.
template <class T> inline constexpr int64_t panel_columns = 256 / static_cast<int64_t>(sizeof(T));
// Rows of blocks are this much apart from a whole number of vectors, for every instruction set.
template <class T> inline constexpr int64_t row_multiple = 64 / static_cast<int64_t>(sizeof(T));

// A block of scores has no more rows.
inline constexpr int64_t most_block_rows = constants::attention_queries;

// c = a * b, or c += a * b. Whole vectors of b's rows are read and of c's written: both have room up to the
// next multiple of row_multiple columns.
template <class T> struct BlockProduct {
  T* c;
  int64_t c_row;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_panel;  // from one row, from one panel to the next
  int64_t rows, columns, inner;
  bool adds;
};
void multiply_block(const BlockProduct<float>& product);
void multiply_block(const BlockProduct<double>& product);

template <class T> struct ScoreBlock {
  T* scores;      // [rows, columns]; become scores * scale + bias, and then weights
  const T* bias;  // may be NULL
  int64_t row, bias_row;
  int64_t rows, columns;
  T scale;
};

// Takes a block into sums that are under way: scores become e^(score - largest), where `largest` is that of all
// blocks so far; `total` and the rows of `sums`, of `size` elements, are made smaller to fit a new largest.
template <class T> struct SoftmaxStep {
  ScoreBlock<T> block;
  T* largest;
  T* total;
  T* sums;
  int64_t sums_row, size;
};
void step_softmax(const SoftmaxStep<float>& step);
void step_softmax(const SoftmaxStep<double>& step);

// Scores become weights again, e^(score - logsumexp), and `gradients`, those by the weights, become those by the
// scores before their scaling: weight * (gradient - shift) * scale.
template <class T> struct SoftmaxBackStep {
  ScoreBlock<T> block;
  T* gradients;  // rows as far apart as those of the scores
  const T* logsumexp;
  const T* shift;
};
void step_softmax_back(const SoftmaxBackStep<float>& step);
void step_softmax_back(const SoftmaxBackStep<double>& step);

// The products of each row of a and b, summed up.
void dot_rows(float* out, const float* a, int64_t a_row, const float* b, int64_t b_row,
              int64_t rows, int64_t size);
void dot_rows(double* out, const double* a, int64_t a_row, const double* b, int64_t b_row,
              int64_t rows, int64_t size);

}  // namespace bp::cpu::tile
