// A product keeps a tile of its result in registers: rows times vectors, of which each step of the inner dimension
// takes one vector load a column and one broadcast a row.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/attention.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>

#include "tile/attention.hpp"
#include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

template <class T> using BlockLanes = hn::ScalableTag<T>;
template <class T> using BlockVector = hn::Vec<BlockLanes<T>>;

// With 32 registers 24 sums, 4 vectors and a broadcast; with 16, 12 sums and 2 vectors.
constexpr int tile_vectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

template <int rows, int vectors, class T>
HWY_INLINE void multiply_tile(const BlockProduct<T>& p, int64_t row, const T* b, T* c) {
  const BlockLanes<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  BlockVector<T> sums[rows][vectors];
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = p.adds ? hn::LoadU(d, c + i * p.c_row + v * lanes) : hn::Zero(d);
  const T* a = p.a + row * p.a_row;
  for (int64_t k = 0; k < p.inner; ++k, a += p.a_column, b += p.b_row) {
    BlockVector<T> right[vectors];
    for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
    for (int i = 0; i < rows; ++i) {
      const auto left = hn::Set(d, a[i * p.a_row]);
      for (int v = 0; v < vectors; ++v) sums[i][v] = hn::MulAdd(left, right[v], sums[i][v]);
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) hn::StoreU(sums[i][v], d, c + i * p.c_row + v * lanes);
}

template <int vectors, class T>
HWY_INLINE void multiply_columns(const BlockProduct<T>& p, const T* b, T* c) {
  int64_t row = 0;
  for (; row + 6 <= p.rows; row += 6) multiply_tile<6, vectors>(p, row, b, c + row * p.c_row);
  for (; row + 4 <= p.rows; row += 4) multiply_tile<4, vectors>(p, row, b, c + row * p.c_row);
  for (; row + 2 <= p.rows; row += 2) multiply_tile<2, vectors>(p, row, b, c + row * p.c_row);
  for (; row < p.rows; ++row) multiply_tile<1, vectors>(p, row, b, c + row * p.c_row);
}

template <class T> void multiply(const BlockProduct<T>& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(BlockLanes<T>()));
  const int64_t wide = tile_vectors * lanes;
  for (int64_t column = 0; column < p.columns;) {
    const T* b = p.b + column / panel_columns<T> * p.b_panel + column % panel_columns<T>;
    T* c = p.c + column;
    if (column + wide - lanes < p.columns) {
      multiply_columns<tile_vectors>(p, b, c);
      column += wide;
    } else if (column + lanes < p.columns) {
      multiply_columns<2>(p, b, c);
      column += 2 * lanes;
    } else {
      multiply_columns<1>(p, b, c);
      column += lanes;
    }
  }
}

// Whole vectors of a row, and then what remains of it, other lanes 0.
template <class T, class F> HWY_INLINE void over_row(int64_t count, F f) {
  const BlockLanes<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) f(i, static_cast<size_t>(lanes));
  if (i < count) f(i, static_cast<size_t>(count - i));
}
template <class T> HWY_INLINE BlockVector<T> load_lanes(const T* from, size_t size) {
  const BlockLanes<T> d;
  return size == hn::Lanes(d) ? hn::LoadU(d, from) : load_part(d, from, size);
}
template <class T> HWY_INLINE void store_lanes(BlockVector<T> value, T* to, size_t size) {
  const BlockLanes<T> d;
  if (size == hn::Lanes(d))
    hn::StoreU(value, d, to);
  else
    store_part(value, d, to, size);
}
template <class T>
HWY_INLINE BlockVector<T> first_lanes(BlockVector<T> value, size_t size, T otherwise) {
  const BlockLanes<T> d;
  if (size == hn::Lanes(d)) return value;
  return hn::IfThenElse(hn::FirstN(d, size), value, hn::Set(d, otherwise));
}

template <class T>
HWY_INLINE BlockVector<T> score_at(const ScoreBlock<T>& block, int64_t row, int64_t i,
                                   size_t size) {
  const BlockLanes<T> d;
  const auto score =
      hn::Mul(load_lanes(block.scores + row * block.row + i, size), hn::Set(d, block.scale));
  if (block.bias == nullptr) return score;
  return hn::Add(score, load_lanes(block.bias + row * block.bias_row + i, size));
}

// Each step goes over all rows before the next one begins: within a row every step waits for the one before, and between
// rows nothing waits (8 heads of 2048: 36 against 32 ms, with the larger blocks).
template <class T> struct SoftmaxPasses {
  explicit SoftmaxPasses(const SoftmaxStep<T>& of) : step(of), block(of.block) {}

  const SoftmaxStep<T>& step;
  const ScoreBlock<T>& block;
  T shift[most_block_rows], sum[most_block_rows], factor[most_block_rows];

  // Scores are scaled, and `largest` is that of all blocks so far.
  HWY_INLINE void find_largest(int64_t row) {
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    const BlockLanes<T> d;
    T* weights = block.scores + row * block.row;
    auto best = hn::Set(d, step.largest[row]);
    over_row<T>(block.columns, [&](int64_t i, size_t size) HWY_ATTR {
      const auto score = score_at(block, row, i, size);
      store_lanes(score, weights + i, size);
      best = hn::Max(best, first_lanes(score, size, lowest));
    });
    const T largest = hn::GetLane(hn::MaxOfLanes(d, best));
    // Nothing but -inf so far: their exponentials are 0, which -inf - -inf would not give.
    shift[row] = largest == lowest ? T(0) : largest;
    factor[row] = step.largest[row] - shift[row];
    step.largest[row] = largest;
  }

  HWY_INLINE void find_weights(int64_t row) {
    const BlockLanes<T> d;
    T* weights = block.scores + row * block.row;
    auto total = hn::Zero(d);
    const auto by = hn::Set(d, shift[row]);
    over_row<T>(block.columns, [&](int64_t i, size_t size) HWY_ATTR {
      const auto e = exp_bounded(d, hn::Sub(load_lanes(weights + i, size), by));
      store_lanes(e, weights + i, size);
      total = hn::Add(total, first_lanes(e, size, T(0)));
    });
    sum[row] = hn::GetLane(hn::SumOfLanes(d, total));
  }

  HWY_INLINE void find_factors() {
    over_row<T>(block.rows, [&](int64_t i, size_t size) HWY_ATTR {
      const BlockLanes<T> d;
      const auto by = exp_bounded(d, load_lanes(factor + i, size));
      store_lanes(by, factor + i, size);
      store_lanes(hn::MulAdd(load_lanes(step.total + i, size), by, load_lanes(sum + i, size)),
                  step.total + i, size);
    });
  }

  HWY_INLINE void shrink_sums(int64_t row) {
    if (factor[row] == 1) return;
    const BlockLanes<T> d;
    const auto by = hn::Set(d, factor[row]);
    T* sums = step.sums + row * step.sums_row;
    over_row<T>(step.size, [&](int64_t i, size_t size) HWY_ATTR {
      store_lanes(hn::Mul(load_lanes(sums + i, size), by), sums + i, size);
    });
  }
};

template <class T> void softmax(const SoftmaxStep<T>& step) {
  SoftmaxPasses<T> passes(step);
  const int64_t rows = step.block.rows;
  for (int64_t row = 0; row < rows; ++row) passes.find_largest(row);
  for (int64_t row = 0; row < rows; ++row) passes.find_weights(row);
  passes.find_factors();
  for (int64_t row = 0; row < rows; ++row) passes.shrink_sums(row);
}

template <class T> void softmax_back_row(const SoftmaxBackStep<T>& step, int64_t row) {
  const BlockLanes<T> d;
  const ScoreBlock<T>& block = step.block;
  T* weights = block.scores + row * block.row;
  T* gradients = step.gradients + row * block.row;
  const auto sum = hn::Set(d, step.logsumexp[row]), shift = hn::Set(d, step.shift[row]);
  over_row<T>(block.columns, [&](int64_t i, size_t size) HWY_ATTR {
    const auto weight = exp(d, hn::Sub(score_at(block, row, i, size), sum));
    const auto gradient = hn::Sub(load_lanes(gradients + i, size), shift);
    store_lanes(weight, weights + i, size);
    store_lanes(hn::Mul(hn::Mul(weight, gradient), hn::Set(d, block.scale)), gradients + i, size);
  });
}

template <class T>
void dot(T* out, const T* a, int64_t a_row, const T* b, int64_t b_row, int64_t rows, int64_t size) {
  const BlockLanes<T> d;
  for (int64_t row = 0; row < rows; ++row, a += a_row, b += b_row) {
    auto sum = hn::Zero(d);
    over_row<T>(size, [&](int64_t i, size_t part) HWY_ATTR {
      sum = hn::MulAdd(load_lanes(a + i, part), load_lanes(b + i, part), sum);
    });
    out[row] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

}  // namespace

void multiply_block_f32(const BlockProduct<float>& product) {
  multiply(product);
}
void multiply_block_f64(const BlockProduct<double>& product) {
  multiply(product);
}
void softmax_step_f32(const SoftmaxStep<float>& step) {
  softmax(step);
}
void softmax_step_f64(const SoftmaxStep<double>& step) {
  softmax(step);
}
void softmax_back_f32(const SoftmaxBackStep<float>& step) {
  for (int64_t row = 0; row < step.block.rows; ++row) softmax_back_row(step, row);
}
void softmax_back_f64(const SoftmaxBackStep<double>& step) {
  for (int64_t row = 0; row < step.block.rows; ++row) softmax_back_row(step, row);
}
void dot_rows_f32(float* out, const float* a, int64_t a_row, const float* b, int64_t b_row,
                  int64_t rows, int64_t size) {
  dot(out, a, a_row, b, b_row, rows, size);
}
void dot_rows_f64(double* out, const double* a, int64_t a_row, const double* b, int64_t b_row,
                  int64_t rows, int64_t size) {
  dot(out, a, a_row, b, b_row, rows, size);
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(multiply_block_f32);
HWY_EXPORT(multiply_block_f64);
HWY_EXPORT(softmax_step_f32);
HWY_EXPORT(softmax_step_f64);
HWY_EXPORT(softmax_back_f32);
HWY_EXPORT(softmax_back_f64);
HWY_EXPORT(dot_rows_f32);
HWY_EXPORT(dot_rows_f64);

void multiply_block(const BlockProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_block_f32)(product);
}
void multiply_block(const BlockProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_block_f64)(product);
}
void step_softmax(const SoftmaxStep<float>& step) {
  HWY_DYNAMIC_DISPATCH(softmax_step_f32)(step);
}
void step_softmax(const SoftmaxStep<double>& step) {
  HWY_DYNAMIC_DISPATCH(softmax_step_f64)(step);
}
void step_softmax_back(const SoftmaxBackStep<float>& step) {
  HWY_DYNAMIC_DISPATCH(softmax_back_f32)(step);
}
void step_softmax_back(const SoftmaxBackStep<double>& step) {
  HWY_DYNAMIC_DISPATCH(softmax_back_f64)(step);
}
void dot_rows(float* out, const float* a, int64_t a_row, const float* b, int64_t b_row,
              int64_t rows, int64_t size) {
  HWY_DYNAMIC_DISPATCH(dot_rows_f32)(out, a, a_row, b, b_row, rows, size);
}
void dot_rows(double* out, const double* a, int64_t a_row, const double* b, int64_t b_row,
              int64_t rows, int64_t size) {
  HWY_DYNAMIC_DISPATCH(dot_rows_f64)(out, a, a_row, b, b_row, rows, size);
}

}  // namespace bp::cpu::tile
#endif
