// Attention in blocks of queries by keys, so that no matrix of scores is ever whole (Dao et al. 2022). 16-bit floats
// are computed as f32.
#include "kernels/attention.hpp"

#include <cmath>

#include "host.hpp"
#include "kernels/kernels.hpp"
#include "threads.hpp"

namespace bp::cpu {
namespace {

double scale_arg(const bp_call* call, uint32_t place) {
  const bp_value& value = call->args[place];
  return value.tag == BP_DOUBLE ? value.u.f : static_cast<double>(value.u.i);
}

// Work below this many products of numbers is not worth another thread.
constexpr int64_t products_per_thread = 1 << 18;

// ---- native_attention(query, key, value, attn_mask, is_causal, scale) -> (result, logsumexp)

struct ForwardCall {
  explicit ForwardCall(const bp_call* of)
      : call(of), query(tensor_arg(of, 0)), key(tensor_arg(of, 1)), value(tensor_arg(of, 2)),
        num_heads(query.dl.shape[1]), group(num_heads / key.dl.shape[1]),
        num_queries(query.dl.shape[2]), num_keys(key.dl.shape[2]),
        num_blocks((num_queries + block_queries - 1) / block_queries) {}

  const bp_call* call;
  const bp_tensor &query, &key, &value;
  int64_t num_heads, group, num_queries, num_keys, num_blocks;
};

// One thread's part. Neighbouring blocks of queries share the keys of their head.
template <class T> class Forward {
 public:
  explicit Forward(const ForwardCall& of)
      : of_(of), query_(of.query), key_(of.key), value_(of.value), result_(*of.call->outputs[0]),
        bias_(of.call->args[3], of.call->args[4].u.i != 0),
        scale_(static_cast<T>(scale_arg(of.call, 5))), sums_row_(padded<T>(value_.size())),
        scores_(static_cast<size_t>(block_queries * scores_row)),
        sums_(static_cast<size_t>(block_queries * sums_row_)) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / of_.num_blocks;
      take_head(head / of_.num_heads, head % of_.num_heads);
      const int64_t first = i % of_.num_blocks * block_queries;
      attend({head / of_.num_heads, head % of_.num_heads, first, 0,
              std::min(block_queries, of_.num_queries - first), 0});
    }
  }

 private:
  static constexpr int64_t scores_row = block_keys + tile::row_multiple<T>;

  void take_head(int64_t b, int64_t h) {
    const int64_t head = b * of_.num_heads + h, shared = head / of_.group;
    if (head != head_) queries_ = query_.load(b, h);
    head_ = head;
    if (shared == shared_head_) return;
    shared_head_ = shared;
    constexpr int64_t width = tile::panel_columns<T>;
    const int64_t num_panels = (of_.num_keys + width - 1) / width;
    panels_.resize(static_cast<size_t>(num_panels * width * key_.size()));
    transpose_to_panels(panels_.data(), key_.load(b, h / of_.group), 0, of_.num_keys, key_.size());
    values_ = value_.load(b, h / of_.group);
  }

  void attend(BlockAt at) {
    std::fill(sums_.begin(), sums_.end(), T(0));
    std::fill_n(largest_, block_queries, -std::numeric_limits<T>::infinity());
    std::fill_n(total_, block_queries, T(0));
    const int64_t end = bias_.end_of_keys(at.query, at.rows, of_.num_keys);
    for (at.key = 0; at.key < end; at.key += block_keys) {
      at.columns = std::min(block_keys, end - at.key);
      add_keys(at);
    }
    finish(at);
  }

  void add_keys(const BlockAt& at) {
    constexpr int64_t width = tile::panel_columns<T>;
    const int64_t size = key_.size();
    tile::multiply_block({scores_.data(), scores_row, queries_[at.query], queries_.row, 1,
                          panels_.data() + at.key * size, width, width * size, at.rows, at.columns,
                          size, false});
    tile::SoftmaxStep<T> step{{scores_.data(), nullptr, scores_row, 0, at.rows, at.columns, scale_},
                              largest_,
                              total_,
                              sums_.data(),
                              sums_row_,
                              value_.size()};
    bias_.set(step.block, at);
    tile::step_softmax(step);
    tile::multiply_block({sums_.data(), sums_row_, scores_.data(), scores_row, 1, values_[at.key],
                          values_.row, width, at.rows, value_.size(), at.columns, true});
  }

  // A query that saw no key gets zeros.
  void finish(const BlockAt& at) {
    const bp_tensor& logsumexp = *of_.call->outputs[1];
    T* const logs = data_of<T>(logsumexp) + (at.b * of_.num_heads + at.h) * of_.num_queries;
    for (int64_t i = 0; i < at.rows; ++i) {
      T* const row = sums_.data() + i * sums_row_;
      const bool is_empty = total_[i] == 0;
      const T factor = is_empty ? T(0) : 1 / total_[i];
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
  int64_t sums_row_;
  Lines<T> panels_, scores_, sums_;
  T largest_[block_queries], total_[block_queries];
  int64_t head_ = -1, shared_head_ = -1;
  RowsOfHead<T> queries_{}, values_{};
};

bp_code run_attention(void*, const bp_call* call) {
  return guarded("cpu: native_attention", [&] {
    const ForwardCall of(call);
    const int64_t products = std::min(block_queries, of.num_queries) * of.num_keys *
                             std::max<int64_t>(1, of.query.dl.shape[3]);
    const int64_t grain = std::max<int64_t>(1, products_per_thread / products);
    const int64_t count = of.query.dl.shape[0] * of.num_heads * of.num_blocks;
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      if (of.query.dtype == BP_F64)
        Forward<double>(of).run(begin, end);
      else
        Forward<float>(of).run(begin, end);
    });
    return bp_code{BP_OK};
  });
}

// ---- attention_backward(grad, grad_logsumexp, query, key, value, attn_mask, result, logsumexp, is_causal, scale)
//      -> (by query, by key, by value)

struct BackwardCall {
  explicit BackwardCall(const bp_call* of)
      : call(of), query(tensor_arg(of, 2)), key(tensor_arg(of, 3)), num_heads(query.dl.shape[1]),
        shared_heads(key.dl.shape[1]), num_queries(query.dl.shape[2]), num_keys(key.dl.shape[2]) {}

  const bp_call* call;
  const bp_tensor &query, &key;
  int64_t num_heads, shared_heads, num_queries, num_keys;
};

// One thread's part: heads of keys, whose gradients nobody else adds to.
template <class T> class Backward {
 public:
  explicit Backward(const BackwardCall& of)
      : of_(of), grad_(tensor_arg(of.call, 0)), query_(of.query), key_(of.key),
        value_(tensor_arg(of.call, 4)), result_(tensor_arg(of.call, 6)),
        by_query_(*of.call->outputs[0]), by_key_(*of.call->outputs[1]),
        by_value_(*of.call->outputs[2]), bias_(of.call->args[5], of.call->args[8].u.i != 0),
        scale_(static_cast<T>(scale_arg(of.call, 9))), shift_(static_cast<size_t>(of.num_queries)),
        key_panels_(static_cast<size_t>(block_keys * key_.size())),
        value_panels_(static_cast<size_t>(block_keys * value_.size())),
        weights_(static_cast<size_t>(block_queries * scores_row)),
        by_scores_(static_cast<size_t>(block_queries * scores_row)) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / of_.shared_heads, shared = i % of_.shared_heads;
      const int64_t group = of_.num_heads / of_.shared_heads;
      keys_ = key_.load(b, shared);
      values_ = value_.load(b, shared);
      by_keys_ = by_key_.zeros(b, shared);
      by_values_ = by_value_.zeros(b, shared);
      for (int64_t h = shared * group; h < (shared + 1) * group; ++h) go_back(b, h);
      by_key_.store(b, shared, by_keys_);
      by_value_.store(b, shared, by_values_);
    }
  }

 private:
  static constexpr int64_t width = tile::panel_columns<T>;
  static constexpr int64_t scores_row = block_keys + tile::row_multiple<T>;

  void go_back(int64_t b, int64_t h) {
    queries_ = query_.load(b, h);
    grads_ = grad_.load(b, h);
    by_queries_ = by_query_.zeros(b, h);
    find_shift(b, h);
    for (int64_t key = 0; key < of_.num_keys; key += block_keys) {
      const int64_t columns = std::min(block_keys, of_.num_keys - key);
      transpose_to_panels(key_panels_.data(), keys_, key, columns, key_.size());
      transpose_to_panels(value_panels_.data(), values_, key, columns, value_.size());
      for (int64_t query = 0; query < of_.num_queries; query += block_queries) {
        const int64_t rows = std::min(block_queries, of_.num_queries - query);
        if (bias_.end_of_keys(query, rows, of_.num_keys) > key)
          add_block({b, h, query, key, rows, columns});
      }
    }
    by_query_.store(b, h, by_queries_);
  }

  // Softmax takes this off the gradients by its weights: what moves all weights of a query alike.
  void find_shift(int64_t b, int64_t h) {
    const RowsOfHead<T> results = result_.load(b, h);
    tile::dot_rows(shift_.data(), grads_.data, grads_.row, results.data, results.row,
                   of_.num_queries, value_.size());
    const bp_value& by_logsumexp = of_.call->args[1];
    if (by_logsumexp.tag != BP_TENSOR) return;
    const T* const more = row_of_head(*by_logsumexp.u.tensor, b, h);
    for (int64_t i = 0; i < of_.num_queries; ++i) shift_[static_cast<size_t>(i)] -= more[i];
  }
  const T* row_of_head(const bp_tensor& tensor, int64_t b, int64_t h) const {
    return data_of<T>(tensor) + (b * of_.num_heads + h) * of_.num_queries;
  }

  void add_block(const BlockAt& at) {
    multiply_by_panels(weights_.data(), queries_, key_panels_, key_.size(), at);
    multiply_by_panels(by_scores_.data(), grads_, value_panels_, value_.size(), at);
    tile::SoftmaxBackStep<T> step{
        {weights_.data(), nullptr, scores_row, 0, at.rows, at.columns, scale_},
        by_scores_.data(),
        row_of_head(tensor_arg(of_.call, 7), at.b, at.h) + at.query,
        shift_.data() + at.query};
    bias_.set(step.block, at);
    tile::step_softmax_back(step);
    add_transposed(by_values_, weights_.data(), grads_, value_.size(), at);
    add_transposed(by_keys_, by_scores_.data(), queries_, key_.size(), at);
    tile::multiply_block({by_queries_[at.query], by_queries_.row, by_scores_.data(), scores_row, 1,
                          keys_[at.key], keys_.row, width, at.rows, key_.size(), at.columns, true});
  }

  // Rows by keys or values, as columns.
  void multiply_by_panels(T* to, const RowsOfHead<T>& rows, const Lines<T>& panels, int64_t size,
                          const BlockAt& at) {
    tile::multiply_block({to, scores_row, rows[at.query], rows.row, 1, panels.data(), width,
                          width * size, at.rows, at.columns, size, false});
  }
  // A block's columns by rows of queries, into the gradients of the keys.
  void add_transposed(const RowsOfHead<T>& to, const T* block, const RowsOfHead<T>& rows,
                      int64_t size, const BlockAt& at) {
    tile::multiply_block({to[at.key], to.row, block, 1, scores_row, rows[at.query], rows.row, width,
                          at.columns, size, at.rows, true});
  }

  const BackwardCall& of_;
  Heads<T> grad_, query_, key_, value_, result_, by_query_, by_key_, by_value_;
  Bias<T> bias_;
  T scale_;
  Lines<T> shift_, key_panels_, value_panels_, weights_, by_scores_;
  RowsOfHead<T> keys_{}, values_{}, queries_{}, grads_{}, by_queries_{}, by_keys_{}, by_values_{};
};

bp_code run_attention_backward(void*, const bp_call* call) {
  return guarded("cpu: attention_backward", [&] {
    const BackwardCall of(call);
    const int64_t products = of.num_heads / of.shared_heads * of.num_queries * of.num_keys *
                             std::max<int64_t>(1, of.query.dl.shape[3]);
    const int64_t grain = std::max<int64_t>(1, products_per_thread / products);
    parallel_for(of.query.dl.shape[0] * of.shared_heads, grain, [&](int64_t begin, int64_t end) {
      if (of.query.dtype == BP_F64)
        Backward<double>(of).run(begin, end);
      else
        Backward<float>(of).run(begin, end);
    });
    return bp_code{BP_OK};
  });
}

}  // namespace

void add_attention_kernels(const bp_host& host, KernelList& list) {
  const bp_arg values = tensor_place(floating_dtypes);
  const bp_arg mask = tensor_place(floating_dtypes | dtype_set({BP_BOOL}));
  const bp_arg sums = tensor_place(dtype_set({BP_F32, BP_F64}), BP_LAYOUT_CONTIGUOUS);
  const bp_arg other = any_place();
  list.add(host, "native_attention", {values, values, values, mask, other, other, values, sums},
           run_attention);
  list.add(host, "attention_backward",
           {values, sums, values, values, values, mask, values, sums, other, other, values, values,
            values},
           run_attention_backward);
}

}  // namespace bp::cpu
