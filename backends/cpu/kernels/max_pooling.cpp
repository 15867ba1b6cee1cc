// The largest of windows over lines and pictures. Windows of one form are taken many at once (tile/windows.hpp): those that lie
// inside of a plane, or all channels of one window where channels lie next to each other.
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "../constants.hpp"
#include "../rounding.hpp"
#include "../threads.hpp"
#include "pooling.hpp"
#include "tile/windows.hpp"

namespace bp::cpu {
namespace {

template <class T> using Offset = typename tile::Windows<T>::Offset;

constexpr int64_t most_windows = constants::pooled_windows;
static_assert(most_windows % tile::window_multiple == 0);

// What every part of the work reads, and where it writes.
template <class T> struct MaxPool {
  const PoolWindows& w;
  Pictures<const T> a;
  Pictures<T> values;
  Pictures<int64_t> indices;

  int64_t place(int64_t y, int64_t x) const { return y * w.size[1] + x; }
};

template <class T> bool fits_offset(const MaxPool<T>& pool) {
  const PoolWindows& w = pool.w;
  const auto reach = [&](int dim, int64_t step) { return w.size[dim] * std::abs(step); };
  return reach(0, pool.a.row) + reach(1, pool.a.column) < std::numeric_limits<int32_t>::max();
}

// The elements of windows of one form, in the order of rows: offsets from the window's begin, and places so.
template <class T> struct Taps {
  Taps(const MaxPool<T>& pool, const PoolWindows::Taps& rows, const PoolWindows::Taps& columns) {
    for (int64_t i = rows.first; i < rows.end; ++i)
      for (int64_t j = columns.first; j < columns.end; ++j) {
        const int64_t y = i * pool.w.dilation[0], x = j * pool.w.dilation[1];
        offsets.push_back(static_cast<Offset<T>>(y * pool.a.row + x * pool.a.column));
        places.push_back(pool.place(y, x));
      }
  }
  std::vector<Offset<T>> offsets;
  std::vector<int64_t> places;
};

// What find_largest writes.
template <class T> struct Found {
  std::array<T, most_windows> largest;
  std::array<Offset<T>, most_windows> which;
};

// A window of one channel. NaN is larger than all.
template <class T>
void max_of_window(const MaxPool<T>& pool, int64_t n, int64_t c, int64_t y, int64_t x) {
  const auto rows = pool.w.taps(0, y), columns = pool.w.taps(1, x);
  T best = -std::numeric_limits<T>::infinity();  // of padding alone
  int64_t best_place = -1;
  for (int64_t i = rows.first; i < rows.end; ++i)
    for (int64_t j = columns.first; j < columns.end; ++j) {
      const int64_t row = rows.begin + i * pool.w.dilation[0];
      const int64_t column = columns.begin + j * pool.w.dilation[1];
      const T each = *pool.a.at(n, c, row, column);
      if (best_place >= 0 && (best != best || each <= best)) continue;
      best = each;
      best_place = pool.place(row, column);
    }
  *pool.values.at(n, c, y, x) = best;
  *pool.indices.at(n, c, y, x) = std::max<int64_t>(best_place, 0);
}

// ---- By planes ------------------------------------------------------------------------------------------------

// The windows [first, end) of a dimension that lie inside.
struct Inside {
  Inside(const PoolWindows& w, int dim) {
    const int64_t length = (w.kernel[dim] - 1) * w.dilation[dim] + 1, stride = w.stride[dim];
    const int64_t last =
        w.size[dim] + w.padding[dim] - length;  // where one may begin, after the padding
    first = std::min(w.count[dim], (w.padding[dim] + stride - 1) / stride);
    end = last < 0 ? first : std::clamp(last / stride + 1, first, w.count[dim]);
  }
  int64_t size() const { return end - first; }
  bool has(int64_t window) const { return first <= window && window < end; }

  int64_t first, end;
};

// Blocks of windows that lie inside, `rows` by `columns`, and what is the same for all of them.
template <class T> class InsideBlocks {
 public:
  explicit InsideBlocks(const MaxPool<T>& pool)
      : pool_(pool), inside_rows_(pool.w, 0), inside_columns_(pool.w, 1),
        columns_(std::clamp<int64_t>(inside_columns_.size(), 1, most_windows)),
        rows_(std::clamp<int64_t>(most_windows / columns_, 1, pool.w.count[0])),
        fits_(fits_offset(pool)), taps_(pool, all(0), all(1)) {
    begins_.fill(0);
    const PoolWindows& w = pool.w;
    for (int64_t i = 0; i < rows_ * columns_; ++i)
      begins_[i] = static_cast<Offset<T>>(i / columns_ * w.stride[0] * pool.a.row +
                                          i % columns_ * w.stride[1] * pool.a.column);
  }

  int64_t rows() const { return rows_; }

  // Rows of windows of a plane, all columns.
  void run(int64_t n, int64_t c, int64_t y, int64_t end) const {
    const int64_t from = std::clamp(inside_rows_.first, y, end);
    const int64_t to = std::clamp(inside_rows_.end, from, end);
    Found<T> found;
    if (is_worth_it())
      for (int64_t x = inside_columns_.first; x < inside_columns_.end; x += columns_)
        run_block(n, c, from, to, x, std::min(inside_columns_.end, x + columns_), found);
    for (; y < end; ++y) {
      const bool done = is_worth_it() && inside_rows_.has(y);
      for (int64_t x = 0; x < pool_.w.count[1]; ++x)
        if (!done || !inside_columns_.has(x)) max_of_window(pool_, n, c, y, x);
    }
  }

 private:
  PoolWindows::Taps all(int dim) const { return {0, 0, pool_.w.kernel[dim]}; }

  // With fewer, a vector is not faster.
  bool is_worth_it() const { return fits_ && rows_ * inside_columns_.size() >= 4; }

  void run_block(int64_t n, int64_t c, int64_t y, int64_t y_end, int64_t x, int64_t x_end,
                 Found<T>& found) const {
    const PoolWindows& w = pool_.w;
    // Fewer columns than in the table: row by row.
    const int64_t together = x_end - x == columns_ ? y_end - y : 1;
    for (; y < y_end; y += together) {
      const int64_t row = y * w.stride[0] - w.padding[0], column = x * w.stride[1] - w.padding[1];
      const int64_t count = together * (x_end - x);
      tile::find_largest({pool_.a.at(n, c, row, column), begins_.data(), count,
                          taps_.offsets.data(), static_cast<int64_t>(taps_.offsets.size()),
                          found.largest.data(), found.which.data()});
      for (int64_t i = 0; i < together; ++i)
        write_row(n, c, y + i, x, x_end, found, i * (x_end - x));
    }
  }
  void write_row(int64_t n, int64_t c, int64_t y, int64_t x, int64_t end, const Found<T>& found,
                 int64_t from) const {
    const PoolWindows& w = pool_.w;
    T* value = pool_.values.at(n, c, y, x);
    int64_t* index = pool_.indices.at(n, c, y, x);
    int64_t place = pool_.place(y * w.stride[0] - w.padding[0], x * w.stride[1] - w.padding[1]);
    for (; x < end; ++x, ++from, place += w.stride[1]) {
      *value = found.largest[from];
      *index = place + taps_.places[found.which[from]];
      value += pool_.values.column;
      index += pool_.indices.column;
    }
  }

  const MaxPool<T>& pool_;
  Inside inside_rows_, inside_columns_;
  int64_t columns_, rows_;
  bool fits_;  // f32's offsets have 32 bits
  Taps<T> taps_;
  std::array<Offset<T>, most_windows> begins_;
};

template <class T> void max_by_planes(const MaxPool<T>& pool) {
  const PoolWindows& w = pool.w;
  const InsideBlocks<T> blocks(pool);
  const int64_t bands = (w.count[0] + blocks.rows() - 1) / blocks.rows();
  const int64_t work = blocks.rows() * w.count[1] * w.kernel[0] * w.kernel[1];
  parallel_for(w.batch * w.channels * bands,
               std::max<int64_t>(1, constants::pooled_elements / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t plane = i / bands, y = i % bands * blocks.rows();
                   blocks.run(plane / w.channels, plane % w.channels, y,
                              std::min(w.count[0], y + blocks.rows()));
                 }
               });
}

// ---- Several planes at once ------------------------------------------------------------------------------------

// Planes of few windows, all inside, that lie at equal distances: the windows of several planes are of one form as well.
template <class T> class SmallPlanes {
 public:
  explicit SmallPlanes(const MaxPool<T>& pool)
      : pool_(pool), windows_(pool.w.count[0] * pool.w.count[1]),
        together_(most_windows / std::max<int64_t>(1, windows_)),
        taps_(pool, {0, 0, pool.w.kernel[0]}, {0, 0, pool.w.kernel[1]}) {
    if (!fit()) return;
    const PoolWindows& w = pool.w;
    for (int64_t i = 0; i < together_ * windows_; ++i) {
      const int64_t y = i % windows_ / w.count[1] * w.stride[0], x = i % w.count[1] * w.stride[1];
      begins_[i] = static_cast<Offset<T>>(i / windows_ * pool.a.channel + y * pool.a.row +
                                          x * pool.a.column);
      places_[i] = pool.place(y, x);
    }
  }

  bool fit() const {
    const PoolWindows& w = pool_.w;
    const auto is_inside = [&](int dim) { return Inside(w, dim).size() == w.count[dim]; };
    const auto is_dense = [&](const auto& to) {
      return to.column == 1 && (w.count[0] == 1 || to.row == w.count[1]) &&
             (w.channels == 1 || to.channel == windows_) &&
             (w.batch == 1 || to.batch == w.channels * windows_);
    };
    return together_ > 1 && w.padding[0] == 0 && w.padding[1] == 0 && is_inside(0) &&
           is_inside(1) && (w.batch == 1 || pool_.a.batch == w.channels * pool_.a.channel) &&
           together_ * std::abs(pool_.a.channel) < std::numeric_limits<int32_t>::max() / 2 &&
           fits_offset(pool_) && is_dense(pool_.values) && is_dense(pool_.indices);
  }

  void run() const {
    const int64_t planes = pool_.w.batch * pool_.w.channels;
    const int64_t work = together_ * windows_ * static_cast<int64_t>(taps_.offsets.size());
    parallel_for(divide_up(planes, together_),
                 std::max<int64_t>(1, constants::pooled_elements / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     take(i * together_, std::min(planes, (i + 1) * together_));
                 });
  }

 private:
  void take(int64_t plane, int64_t end) const {
    const int64_t count = (end - plane) * windows_;
    Found<T> found;
    tile::find_largest({pool_.a.data + plane * pool_.a.channel, begins_.data(), count,
                        taps_.offsets.data(), static_cast<int64_t>(taps_.offsets.size()),
                        found.largest.data(), found.which.data()});
    std::copy_n(found.largest.data(), count, pool_.values.data + plane * windows_);
    int64_t* const index = pool_.indices.data + plane * windows_;
    for (int64_t i = 0; i < count; ++i) index[i] = places_[i] + taps_.places[found.which[i]];
  }

  const MaxPool<T>& pool_;
  int64_t windows_, together_;  // of a plane; planes
  Taps<T> taps_;
  std::array<Offset<T>, most_windows> begins_{};
  std::array<int64_t, most_windows> places_{};
};

// ---- By channels ----------------------------------------------------------------------------------------------

template <class T>
void max_of_channels(const MaxPool<T>& pool, int64_t n, int64_t y, int64_t x, const Taps<T>& taps,
                     const std::array<Offset<T>, most_windows>& channels) {
  const auto rows = pool.w.taps(0, y), columns = pool.w.taps(1, x);
  const int64_t row = rows.begin, column = columns.begin;
  Found<T> found;
  for (int64_t c = 0; c < pool.w.channels; c += most_windows) {
    const int64_t count = std::min(most_windows, pool.w.channels - c);
    tile::find_largest({pool.a.at(n, c, row, column), channels.data(), count, taps.offsets.data(),
                        static_cast<int64_t>(taps.offsets.size()), found.largest.data(),
                        found.which.data()});
    std::copy_n(found.largest.data(), count, pool.values.at(n, c, y, x));
    int64_t* const places = pool.indices.at(n, c, y, x);
    for (int64_t k = 0; k < count; ++k)
      places[k] = pool.place(row, column) + taps.places[found.which[k]];
  }
}

template <class T> void max_by_channels(const MaxPool<T>& pool) {
  const PoolWindows& w = pool.w;
  std::array<Offset<T>, most_windows> channels;
  std::iota(channels.begin(), channels.end(), Offset<T>(0));
  const Taps<T> all(pool, {0, 0, w.kernel[0]}, {0, 0, w.kernel[1]});
  const Inside inside_rows(w, 0), inside_columns(w, 1);
  const int64_t work = w.kernel[0] * w.kernel[1] * w.channels;
  parallel_for(w.batch * w.count[0] * w.count[1],
               std::max<int64_t>(1, constants::pooled_elements / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t x = i % w.count[1], rest = i / w.count[1];
                   const int64_t y = rest % w.count[0], n = rest / w.count[0];
                   if (inside_rows.has(y) && inside_columns.has(x)) {
                     max_of_channels(pool, n, y, x, all, channels);
                     continue;
                   }
                   const Taps<T> some(pool, w.taps(0, y), w.taps(1, x));
                   if (!some.offsets.empty())
                     max_of_channels(pool, n, y, x, some, channels);
                   else  // padding alone
                     for (int64_t c = 0; c < w.channels; ++c) max_of_window(pool, n, c, y, x);
                 }
               });
}

// ---- The row ---------------------------------------------------------------------------------------------------

Status run_max_pool(Stream, In input, Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                    bool, Out largest, Out places) {
  const bp_tensor &a = input.abi(), &values = largest.abi(), &indices = places.abi();
  const PoolWindows w = windows_of(a, values, kernel_size, stride, padding, dilation);
  const bool by_channels = is_by_channels(a, values) && indices.dl.strides[1] == 1;
  visit_dtype<pool_dtypes>(a.dtype, [&]<class T>(Tag<T>) {
    const MaxPool<T> pool{w, Pictures<const T>(a), Pictures<T>(values), Pictures<int64_t>(indices)};
    if (by_channels && fits_offset(pool))
      max_by_channels(pool);
    else if (const SmallPlanes<T> small(pool); small.fit())
      small.run();
    else
      max_by_planes(pool);
  });
  return ok;
}

}  // namespace

void add_max_pooling_kernels(Kernels& k) {
  constexpr DtypeSet dtypes{pool_dtypes};
  using place = op::max_pool_with_indices::place;
  k.add<op::max_pool_with_indices>(run_max_pool)
      .dtypes(dtypes)
      .dtypes(place::values, dtypes)
      .dtypes(place::indices, i64)
      .layouts(strided)
      .layouts(place::values, contiguous, channels_last)
      .layouts(place::indices, contiguous, channels_last)
      .deterministic()
      .supports(
          [](Stream, In a, Ints, Ints, Ints, Ints, bool, Out, Out) { return is_pooled_here(a); });
}

}  // namespace bp::cpu
