// How products are cut into parts that threads take.
#pragma once

#include <algorithm>

#include "../constants.hpp"
#include "../rounding.hpp"
#include "matmul.hpp"

namespace bp::cpu {

// Into some of a stack, or each product into bands of rows or of columns, or one into sums of some of its terms. The last
// part of each may be smaller.
struct ProductCut {
  enum Along { stack, rows, columns, terms } along;
  int64_t size;   // of a part
  int64_t parts;  // of the stack, or of one product

  // Across: by columns where rows would be usual, and by rows where columns would. Where oneDNN packs factors by size, products are
  // cut into fewer parts if these are then packed: what a late thread leaves to others is worth less. A left factor by columns, as
  // in every gradient to a weight, is slow to read where it lies: where neither rows nor columns can be cut so that it is packed,
  // terms are.
  static ProductCut of(const Product& p, int threads, bool across = false,
                       bool packs_by_size = false) {
    const ProductCut usual = into_parts(p, threads, constants::product_parts, across);
    if (!packs_by_size || p.batch > 1 || !is_read_in_place(usual.part(p, 0))) return usual;
    const ProductCut coarse = into_parts(p, threads, 1, across);
    if (coarse.parts == threads && !is_read_in_place(coarse.part(p, 0))) return coarse;
    const bool sums_pay = !across && threads > 1 && p.dtype == BP_F32 && p.a.row_stride == 1 &&
                          p.k >= threads * constants::terms_of_part && !is_read_in_place(p);
    return sums_pay ? cut(terms, p.k, constants::terms_of_part / 4, threads) : usual;
  }

  // oneDNN's code for AVX2 reads factors of smaller parts where they lie, and packs those of others. The bound is its own
  // (nocopy_checker_avx2).
  static bool is_read_in_place(const Product& part) {
    return 1.0 / static_cast<double>(part.m) + 1.0 / static_cast<double>(part.n) >= 0.0038;
  }

  int64_t count(const Product& p) const { return along == stack ? parts : parts * p.batch; }

  // Its result has the row stride p.n of the whole. Parts of terms have one place for all, where the caller adds them up.
  Product part(const Product& p, int64_t index) const {
    Product one = p;
    const int64_t item = p.dtype == BP_BF16 ? 2 : 4, first = index % parts * size;
    const int64_t below = along == stack ? first : index / parts;  // in the stack
    one.batch = along == stack ? std::min(size, p.batch - first) : 1;
    one.a.data += below * p.a.batch_stride * item;
    one.b.data += below * p.b.batch_stride * item;
    one.out += below * p.m * p.n * item;
    if (along == rows) {
      one.m = std::min(size, p.m - first);
      one.a.data += first * p.a.row_stride * item;
      one.out += first * p.n * item;
    } else if (along == columns) {
      one.n = std::min(size, p.n - first);
      one.b.data += first * p.b.column_stride * item;
      one.out += first * item;
    } else if (along == terms) {
      one.k = std::min(size, p.k - first);
      one.a.data += first * p.a.column_stride * item;
      one.b.data += first * p.b.row_stride * item;
    }
    return one;
  }

 private:
  static ProductCut into_parts(const Product& p, int threads, int64_t of_thread, bool across) {
    // Rows or columns of a part are a multiple of what oneDNN's kernels multiply at once. There are more parts than
    // threads, so that one that comes late leaves some to the others.
    constexpr int64_t row_step = 16, column_step = 64;
    const int64_t work = p.batch * p.m * p.n * p.k;
    const int64_t wanted =
        threads == 1 ? 1
                     : std::clamp<int64_t>(work / constants::product_work, 1, threads * of_thread);
    if (p.batch > 1 && p.batch >= std::min<int64_t>(wanted, threads))
      return cut(stack, p.batch, 1, wanted);
    const int64_t of_each = divide_up(wanted, p.batch);
    const bool by_rows = (p.m / row_step >= p.n / column_step) != across;
    // Of an odd number of terms of bf16, oneDNN multiplies the last by a 0 beside it where lines of a factor or of the result lie
    // apart (loses_last_of_pairs in matmul.cpp), as those of most bands do.
    if (p.dtype == BP_BF16 && p.k % 2 != 0)
      return p.a.column_stride == 1 ? cut(rows, p.m, row_step, of_each) : ProductCut{rows, p.m, 1};
    return by_rows ? cut(rows, p.m, row_step, of_each) : cut(columns, p.n, column_step, of_each);
  }

  static ProductCut cut(Along along, int64_t size, int64_t step, int64_t pieces) {
    const int64_t steps = divide_up(size, step);
    const int64_t each = divide_up(steps, pieces) * step;
    return {along, each, divide_up(size, each)};
  }
};

}  // namespace bp::cpu
