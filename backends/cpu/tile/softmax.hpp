// Softmax and logsumexp of one row, and of columns, as vector code.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

struct SoftmaxRow {
  void* out;
  const void* in;    // may be `out`
  void* scratch;     // for `count` elements, or `out` itself
  const void* next;  // the row that comes next, to be fetched meanwhile, or NULL
  int64_t count;
  bool log;      // log_softmax
  bool streams;  // writes past the caches; the caller ends with finish_streaming()
  // So that memory is written while a row is computed: a row that `waits` is written by the one after it, whose `before` it is, and
  // has a scratch of its own. Both stream and are whole lines of the caches.
  bool waits;
  const SoftmaxRow* before;  // or NULL
  double shift,
      rest;  // of the row, results: its largest element, and the logarithm or the inverse of its sum
};

// Rows of f32 and f64. -inf alone in a row, or inf or NaN anywhere, gives NaN.
void softmax_f32(SoftmaxRow& row);
void softmax_f64(SoftmaxRow& row);

// Columns that are neighbours, each a line of the softmax: `count` rows of `width` numbers, `in_step` and `out_step` elements apart.
struct SoftmaxColumns {
  void* out;
  const void* in;  // may be `out`
  int64_t in_step, out_step;
  int64_t count, width;
  bool log;
};
void softmax_columns_f32(const SoftmaxColumns& columns);
void softmax_columns_f64(const SoftmaxColumns& columns);

// The logarithm of the sum of e^x over a row of at least one number, rounded to the row's type by whoever keeps it: inf where one is inf, -inf
// where all are -inf, NaN where one is NaN.
double logsumexp_f32(const void* row, int64_t count);
double logsumexp_f64(const void* row, int64_t count);
// The same of columns, into `width` neighbours from `out` on, which is not `in`.
void logsumexp_columns_f32(const SoftmaxColumns& columns);
void logsumexp_columns_f64(const SoftmaxColumns& columns);

}  // namespace bp::cpu::tile
