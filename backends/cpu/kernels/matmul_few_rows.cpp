// The matrix is as large as all the work: each of its numbers is read once, and meets all rows from a register.
#include "../constants.hpp"
#include "../tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_few_rows.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "../rounding.hpp"
#include "../threads.hpp"
#include "matmul_few_rows.hpp"

#ifndef BP_CPU_MATMUL_FEW_ROWS_ONCE
#  define BP_CPU_MATMUL_FEW_ROWS_ONCE
namespace bp::cpu::few_rows {

// Whose sums of two vectors of columns lie in 16 registers, beside two of b and a factor.
constexpr int64_t rows_in_registers = 6;

}  // namespace bp::cpu::few_rows
#endif

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::few_rows {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

struct Factors {
  const float *a, *b;
  float* out;
  int64_t n, k;
  int64_t a_row, a_column;
  int64_t b_line;  // from one row of b to the next, or from one column

  explicit Factors(const Product& p)
      : a(reinterpret_cast<const float*>(p.a.data)), b(reinterpret_cast<const float*>(p.b.data)),
        out(reinterpret_cast<float*>(p.out)), n(p.n), k(p.k), a_row(p.a.row_stride),
        a_column(p.a.column_stride),
        b_line(p.b.column_stride == 1 ? p.b.row_stride : p.b.column_stride) {}
};

// ---- b by rows: sums stay in the result, to which those of several rows of b are added at a time, so that long ones lose little

// So many rows of b, from `row` on, in `vectors` vectors of columns from `column` on.
template <int m, int rows, int vectors>
HWY_INLINE void take_in(const Factors& p, int64_t row, int64_t column) {
  Vector sums[m][vectors];
  for (int i = 0; i < m; ++i)
    for (int v = 0; v < vectors; ++v) sums[i][v] = hn::Zero(Floats());
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const float* const from = p.b + (row + r) * p.b_line + column;
    Vector numbers[vectors];
    for (int v = 0; v < vectors; ++v) numbers[v] = hn::LoadU(Floats(), from + v * lanes);
    for (int i = 0; i < m; ++i) {
      const auto factor = hn::Set(Floats(), p.a[i * p.a_row + (row + r) * p.a_column]);
      for (int v = 0; v < vectors; ++v) sums[i][v] = hn::MulAdd(factor, numbers[v], sums[i][v]);
    }
  }
  for (int i = 0; i < m; ++i)
    for (int v = 0; v < vectors; ++v) {
      float* const to = p.out + i * p.n + column + v * lanes;
      if (row > 0) sums[i][v] = hn::Add(sums[i][v], hn::LoadU(Floats(), to));
      hn::StoreU(sums[i][v], Floats(), to);
    }
}

template <int m, int rows>
void take_in_rows(const Factors& p, int64_t row, int64_t begin, int64_t end) {
  constexpr int vectors = rows == 1 ? 1 : 2;
  int64_t column = begin;
  for (; column + vectors * lanes <= end; column += vectors * lanes)
    take_in<m, rows, vectors>(p, row, column);
  for (; column + lanes <= end; column += lanes) take_in<m, rows, 1>(p, row, column);
  for (; column < end; ++column)
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int r = 0; r < rows; ++r)
        sum += p.a[i * p.a_row + (row + r) * p.a_column] * p.b[(row + r) * p.b_line + column];
      float& to = p.out[i * p.n + column];
      to = row == 0 ? sum : to + sum;
    }
}

// Columns from `begin` to `end`.
template <int m> void by_rows(const Factors& p, int64_t begin, int64_t end) {
  constexpr int together = 8;
  int64_t row = 0;
  for (; row + together <= p.k; row += together) take_in_rows<m, together>(p, row, begin, end);
  for (; row < p.k; ++row) take_in_rows<m, 1>(p, row, begin, end);
}

// ---- b by columns: each is multiplied with all rows of a, some columns together

template <int m, int columns> HWY_INLINE void dot(const Factors& p, int64_t first) {
  Vector sums[m][columns];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(Floats());
  const float* const b = p.b + first * p.b_line;
  int64_t k = 0;
  for (; k + lanes <= p.k; k += lanes) {
    Vector numbers[columns];
    for (int j = 0; j < columns; ++j) numbers[j] = hn::LoadU(Floats(), b + j * p.b_line + k);
    for (int i = 0; i < m; ++i) {
      const auto factors = hn::LoadU(Floats(), p.a + i * p.a_row + k);
      for (int j = 0; j < columns; ++j) sums[i][j] = hn::MulAdd(factors, numbers[j], sums[i][j]);
    }
  }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < columns; ++j) {
      float sum = hn::GetLane(hn::SumOfLanes(Floats(), sums[i][j]));
      for (int64_t rest = k; rest < p.k; ++rest)
        sum += p.a[i * p.a_row + rest] * b[j * p.b_line + rest];
      p.out[i * p.n + first + j] = sum;
    }
}

template <int m> void by_columns(const Factors& p, int64_t begin, int64_t end) {
  constexpr int together = m == 1 ? 8 : m <= 3 ? 4 : m <= 6 ? 2 : 1;
  int64_t column = begin;
  for (; column + together <= end; column += together) dot<m, together>(p, column);
  for (; column < end; ++column) dot<m, 1>(p, column);
}

template <int m> void multiply_rows(const Product& product) {
  const Factors p(product);
  const bool is_by_rows = product.b.column_stride == 1;
  // As many columns for each thread, in whole vectors of any target.
  constexpr int64_t together = 64;
  const int64_t share = divide_up(divide_up(p.n, num_threads()), together) * together;
  const int64_t piece = std::min(constants::few_rows_columns, share);
  const int64_t step = is_by_rows ? piece : 8;
  const int64_t grain = std::max<int64_t>(1, constants::product_work / (m * p.k * step));
  parallel_for((p.n + step - 1) / step, grain, [&](int64_t begin, int64_t end) {
    if (!is_by_rows) return by_columns<m>(p, begin * step, std::min(p.n, end * step));
    if constexpr (m <= rows_in_registers)
      for (int64_t i = begin; i < end; ++i)
        by_rows<m>(p, i * piece, std::min(p.n, (i + 1) * piece));
  });
}

}  // namespace

void multiply(const Product& p) {
  // Without vectors nothing is gained.
  if constexpr (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128) return multiply_by_loops(p);
  switch (p.m) {
    case 1: return multiply_rows<1>(p);
    case 2: return multiply_rows<2>(p);
    case 3: return multiply_rows<3>(p);
    case 4: return multiply_rows<4>(p);
    case 5: return multiply_rows<5>(p);
    case 6: return multiply_rows<6>(p);
    case 7: return multiply_rows<7>(p);
    case 8: return multiply_rows<8>(p);
    default: return;  // has_few_rows
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bp::cpu::few_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu {
namespace few_rows {
HWY_EXPORT(multiply);
static void multiply_by_best(const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply)(p);
}
}  // namespace few_rows

bool has_few_rows(const Product& p) {
  const bool by_rows = p.b.column_stride == 1;
  const int64_t most = by_rows ? few_rows::rows_in_registers : constants::few_rows;
  const bool lies_well = by_rows || (p.b.row_stride == 1 && p.a.column_stride == 1);
  return p.dtype == BP_F32 && p.batch == 1 && p.m <= most && lies_well &&
         p.n >= constants::few_rows_side && p.k >= constants::few_rows_side;
}

void multiply_few_rows(const Product& product) {
  few_rows::multiply_by_best(product);
}

}  // namespace bp::cpu
#endif
