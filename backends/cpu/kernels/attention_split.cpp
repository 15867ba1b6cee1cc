#include "attention_split.hpp"

#include "../constants.hpp"

#if defined(__x86_64__)
#  include <algorithm>
#  include <bit>
#  include <cmath>
#  include <limits>

#  include "attention.hpp"
#  include "split_squares.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,amx-tile,amx-bf16")

namespace bp::cpu {
namespace {

constexpr float unit_of_products = 1 / down;

int64_t groups_of(int64_t count) {
  return (count + square - 1) / square;
}

// Lines of a factor, packed: some groups of 32, each of whole steps.
class Packed {
 public:
  void pack(const Factor& factor, TileRows rows) {
    steps_ = groups_of(factor.k);
    const int64_t groups = groups_of(factor.lines);
    memory_.resize(static_cast<size_t>(groups * group_bytes()));
    char* to = memory_.data();
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t step = 0; step < steps_; ++step, to += step_bytes)
        pack_step(factor, group * square, step * tile_depth, rows, to);
  }

  // `count` lines from `line` on, with k from `k` on.
  PackedLines lines(int64_t line, int64_t count, int64_t k = 0) const {
    return {memory_.data() + line / square * group_bytes() + k / tile_depth * step_bytes,
            group_bytes(), groups_of(count)};
  }

 private:
  int64_t group_bytes() const { return steps_ * step_bytes; }

  int64_t steps_ = 0;
  Lines<char> memory_;
};

// Rows as lines of a factor, or as its k.
Factor by_rows(const RowsOfHead<float>& rows, int64_t count, int64_t size) {
  return {rows.data, count, rows.row, size, 1};
}
Factor by_columns(const RowsOfHead<float>& rows, int64_t count, int64_t size) {
  return {rows.data, size, 1, count, rows.row};
}
Factor by_rows(const Scores<float>& scores, const BlockAt& at) {
  return {scores.data, at.rows, scores.row, at.columns, 1};
}
Factor by_columns(const Scores<float>& scores, const BlockAt& at) {
  return {scores.data, at.columns, 1, at.rows, scores.row};
}

RowsOfHead<float> from_row(const RowsOfHead<float>& rows, int64_t i) {
  return {rows[i], rows.row};
}

// Of all magnitudes; an infinity or a NaN where there is one.
double largest_of(const float* numbers, int64_t count) {
  __m512i largest = _mm512_setzero_si512();
  for (int64_t i = 0; i < count; i += 16) {
    const __m512i bits = _mm512_maskz_loadu_epi32(first_of_16(count - i), numbers + i);
    largest = _mm512_max_epu32(largest, _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)));
  }
  return std::bit_cast<float>(_mm512_reduce_max_epu32(largest));
}
double largest_of(const RowsOfHead<float>& rows, int64_t count, int64_t size) {
  double largest = 0;
  // What is not a number stays.
  for (int64_t i = 0; i < count && largest < std::numeric_limits<double>::infinity(); ++i)
    if (const double row = largest_of(rows[i], size); !(row <= largest)) largest = row;
  return largest;
}

// Whether all of these stay finite when multiplied by the unit. NaNs do not.
bool are_small(std::initializer_list<double> bounds) {
  constexpr double limit = 0x1p62;
  return std::all_of(bounds.begin(), bounds.end(), [](double bound) { return bound < limit; });
}

class SplitForward final : public ForwardProducts<float> {
 public:
  explicit SplitForward(const HeadSizes& sizes) : n_(sizes) {}

  float unit() const override { return unit_of_products; }

  bool take_head(int64_t shared, const RowsOfHead<float>& queries, const RowsOfHead<float>& keys,
                 const RowsOfHead<float>& values) override {
    if (shared != shared_) {
      shared_ = shared;
      keys_.pack(by_rows(keys, n_.num_keys, n_.size), TileRows::pairs);
      values_.pack(by_columns(values, n_.num_keys, n_.value_size), TileRows::pairs);
      largest_key_ = largest_of(keys, n_.num_keys, n_.size);
      largest_value_ = largest_of(values, n_.num_keys, n_.value_size);
    }
    queries_ = queries;
    const double query = largest_of(queries, n_.num_queries, n_.size);
    return are_small({query, largest_key_, query * largest_key_ * static_cast<double>(n_.size),
                      largest_value_ * static_cast<double>(n_.num_keys)});
  }

  void multiply_keys(const BlockAt& at, const Scores<float>& scores) override {
    if (at.key == 0)
      rows_.pack(by_rows(from_row(queries_, at.query), at.rows, n_.size), TileRows::lines);
    multiply_packed(scores.data, scores.row, rows_.lines(0, at.rows),
                    keys_.lines(at.key, at.columns), groups_of(n_.size), false);
  }

  void add_values(const BlockAt& at, const Scores<float>& weights, float* sums,
                  int64_t row) override {
    weights_.pack(by_rows(weights, at), TileRows::lines);
    multiply_packed(sums, row, weights_.lines(0, at.rows), values_.lines(0, n_.value_size, at.key),
                    groups_of(at.columns), true);
  }

 private:
  const HeadSizes n_;
  const Tiles tiles_;
  int64_t shared_ = -1;
  RowsOfHead<float> queries_{};
  double largest_key_ = 0, largest_value_ = 0;
  Packed keys_, values_, rows_, weights_;
};

// Sums of rows by columns, in whole squares.
class SquareSums {
 public:
  void clear(int64_t rows, int64_t columns) {
    row_ = groups_of(columns) * square;
    numbers_.assign(static_cast<size_t>(groups_of(rows) * square * row_), 0.0f);
  }
  float* operator[](int64_t i) { return numbers_.data() + i * row_; }
  int64_t row() const { return row_; }

 private:
  int64_t row_ = 0;
  Lines<float> numbers_;
};

// The gradients of keys and values are summed transposed: so the blocks of weights and scores are right factors, which are
// packed as they lie.
class SplitBackward final : public BackwardProducts<float> {
 public:
  explicit SplitBackward(const HeadSizes& sizes) : n_(sizes) {}

  float unit() const override { return unit_of_products; }

  bool take_head(const RowsOfBackward<float>& rows, float scale, const float* shift) override {
    rows_ = rows;
    if (!fits(scale, shift)) return false;
    queries_.pack(by_rows(rows.queries, n_.num_queries, n_.size), TileRows::lines);
    grads_.pack(by_rows(rows.grads, n_.num_queries, n_.value_size), TileRows::lines);
    turned_queries_.pack(by_columns(rows.queries, n_.num_queries, n_.size), TileRows::lines);
    turned_grads_.pack(by_columns(rows.grads, n_.num_queries, n_.value_size), TileRows::lines);
    by_queries_.clear(n_.num_queries, n_.size);
    return true;
  }

  void take_keys(int64_t key, int64_t columns) override {
    key_ = key;
    columns_ = columns;
    const RowsOfHead<float> keys = from_row(rows_.keys, key), values = from_row(rows_.values, key);
    keys_.pack(by_rows(keys, columns, n_.size), TileRows::pairs);
    values_.pack(by_rows(values, columns, n_.value_size), TileRows::pairs);
    turned_keys_.pack(by_columns(keys, columns, n_.size), TileRows::pairs);
    by_keys_.clear(n_.size, columns);
    by_values_.clear(n_.value_size, columns);
  }

  void multiply(const BlockAt& at, const Scores<float>& scores,
                const Scores<float>& by_weights) override {
    multiply_packed(scores.data, scores.row, queries_.lines(at.query, at.rows),
                    keys_.lines(0, at.columns), groups_of(n_.size), false);
    multiply_packed(by_weights.data, by_weights.row, grads_.lines(at.query, at.rows),
                    values_.lines(0, at.columns), groups_of(n_.value_size), false);
  }

  void add(const BlockAt& at, const Scores<float>& weights,
           const Scores<float>& by_scores) override {
    const int64_t steps = groups_of(at.rows);
    block_.pack(by_columns(weights, at), TileRows::pairs);
    multiply_packed(by_values_[0], by_values_.row(),
                    turned_grads_.lines(0, n_.value_size, at.query), block_.lines(0, at.columns),
                    steps, true);
    block_.pack(by_columns(by_scores, at), TileRows::pairs);
    multiply_packed(by_keys_[0], by_keys_.row(), turned_queries_.lines(0, n_.size, at.query),
                    block_.lines(0, at.columns), steps, true);
    block_.pack(by_rows(by_scores, at), TileRows::lines);
    multiply_packed(by_queries_[at.query], by_queries_.row(), block_.lines(0, at.rows),
                    turned_keys_.lines(0, n_.size), groups_of(at.columns), true);
  }

  void end_keys() override {
    for (int64_t i = 0; i < columns_; ++i) {
      for (int64_t e = 0; e < n_.size; ++e) rows_.by_keys[key_ + i][e] += by_keys_[e][i] * down;
      for (int64_t e = 0; e < n_.value_size; ++e)
        rows_.by_values[key_ + i][e] += by_values_[e][i] * down;
    }
  }

  void end_head() override {
    for (int64_t i = 0; i < n_.num_queries; ++i)
      for (int64_t e = 0; e < n_.size; ++e) rows_.by_queries[i][e] += by_queries_[i][e] * down;
  }

 private:
  // Weights are taken to be 1 at most, as they are with the logsumexp that belongs to the scores.
  bool fits(double scale, const float* shift) const {
    const double query = largest_of(rows_.queries, n_.num_queries, n_.size);
    const double key = largest_of(rows_.keys, n_.num_keys, n_.size);
    const double value = largest_of(rows_.values, n_.num_keys, n_.value_size);
    const double grad = largest_of(rows_.grads, n_.num_queries, n_.value_size);
    const auto num_queries = static_cast<double>(n_.num_queries);
    const double by_weight =
        grad * value * static_cast<double>(n_.value_size) + largest_of(shift, n_.num_queries);
    const double by_score = std::abs(scale) * by_weight;
    return are_small({query, key, value, grad, query * key * static_cast<double>(n_.size),
                      by_weight, by_score, grad * num_queries, by_score * query * num_queries,
                      by_score * key * static_cast<double>(n_.num_keys)});
  }

  const HeadSizes n_;
  const Tiles tiles_;
  RowsOfBackward<float> rows_{};
  int64_t key_ = 0, columns_ = 0;
  Packed queries_, grads_, turned_queries_, turned_grads_;  // of the head
  Packed keys_, values_, turned_keys_;                      // of some keys
  Packed block_;
  SquareSums by_queries_, by_keys_, by_values_;
};

}  // namespace

bool suits_split_attention(const HeadSizes& n) {
  return std::min(n.num_queries, n.num_keys) >= constants::split_attention_rows &&
         n.num_queries * n.num_keys >= constants::split_attention_work &&
         std::min(n.size, n.value_size) >= constants::split_attention_width && has_amx_bf16();
}

std::unique_ptr<ForwardProducts<float>> split_forward_products(const HeadSizes& sizes) {
  return std::make_unique<SplitForward>(sizes);
}
std::unique_ptr<BackwardProducts<float>> split_backward_products(const HeadSizes& sizes) {
  return std::make_unique<SplitBackward>(sizes);
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES

#else

namespace bp::cpu {

bool suits_split_attention(const HeadSizes&) {
  return false;
}
std::unique_ptr<ForwardProducts<float>> split_forward_products(const HeadSizes&) {
  return nullptr;
}
std::unique_ptr<BackwardProducts<float>> split_backward_products(const HeadSizes&) {
  return nullptr;
}

}  // namespace bp::cpu

#endif
