// Factors are read where they lie, in the first caches; sums of some rows by two vectors of columns stay in registers for all terms.
#include "../constants.hpp"
#include "../tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_small.cpp"
#include <algorithm>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "../threads.hpp"
#include "matmul_small.hpp"
#include "tile/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::small_products {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
// With two vectors of columns each: 16 sums of 32 registers, or 12 of 16.
constexpr int rows_at_once = HWY_TARGET <= HWY_AVX3 ? 8 : 6;

struct Factors {
  const float *a, *b;
  float* out;
  int64_t m, n, k;
  int64_t a_row, a_column, b_row;
};

// `last`: how many columns the last vector has; the others have all.
template <int rows, int vectors, bool is_full>
HWY_INLINE void block(const Factors& p, int64_t row, int64_t column, int64_t last) {
  const Floats d;
  const auto inside = hn::FirstN(d, static_cast<size_t>(last));
  Vector sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sums[i][v] = hn::Zero(d);
  const float *a = p.a + row * p.a_row, *b = p.b + column;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_column, b += p.b_row) {
    Vector numbers[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      numbers[v] = is_full ? hn::LoadU(d, b + v * lanes) : hn::MaskedLoad(inside, d, b + v * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const auto factor = hn::Set(d, a[i * p.a_row]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[i][v] = hn::MulAdd(factor, numbers[v], sums[i][v]);
    }
  }
  float* const out = p.out + row * p.n + column;
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      float* const to = out + i * p.n + v * lanes;
      if constexpr (is_full) {
        hn::StoreU(sums[i][v], d, to);
      } else {
        HWY_ALIGN float numbers[lanes];
        hn::Store(sums[i][v], d, numbers);
        std::memcpy(to, numbers, static_cast<size_t>(last) * sizeof *to);
      }
    }
}

template <int rows> HWY_NOINLINE void of_rows(const Factors& p, int64_t row) {
  int64_t column = 0;
  for (; column + 2 * lanes <= p.n; column += 2 * lanes)
    block<rows, 2, true>(p, row, column, lanes);
  for (; column + lanes <= p.n; column += lanes) block<rows, 1, true>(p, row, column, lanes);
  if (column < p.n) block<rows, 1, false>(p, row, column, p.n - column);
}

template <int rows> void from_row(const Factors& p, int64_t row) {
  for (; row + rows <= p.m; row += rows) of_rows<rows>(p, row);
  if constexpr (rows > 1) from_row<rows / 2>(p, row);
}

void multiply_one(const Product& product) {
  Factors p{reinterpret_cast<const float*>(product.a.data),
            reinterpret_cast<const float*>(product.b.data),
            reinterpret_cast<float*>(product.out),
            product.m,
            product.n,
            product.k,
            product.a.row_stride,
            product.a.column_stride,
            product.b.row_stride};
  if (product.b.column_stride == 1) return from_row<rows_at_once>(p, 0);
  alignas(64) float turned[constants::small_turned];
  tile::transpose({reinterpret_cast<char*>(turned), product.b.data, p.n, product.b.column_stride,
                   p.k, p.n, sizeof(float), false});
  p.b = turned;
  p.b_row = p.n;
  from_row<rows_at_once>(p, 0);
}

}  // namespace

void multiply(const Product& p) {
  const int64_t grain = std::max<int64_t>(1, constants::product_work / (p.m * p.n * p.k));
  parallel_for(p.batch, grain, [&](int64_t begin, int64_t end) {
    constexpr auto item = static_cast<int64_t>(sizeof(float));
    for (int64_t i = begin; i < end; ++i) {
      Product one = p;
      one.a.data += i * p.a.batch_stride * item;
      one.b.data += i * p.b.batch_stride * item;
      one.out += i * p.m * p.n * item;
      multiply_one(one);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace bp::cpu::small_products
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu {
namespace small_products {
HWY_EXPORT(multiply);
static void multiply_by_best(const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply)(p);
}
}  // namespace small_products

bool is_small(const Product& p) {
  constexpr int64_t fewest_columns = 8;
  const bool turns = p.b.column_stride != 1;
  return p.dtype == BP_F32 && p.m >= 2 && p.n >= fewest_columns && p.k <= constants::small_depth &&
         p.m * p.n * p.k <= constants::small_product &&
         (!turns || (p.b.row_stride == 1 && p.m >= constants::small_turned_rows &&
                     p.n * p.k <= constants::small_turned));
}

void multiply_small(const Product& product) {
  small_products::multiply_by_best(product);
}

}  // namespace bp::cpu
#endif
