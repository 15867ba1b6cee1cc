// What attention and its gradient share: the sizes of a call, heads as rows of f32 or f64, and masks.
#pragma once

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "attention_products.hpp"
#include "tensor_view.hpp"
#include "tile/attention.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"
#include "tile/transpose.hpp"

namespace bp::cpu {

// Memory that begins with a cache line, so that no vector lies in two of them: each would be loaded twice, which
// took 6 % of the time of attention by AVX-512.
template <class T> struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class U> LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* block, size_t) { ::operator delete(block, line); }
  bool operator==(const LineAllocator&) const { return true; }
};
template <class T> using Lines = std::vector<T, LineAllocator<T>>;

template <class T> inline int64_t padded(int64_t size) {
  constexpr int64_t multiple = tile::row_multiple<T>;
  return (size + multiple - 1) / multiple * multiple;
}

// A tensor [b, h, count, size] of any strides and floating dtype, whose heads are seen as such rows: as they
// lie, or copied.
template <class T> class Heads {
 public:
  explicit Heads(const bp_tensor& tensor)
      : tensor_(tensor), count_(tensor.dl.shape[2]), size_(tensor.dl.shape[3]) {
    if (tensor.itemsize != sizeof(T)) {
      load_ = tile::find_convert(tensor.dtype, sizeof(T) == 8 ? BP_F64 : BP_F32);
      store_ = tile::find_convert(sizeof(T) == 8 ? BP_F64 : BP_F32, tensor.dtype);
    }
    lies_right_ = !load_ && tensor.dl.strides[3] == 1 && size_ == padded<T>(size_);
  }

  int64_t size() const { return size_; }

  RowsOfHead<T> load(int64_t b, int64_t h) {
    char* const head = address_of(b, h);
    const int64_t step = tensor_.dl.strides[2];
    if (lies_right_) return {reinterpret_cast<T*>(head), step};
    const RowsOfHead<T> rows = scratch();
    raw_.resize(static_cast<size_t>(size_ * tensor_.itemsize));
    for (int64_t i = 0; i < count_; ++i) {
      char* const to = load_ ? raw_.data() : reinterpret_cast<char*>(rows[i]);
      tile::gather(to, head + i * step * tensor_.itemsize, tensor_.itemsize, tensor_.dl.strides[3],
                   size_);
      if (load_) load_(rows[i], to, size_);
    }
    return rows;
  }

  // Zeros to add to, which `store` brings home.
  RowsOfHead<T> zeros(int64_t b, int64_t h) {
    const RowsOfHead<T> rows =
        lies_right_ ? RowsOfHead<T>{reinterpret_cast<T*>(address_of(b, h)), tensor_.dl.strides[2]}
                    : scratch();
    for (int64_t i = 0; i < count_; ++i) std::fill_n(rows[i], rows_size(), T(0));
    return rows;
  }
  void store(int64_t b, int64_t h, const RowsOfHead<T>& rows) {
    for (int64_t i = 0; !lies_right_ && i < count_; ++i) store_row(b, h, i, rows[i]);
  }
  void store_row(int64_t b, int64_t h, int64_t i, const T* row) {
    raw_.resize(static_cast<size_t>(size_ * tensor_.itemsize));
    if (store_) store_(raw_.data(), row, size_);
    tile::scatter(address_of(b, h) + i * tensor_.dl.strides[2] * tensor_.itemsize,
                  store_ ? raw_.data() : reinterpret_cast<const char*>(row), tensor_.itemsize,
                  tensor_.dl.strides[3], size_);
  }

 private:
  char* address_of(int64_t b, int64_t h) const {
    return address(tensor_) +
           (b * tensor_.dl.strides[0] + h * tensor_.dl.strides[1]) * tensor_.itemsize;
  }
  int64_t rows_size() const { return lies_right_ ? size_ : padded<T>(size_); }
  RowsOfHead<T> scratch() {
    scratch_.resize(static_cast<size_t>(count_ * padded<T>(size_)));
    return {scratch_.data(), padded<T>(size_)};
  }

  const bp_tensor& tensor_;
  int64_t count_, size_;
  tile::Convert load_, store_;
  bool lies_right_;
  Lines<T> scratch_;
  std::vector<char> raw_;
};

// `count` rows from `begin` on as columns, in panels; what the last one lacks is 0.
template <class T>
void transpose_to_panels(T* to, const RowsOfHead<T>& from, int64_t begin, int64_t count,
                         int64_t size) {
  constexpr int64_t width = tile::panel_columns<T>;
  for (int64_t done = 0; done < count; done += width, to += size * width) {
    const int64_t columns = std::min(width, count - done);
    if (columns < width) std::fill_n(to, size * width, T(0));
    tile::transpose({reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from[begin + done]),
                     width, from.row, size, columns, sizeof(T), false});
  }
}

// What is added to scores: a mask, and the end of causal rows.
template <class T> class Bias {
 public:
  // `mask` may be NULL.
  Bias(const bp_tensor* mask, bool is_causal, const BlockSizes& block)
      : mask_(mask), is_causal_(is_causal), block_(block) {
    if (mask_ != nullptr && mask_->dtype != BP_BOOL && mask_->itemsize != sizeof(T))
      load_ = tile::find_convert(mask_->dtype, sizeof(T) == 8 ? BP_F64 : BP_F32);
  }

  // The keys from which on a block of queries sees none.
  int64_t end_of_keys(int64_t query, int64_t rows, int64_t all) const {
    return is_causal_ ? std::min(all, query + rows) : all;
  }

  void set(tile::ScoreBlock<T>& block, const BlockAt& at) {
    const bool ends = is_causal_ && at.key + at.columns - 1 > at.query;
    block.bias = nullptr;
    if (mask_ == nullptr && !ends) return;
    if (mask_ != nullptr && !ends && lies_right()) {
      block.bias = reinterpret_cast<const T*>(row_of(at, 0));
      block.bias_row = mask_->dl.strides[2];
      return;
    }
    numbers_.resize(static_cast<size_t>(block_.queries * block_.keys));
    for (int64_t i = 0; i < at.rows; ++i) fill_row(at, i, numbers_.data() + i * block_.keys, ends);
    block.bias = numbers_.data();
    block.bias_row = block_.keys;
  }

 private:
  static constexpr T none = -std::numeric_limits<T>::infinity();

  bool lies_right() const { return mask_->dtype != BP_BOOL && !load_ && mask_->dl.strides[3] == 1; }
  const char* row_of(const BlockAt& at, int64_t i) const {
    const int64_t* strides = mask_->dl.strides;
    return address(*mask_) + (at.b * strides[0] + at.h * strides[1] + (at.query + i) * strides[2] +
                              at.key * strides[3]) *
                                 mask_->itemsize;
  }
  void fill_row(const BlockAt& at, int64_t i, T* to, bool ends) {
    if (mask_ == nullptr)
      std::fill_n(to, at.columns, T(0));
    else
      read_row(at, i, to);
    const int64_t visible = at.query + i + 1 - at.key;
    if (ends && visible < at.columns)
      std::fill(to + std::max<int64_t>(0, visible), to + at.columns, none);
  }
  void read_row(const BlockAt& at, int64_t i, T* to) {
    raw_.resize(static_cast<size_t>(block_.keys) * sizeof(double));
    const bool is_bool = mask_->dtype == BP_BOOL;
    char* const raw = is_bool || load_ ? raw_.data() : reinterpret_cast<char*>(to);
    tile::gather(raw, row_of(at, i), mask_->itemsize, mask_->dl.strides[3], at.columns);
    if (load_) load_(to, raw, at.columns);
    if (!is_bool) return;
    for (int64_t j = 0; j < at.columns; ++j) to[j] = raw[j] != 0 ? T(0) : none;
  }

  const bp_tensor* mask_;
  bool is_causal_;
  BlockSizes block_;
  tile::Convert load_;
  Lines<T> numbers_;
  std::vector<char> raw_;
};

}  // namespace bp::cpu
