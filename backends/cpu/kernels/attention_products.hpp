// The products of attention, a block at a time: what Forward and Backward ask for, however it is computed.
#pragma once

#include <cstdint>
#include <memory>

namespace bp::cpu {

// Rows of one head, each one without gaps and with room up to padded(size).
template <class T> struct RowsOfHead {
  T* data;
  int64_t row;
  T* operator[](int64_t i) const { return data + i * row; }
};

// What all heads of a call have.
struct HeadSizes {
  int64_t num_queries, num_keys, size, value_size;
};

// So many queries and keys make a block.
struct BlockSizes {
  int64_t queries, keys;
};

// Which part of the scores a step works on. Rows and columns are those of a block at most.
struct BlockAt {
  int64_t b, h, query, key, rows, columns;
};

// Memory of a block's scores: [queries, keys], rows a little further apart. Whole blocks may be written.
template <class T> struct Scores {
  T* data;
  int64_t row;
};

// Of one thread. `unit` is what a result is multiplied by, and the sums that it is added to: a power of two.
template <class T> class ForwardProducts {
 public:
  virtual ~ForwardProducts() = default;
  virtual T unit() const = 0;
  // Of which head is spoken from now on. Heads with one `shared` have the same keys and values. False: numbers are too
  // large for these products.
  virtual bool take_head(int64_t shared, const RowsOfHead<T>& queries, const RowsOfHead<T>& keys,
                         const RowsOfHead<T>& values) = 0;
  virtual void multiply_keys(const BlockAt& at, const Scores<T>& scores) = 0;
  // The sums of a query have room for whole blocks of 32.
  virtual void add_values(const BlockAt& at, const Scores<T>& weights, T* sums, int64_t row) = 0;
};

template <class T> struct RowsOfBackward {
  RowsOfHead<T> queries, keys, values, grads;
  RowsOfHead<T> by_queries, by_keys, by_values;  // added to
};

template <class T> class BackwardProducts {
 public:
  virtual ~BackwardProducts() = default;
  virtual T unit() const = 0;
  // `shift` will be taken off the gradients by the weights, of each query. False: numbers are too large.
  virtual bool take_head(const RowsOfBackward<T>& rows, T scale, const T* shift) = 0;
  // Of which keys is spoken from now on.
  virtual void take_keys(int64_t key, int64_t columns) = 0;
  // Queries by keys, and gradients by values.
  virtual void multiply(const BlockAt& at, const Scores<T>& scores,
                        const Scores<T>& by_weights) = 0;
  // Into all three gradients, at once or when the keys or the head end.
  virtual void add(const BlockAt& at, const Scores<T>& weights, const Scores<T>& by_scores) = 0;
  virtual void end_keys() = 0;
  virtual void end_head() = 0;
};

}  // namespace bp::cpu
