// Attention in blocks of queries by keys, so that no matrix of scores is ever whole (Dao et al. 2022). 16-bit floats
// are computed as f32.
#include "kernels/attention.hpp"

#include <cmath>
#include <memory>

#include "../constants.hpp"
#include "host.hpp"
#include "kernels/attention_split.hpp"
#include "kernels/kernels.hpp"
#include "threads.hpp"

namespace bp::cpu {
namespace {

// Causal queries see fewer keys the fewer of them are in a block.
BlockSizes vector_blocks(bool is_causal) {
  return {is_causal ? constants::attention_causal_queries : tile::most_block_rows,
          constants::attention_keys};
}

// From one row of a block's scores to the next.
template <class T> int64_t scores_row(const BlockSizes& block) {
  return block.keys + tile::row_multiple<T>;
}

// ---- native_attention

template <class T> class VectorForward final : public ForwardProducts<T> {
 public:
  explicit VectorForward(const HeadSizes& sizes) : n_(sizes) {}

  T unit() const override { return 1; }

  bool take_head(int64_t shared, const RowsOfHead<T>& queries, const RowsOfHead<T>& keys,
                 const RowsOfHead<T>& values) override {
    queries_ = queries;
    values_ = values;
    if (shared == shared_) return true;
    shared_ = shared;
    const int64_t num_panels = (n_.num_keys + width - 1) / width;
    panels_.resize(static_cast<size_t>(num_panels * width * n_.size));
    transpose_to_panels(panels_.data(), keys, 0, n_.num_keys, n_.size);
    return true;
  }

  void multiply_keys(const BlockAt& at, const Scores<T>& scores) override {
    tile::multiply_block({scores.data, scores.row, queries_[at.query], queries_.row, 1,
                          panels_.data() + at.key * n_.size, width, width * n_.size, at.rows,
                          at.columns, n_.size, false});
  }

  void add_values(const BlockAt& at, const Scores<T>& weights, T* sums, int64_t row) override {
    tile::multiply_block({sums, row, weights.data, weights.row, 1, values_[at.key], values_.row,
                          width, at.rows, n_.value_size, at.columns, true});
  }

 private:
  static constexpr int64_t width = tile::panel_columns<T>;

  const HeadSizes n_;
  int64_t shared_ = -1;
  RowsOfHead<T> queries_{}, values_{};
  Lines<T> panels_;
};

// The row's arguments and outputs, and what follows from them.
struct ForwardCall {
  ForwardCall(In query_in, In key_in, In value_in, const std::optional<In>& attn_mask, bool causal,
              double scale_in, Out result_out, Out logsumexp_out)
      : query(query_in.abi()), key(key_in.abi()), value(value_in.abi()),
        mask(tensor_or_null(attn_mask)), is_causal(causal), scale(scale_in),
        result(result_out.abi()), logsumexp(logsumexp_out.abi()), num_heads(query.dl.shape[1]),
        group(num_heads / key.dl.shape[1]), sizes{query.dl.shape[2], key.dl.shape[2],
                                                  query.dl.shape[3], value.dl.shape[3]},
        is_split(query.dtype != BP_F64 && suits_split_attention(sizes)),
        block(is_split ? split_blocks : vector_blocks(causal)),
        num_blocks((sizes.num_queries + block.queries - 1) / block.queries) {}

  const bp_tensor &query, &key, &value;
  const bp_tensor* mask;
  bool is_causal;
  double scale;
  const bp_tensor &result, &logsumexp;
  int64_t num_heads, group;
  HeadSizes sizes;
  bool is_split;
  BlockSizes block;
  int64_t num_blocks;
};

// One thread's part. Neighbouring blocks of queries share the keys of their head.
template <class T> class Forward {
 public:
  explicit Forward(const ForwardCall& of)
      : of_(of), query_(of.query), key_(of.key), value_(of.value), result_(of.result),
        bias_(of.mask, of.is_causal, of.block), scale_(static_cast<T>(of.scale)),
        by_vectors_(of.sizes),
        sums_row_((value_.size() + sums_multiple - 1) / sums_multiple * sums_multiple),
        numbers_(static_cast<size_t>(of.block.queries * scores_row<T>(of.block))),
        scores_{numbers_.data(), scores_row<T>(of.block)},
        sums_(static_cast<size_t>(of.block.queries * sums_row_)) {
    if constexpr (std::is_same_v<T, float>)
      if (of.is_split) split_ = split_forward_products(of.sizes);
  }

  void run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / of_.num_blocks;
      take_head(head / of_.num_heads, head % of_.num_heads);
      const int64_t first = i % of_.num_blocks * of_.block.queries;
      attend({head / of_.num_heads, head % of_.num_heads, first, 0,
              std::min(of_.block.queries, of_.sizes.num_queries - first), 0});
    }
  }

 private:
  static constexpr int64_t sums_multiple = 32;

  void take_head(int64_t b, int64_t h) {
    const int64_t head = b * of_.num_heads + h, shared = head / of_.group;
    if (head == head_) return;
    head_ = head;
    const RowsOfHead<T> queries = query_.load(b, h);
    if (shared != shared_head_) {
      shared_head_ = shared;
      keys_ = key_.load(b, h / of_.group);
      values_ = value_.load(b, h / of_.group);
    }
    products_ = split_.get();
    if (split_ == nullptr || !split_->take_head(shared, queries, keys_, values_)) {
      products_ = &by_vectors_;
      by_vectors_.take_head(shared, queries, keys_, values_);
    }
  }

  void attend(BlockAt at) {
    std::fill(sums_.begin(), sums_.end(), T(0));
    std::fill_n(largest_, tile::most_block_rows, -std::numeric_limits<T>::infinity());
    std::fill_n(total_, tile::most_block_rows, T(0));
    const int64_t end = bias_.end_of_keys(at.query, at.rows, of_.sizes.num_keys);
    for (at.key = 0; at.key < end; at.key += of_.block.keys) {
      at.columns = std::min(of_.block.keys, end - at.key);
      add_keys(at);
    }
    finish(at);
  }

  void add_keys(const BlockAt& at) {
    products_->multiply_keys(at, scores_);
    tile::SoftmaxStep<T> step{
        {scores_.data, nullptr, scores_.row, 0, at.rows, at.columns, scale_ / products_->unit()},
        largest_,
        total_,
        sums_.data(),
        sums_row_,
        value_.size()};
    bias_.set(step.block, at);
    tile::step_softmax(step);
    products_->add_values(at, scores_, sums_.data(), sums_row_);
  }

  // A query that saw no key gets zeros.
  void finish(const BlockAt& at) {
    T* const logs =
        data_of<T>(of_.logsumexp) + (at.b * of_.num_heads + at.h) * of_.sizes.num_queries;
    for (int64_t i = 0; i < at.rows; ++i) {
      T* const row = sums_.data() + i * sums_row_;
      const bool is_empty = total_[i] == 0;
      const T factor = is_empty ? T(0) : 1 / products_->unit() / total_[i];
      for (int64_t e = 0; e < value_.size(); ++e) row[e] *= factor;
      result_.store_row(at.b, at.h, at.query + i, row);
      logs[at.query + i] = is_empty ? std::numeric_limits<T>::infinity()
                                    : static_cast<T>(largest_[i] + std::log(total_[i]));
    }
  }

  const ForwardCall& of_;
  Heads<T> query_, key_, value_, result_;
  Bias<T> bias_;
  T scale_;
  VectorForward<T> by_vectors_;
  std::unique_ptr<ForwardProducts<T>> split_;
  ForwardProducts<T>* products_ = nullptr;
  int64_t sums_row_;
  Lines<T> numbers_;
  Scores<T> scores_;
  Lines<T> sums_;
  T largest_[tile::most_block_rows], total_[tile::most_block_rows];
  int64_t head_ = -1, shared_head_ = -1;
  RowsOfHead<T> keys_{}, values_{};
};

Status run_attention(Stream, In query, In key, In value, std::optional<In> attn_mask,
                     bool is_causal, double scale, Out result, Out logsumexp) {
  const ForwardCall of(query, key, value, attn_mask, is_causal, scale, result, logsumexp);
  const int64_t products = std::min(of.block.queries, of.sizes.num_queries) * of.sizes.num_keys *
                           std::max<int64_t>(1, of.sizes.size);
  const int64_t grain = std::max<int64_t>(1, constants::attention_products / products);
  const int64_t count = of.query.dl.shape[0] * of.num_heads * of.num_blocks;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    if (of.query.dtype == BP_F64)
      Forward<double>(of).run(begin, end);
    else
      Forward<float>(of).run(begin, end);
  });
  return ok;
}

// ---- attention_backward

template <class T> class VectorBackward final : public BackwardProducts<T> {
 public:
  explicit VectorBackward(const HeadSizes& sizes) : n_(sizes) {}

  T unit() const override { return 1; }

  bool take_head(const RowsOfBackward<T>& rows, T, const T*) override {
    rows_ = rows;
    return true;
  }

  void take_keys(int64_t key, int64_t columns) override {
    const int64_t num_panels = (columns + width - 1) / width;
    keys_.resize(static_cast<size_t>(num_panels * width * n_.size));
    values_.resize(static_cast<size_t>(num_panels * width * n_.value_size));
    transpose_to_panels(keys_.data(), rows_.keys, key, columns, n_.size);
    transpose_to_panels(values_.data(), rows_.values, key, columns, n_.value_size);
  }

  void multiply(const BlockAt& at, const Scores<T>& scores, const Scores<T>& by_weights) override {
    multiply_by_panels(scores, rows_.queries, keys_, n_.size, at);
    multiply_by_panels(by_weights, rows_.grads, values_, n_.value_size, at);
  }

  void add(const BlockAt& at, const Scores<T>& weights, const Scores<T>& by_scores) override {
    add_transposed(rows_.by_values, weights, rows_.grads, n_.value_size, at);
    add_transposed(rows_.by_keys, by_scores, rows_.queries, n_.size, at);
    tile::multiply_block({rows_.by_queries[at.query], rows_.by_queries.row, by_scores.data,
                          by_scores.row, 1, rows_.keys[at.key], rows_.keys.row, width, at.rows,
                          n_.size, at.columns, true});
  }

  void end_keys() override {}
  void end_head() override {}

 private:
  static constexpr int64_t width = tile::panel_columns<T>;

  // Rows by keys or values, as columns.
  void multiply_by_panels(const Scores<T>& to, const RowsOfHead<T>& rows, const Lines<T>& panels,
                          int64_t size, const BlockAt& at) {
    tile::multiply_block({to.data, to.row, rows[at.query], rows.row, 1, panels.data(), width,
                          width * size, at.rows, at.columns, size, false});
  }
  // A block's columns by rows of queries, into the gradients of the keys.
  void add_transposed(const RowsOfHead<T>& to, const Scores<T>& block, const RowsOfHead<T>& rows,
                      int64_t size, const BlockAt& at) {
    tile::multiply_block({to[at.key], to.row, block.data, 1, block.row, rows[at.query], rows.row,
                          width, at.columns, size, at.rows, true});
  }

  const HeadSizes n_;
  RowsOfBackward<T> rows_{};
  Lines<T> keys_, values_;  // of some keys, in panels
};

// The row's arguments and outputs, and what follows from them.
struct BackwardCall {
  BackwardCall(In grad_in, const std::optional<In>& grad_logsumexp, In query_in, In key_in,
               In value_in, const std::optional<In>& attn_mask, In result_in, In logsumexp_in,
               bool causal, double scale_in, Out grad_query, Out grad_key, Out grad_value)
      : grad(grad_in.abi()), by_logsumexp(tensor_or_null(grad_logsumexp)), query(query_in.abi()),
        key(key_in.abi()), value(value_in.abi()), mask(tensor_or_null(attn_mask)),
        result(result_in.abi()), logsumexp(logsumexp_in.abi()), is_causal(causal), scale(scale_in),
        by_query(grad_query.abi()), by_key(grad_key.abi()), by_value(grad_value.abi()),
        num_heads(query.dl.shape[1]),
        shared_heads(key.dl.shape[1]), sizes{query.dl.shape[2], key.dl.shape[2], query.dl.shape[3],
                                             value.dl.shape[3]},
        is_split(query.dtype != BP_F64 && suits_split_attention(sizes)),
        block(is_split ? split_blocks : vector_blocks(causal)) {}

  const bp_tensor& grad;
  const bp_tensor* by_logsumexp;
  const bp_tensor &query, &key, &value;
  const bp_tensor* mask;
  const bp_tensor &result, &logsumexp;
  bool is_causal;
  double scale;
  const bp_tensor &by_query, &by_key, &by_value;
  int64_t num_heads, shared_heads;
  HeadSizes sizes;
  bool is_split;
  BlockSizes block;
};

// One thread's part: heads of keys, whose gradients nobody else adds to.
template <class T> class Backward {
 public:
  explicit Backward(const BackwardCall& of)
      : of_(of), grad_(of.grad), query_(of.query), key_(of.key), value_(of.value),
        result_(of.result), by_query_(of.by_query), by_key_(of.by_key), by_value_(of.by_value),
        bias_(of.mask, of.is_causal, of.block), scale_(static_cast<T>(of.scale)),
        by_vectors_(of.sizes), shift_(static_cast<size_t>(of.sizes.num_queries)),
        numbers_(static_cast<size_t>(2 * of.block.queries * scores_row<T>(of.block))),
        weights_{numbers_.data(), scores_row<T>(of.block)},
        by_scores_{weights_.data + of.block.queries * weights_.row, weights_.row} {
    if constexpr (std::is_same_v<T, float>)
      if (of.is_split) split_ = split_backward_products(of.sizes);
  }

  void run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / of_.shared_heads, shared = i % of_.shared_heads;
      const int64_t group = of_.num_heads / of_.shared_heads;
      rows_.keys = key_.load(b, shared);
      rows_.values = value_.load(b, shared);
      rows_.by_keys = by_key_.zeros(b, shared);
      rows_.by_values = by_value_.zeros(b, shared);
      for (int64_t h = shared * group; h < (shared + 1) * group; ++h) go_back(b, h);
      by_key_.store(b, shared, rows_.by_keys);
      by_value_.store(b, shared, rows_.by_values);
    }
  }

 private:
  void go_back(int64_t b, int64_t h) {
    rows_.queries = query_.load(b, h);
    rows_.grads = grad_.load(b, h);
    rows_.by_queries = by_query_.zeros(b, h);
    find_shift(b, h);
    choose_products();
    const BlockSizes& block = of_.block;
    for (int64_t key = 0; key < of_.sizes.num_keys; key += block.keys) {
      const int64_t columns = std::min(block.keys, of_.sizes.num_keys - key);
      products_->take_keys(key, columns);
      for (int64_t query = 0; query < of_.sizes.num_queries; query += block.queries) {
        const int64_t rows = std::min(block.queries, of_.sizes.num_queries - query);
        const int64_t seen = bias_.end_of_keys(query, rows, of_.sizes.num_keys) - key;
        const bool is_cut = products_ == &by_vectors_;  // packed squares are multiplied whole
        if (seen > 0)
          add_block({b, h, query, key, rows, is_cut ? std::min(columns, seen) : columns});
      }
      products_->end_keys();
    }
    products_->end_head();
    by_query_.store(b, h, rows_.by_queries);
  }

  // Softmax takes this off the gradients by its weights: what moves all weights of a query alike.
  void find_shift(int64_t b, int64_t h) {
    const RowsOfHead<T> results = result_.load(b, h);
    tile::dot_rows(shift_.data(), rows_.grads.data, rows_.grads.row, results.data, results.row,
                   of_.sizes.num_queries, of_.sizes.value_size);
    if (of_.by_logsumexp == nullptr) return;
    const T* const more = row_of_head(*of_.by_logsumexp, b, h);
    for (size_t i = 0; i < shift_.size(); ++i) shift_[i] -= more[i];
  }
  const T* row_of_head(const bp_tensor& tensor, int64_t b, int64_t h) const {
    return data_of<T>(tensor) + (b * of_.num_heads + h) * of_.sizes.num_queries;
  }

  void choose_products() {
    products_ = split_.get();
    if (split_ == nullptr || !split_->take_head(rows_, scale_, shift_.data())) {
      products_ = &by_vectors_;
      by_vectors_.take_head(rows_, scale_, shift_.data());
    }
    for (T& shift : shift_) shift *= products_->unit();
  }

  void add_block(const BlockAt& at) {
    products_->multiply(at, weights_, by_scores_);
    tile::SoftmaxBackStep<T> step{
        {weights_.data, nullptr, weights_.row, 0, at.rows, at.columns, scale_ / products_->unit()},
        by_scores_.data,
        row_of_head(of_.logsumexp, at.b, at.h) + at.query,
        shift_.data() + at.query};
    bias_.set(step.block, at);
    tile::step_softmax_back(step);
    products_->add(at, weights_, by_scores_);
  }

  const BackwardCall& of_;
  Heads<T> grad_, query_, key_, value_, result_, by_query_, by_key_, by_value_;
  Bias<T> bias_;
  T scale_;
  VectorBackward<T> by_vectors_;
  std::unique_ptr<BackwardProducts<T>> split_;
  BackwardProducts<T>* products_ = nullptr;
  Lines<T> shift_, numbers_;
  Scores<T> weights_, by_scores_;
  RowsOfBackward<T> rows_{};
};

Status run_attention_backward(Stream, In grad, std::optional<In> grad_logsumexp, In query, In key,
                              In value, std::optional<In> attn_mask, In result, In logsumexp,
                              bool is_causal, double scale, Out grad_query, Out grad_key,
                              Out grad_value) {
  const BackwardCall of(grad, grad_logsumexp, query, key, value, attn_mask, result, logsumexp,
                        is_causal, scale, grad_query, grad_key, grad_value);
  const int64_t products = of.num_heads / of.shared_heads * of.sizes.num_queries *
                           of.sizes.num_keys * std::max<int64_t>(1, of.sizes.size);
  const int64_t grain = std::max<int64_t>(1, constants::attention_products / products);
  parallel_for(of.query.dl.shape[0] * of.shared_heads, grain, [&](int64_t begin, int64_t end) {
    if (of.query.dtype == BP_F64)
      Backward<double>(of).run(begin, end);
    else
      Backward<float>(of).run(begin, end);
  });
  return ok;
}

// Of the logarithms of sums.
constexpr DtypeSet logs = DtypeSet(f32) | f64;

}  // namespace

void add_attention_kernels(Kernels& k) {
  using forward = op::native_attention::place;
  k.add<op::native_attention>(run_attention)
      .dtypes(floating)
      .dtypes(forward::attn_mask, floating, boolean)
      .dtypes(forward::result, floating)
      .dtypes(forward::logsumexp, logs)
      .layouts(strided)
      .layouts(forward::logsumexp, contiguous)
      .deterministic();
  using backward = op::attention_backward::place;
  k.add<op::attention_backward>(run_attention_backward)
      .dtypes(floating)
      .dtypes(backward::grad_logsumexp, logs)
      .dtypes(backward::attn_mask, floating, boolean)
      .dtypes(backward::logsumexp, logs)
      .dtypes(backward::grad_query, floating)
      .dtypes(backward::grad_key, floating)
      .dtypes(backward::grad_value, floating)
      .layouts(strided)
      .layouts(backward::grad_logsumexp, contiguous)
      .layouts(backward::logsumexp, contiguous)
      .deterministic();
}

}  // namespace bp::cpu
