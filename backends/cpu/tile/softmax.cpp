// Three passes over a row that stays in the cache: the maximum; the exponentials and their sum; the
// division. While the second computes, it fetches the next row and, of large tensors, writes the one before, so that memory never waits.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/softmax.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>

#include "tile/softmax.hpp"
#include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

template <class T> using Lanes = hn::ScalableTag<T>;

template <class T, class V> HWY_INLINE V load_or(const T* from, int64_t count, T rest) {
  const Lanes<T> d;
  const auto size = static_cast<size_t>(count);
  return hn::IfThenElse(hn::FirstN(d, size), load_part(d, from, size), hn::Set(d, rest));
}

template <class T> T largest_of(const T* from, int64_t count) {
  const Lanes<T> d;
  using V = hn::Vec<Lanes<T>>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T lowest = -std::numeric_limits<T>::infinity();
  V best[4] = {hn::Set(d, lowest), hn::Set(d, lowest), hn::Set(d, lowest), hn::Set(d, lowest)};
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int k = 0; k < 4; ++k) best[k] = hn::Max(best[k], hn::LoadU(d, from + i + k * lanes));
  }
  for (; i < count; i += lanes) {
    best[0] = hn::Max(best[0], load_or<T, V>(from + i, std::min(lanes, count - i), lowest));
  }
  const V all = hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3]));
  return hn::GetLane(hn::MaxOfLanes(d, all));
}

// What the exponentials of a row come to: those of its largest elements are 1 each, and those of the others
// `rest`. In their sum, a small rest would lose the digits that its logarithm consists of.
struct Total {
  size_t ones = 0;  // not told apart for softmax
  double rest = 0;
};

// Adds e = e^shifted.
template <bool log, class D, class V>
HWY_INLINE void add_term(D d, V shifted, V e, V& sum, Total& total) {
  if constexpr (log) {
    const auto is_largest = hn::Eq(shifted, hn::Zero(d));  // false where infinities made a NaN
    total.ones += hn::CountTrue(d, is_largest);
    sum = hn::Add(sum, hn::IfThenZeroElse(is_largest, e));
  } else {
    sum = hn::Add(sum, e);
  }
}

// With what rounding took from the sum. A branch for small rests would cost more.
double log_of(const Total& total) {
  const auto ones = static_cast<double>(total.ones);
  const double sum = ones + total.rest;
  return std::log(sum) + (total.rest - (sum - ones)) / sum;
}

// The result of a row whose sum is known, from its elements for the logarithm and else from their exponentials.
template <bool log, class T> class Result {
 public:
  using V = hn::Vec<Lanes<T>>;
  explicit Result(const SoftmaxRow& row)
      : from_(static_cast<const T*>(log ? row.in : row.scratch)),
        shift_(hn::Set(Lanes<T>(), static_cast<T>(row.shift))),
        rest_(hn::Set(Lanes<T>(), static_cast<T>(row.rest))) {}

  const T* from() const { return from_; }
  HWY_INLINE V of(V x) const {
    if constexpr (log)
      return hn::Sub(hn::Sub(x, shift_), rest_);
    else
      return hn::Mul(x, rest_);
  }
  HWY_INLINE void stream(T* to, int64_t i) const {
    hn::Stream(of(hn::LoadU(Lanes<T>(), from_ + i)), Lanes<T>(), to + i);
  }

 private:
  const T* from_;
  V shift_, rest_;
};

// The sum of e^(x - largest); the terms themselves go to `terms`, but for the logarithm. Blocks are added up
// in double, so that long rows lose nothing.
template <bool log, class T> Total exponentials(const SoftmaxRow& row, T largest, T* terms) {
  const Lanes<T> d;
  using V = hn::Vec<Lanes<T>>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* from = static_cast<const T*>(row.in);
  const T* next = static_cast<const T*>(row.next);
  const V shift = hn::Set(d, largest);
  T* const to_before = row.before != nullptr ? static_cast<T*>(row.before->out) : nullptr;
  const Result<log, T> before(row.before != nullptr ? *row.before : row);
  const int64_t block = 128 * lanes;  // 64 additions to each lane
  Total total;
  int64_t i = 0;
  while (i + 2 * lanes <= row.count) {
    V sums[2] = {hn::Zero(d), hn::Zero(d)};
    for (const int64_t end = std::min(row.count, i + block); i + 2 * lanes <= end; i += 2 * lanes) {
      if (next != nullptr) {
        for (int64_t k = 0; k < 2 * lanes; k += 64 / static_cast<int64_t>(sizeof(T)))
          hwy::Prefetch(next + i + k);
      }
      const V first = hn::Sub(hn::LoadU(d, from + i), shift);
      const V second = hn::Sub(hn::LoadU(d, from + i + lanes), shift);
      const V e_first = exp_bounded(d, first), e_second = exp_bounded(d, second);
      if constexpr (!log) {
        hn::StoreU(e_first, d, terms + i);
        hn::StoreU(e_second, d, terms + i + lanes);
      }
      add_term<log>(d, first, e_first, sums[0], total);
      add_term<log>(d, second, e_second, sums[1], total);
      if (to_before != nullptr) {
        before.stream(to_before, i);
        before.stream(to_before, i + lanes);
      }
    }
    total.rest += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1]))));
  }
  V sum = hn::Zero(d);
  for (; i < row.count; i += lanes) {
    const int64_t part = std::min(lanes, row.count - i);
    const auto size = static_cast<size_t>(part);
    const V x = load_or<T, V>(from + i, part, -std::numeric_limits<T>::infinity());
    const V shifted = hn::Sub(x, shift);
    const V e = hn::IfThenElseZero(hn::FirstN(d, size), exp_bounded(d, shifted));
    if constexpr (!log) store_part(e, d, terms + i, size);
    add_term<log>(d, shifted, e, sum, total);
    if (to_before != nullptr) before.stream(to_before, i);  // of whole lines, so of whole vectors
  }
  total.rest += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  return total;
}

// out[i] = f(in[i]), with whole vectors past the caches if asked.
template <class T, class F>
HWY_INLINE void write(T* out, const T* in, int64_t count, bool streams, F f) {
  const Lanes<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto vector_bytes = static_cast<uintptr_t>(lanes) * sizeof(T);
  int64_t i = 0;
  if (streams) {
    const auto past =
        static_cast<int64_t>((reinterpret_cast<uintptr_t>(out) % vector_bytes) / sizeof(T));
    i = std::min(count, past == 0 ? 0 : lanes - past);
    if (i != 0)
      store_part(f(load_part(d, in, static_cast<size_t>(i))), d, out, static_cast<size_t>(i));
    for (; i + lanes <= count; i += lanes) hn::Stream(f(hn::LoadU(d, in + i)), d, out + i);
  }
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, in + i)), d, out + i);
  if (i < count) {
    const auto part = static_cast<size_t>(count - i);
    store_part(f(load_part(d, in + i, part)), d, out + i, part);
  }
}

template <bool log, class T> void softmax_or_log(SoftmaxRow& row) {
  const T largest = largest_of(static_cast<const T*>(row.in), row.count);
  const Total total = exponentials<log, T>(row, largest, static_cast<T*>(row.scratch));
  row.shift = static_cast<double>(largest);
  row.rest = log ? log_of(total) : 1 / total.rest;
  if (row.waits) return;
  const Result<log, T> result(row);
  write(static_cast<T*>(row.out), result.from(), row.count, row.streams,
        [&](hn::Vec<Lanes<T>> x) HWY_ATTR { return result.of(x); });
}

template <class T> void softmax(SoftmaxRow& row) {
  row.log ? softmax_or_log<true, T>(row) : softmax_or_log<false, T>(row);
}

// Of numbers `step` apart whose largest is infinite.
template <class T> T logsumexp_of_infinite(const T* from, int64_t step, int64_t count, T largest) {
  for (int64_t i = 0; i < count; ++i)
    if (std::isnan(from[i * step])) return from[i * step];
  return largest;
}

template <class T> double logsumexp(const void* from, int64_t count) {
  SoftmaxRow row{};
  row.in = from;
  row.count = count;
  const auto* const numbers = static_cast<const T*>(from);
  const T largest = largest_of(numbers, count);
  if (std::isinf(largest))
    return static_cast<double>(logsumexp_of_infinite(numbers, 1, count, largest));
  return static_cast<double>(largest) + log_of(exponentials<true, T>(row, largest, nullptr));
}

// One or two vectors of columns; the last has `part` of its lanes.
template <class T, int vectors> class ColumnsOfVectors {
 public:
  ColumnsOfVectors(const SoftmaxColumns& columns, int64_t first, int64_t part)
      : columns_(columns), part_(static_cast<size_t>(part)), block_(block_of(columns.count)),
        in_(static_cast<const T*>(columns.in) + first), out_(static_cast<T*>(columns.out) + first) {
  }

  void run() {
    V largest[vectors];
    find_largest(largest);
    if (columns_.log) {
      logarithms(largest);
    } else {
      shares(largest);
    }
  }

  void run_logsumexp() {
    const Lanes<T> d;
    constexpr auto width = vectors * hn::MaxLanes(d);
    V largest[vectors];
    find_largest(largest);
    double totals[width];
    logarithms_of_sums(largest, totals);
    HWY_ALIGN T shifts[width];
    const auto lanes = hn::Lanes(d), count = (vectors - 1) * lanes + part_;
    for (size_t k = 0; k < vectors; ++k) hn::Store(largest[k], d, shifts + k * lanes);
    for (size_t i = 0; i < count; ++i) {
      if (std::isinf(shifts[i]))
        out_[i] = logsumexp_of_infinite(in_ + i, columns_.in_step, columns_.count, shifts[i]);
      else
        out_[i] = static_cast<T>(static_cast<double>(shifts[i]) + totals[i]);
    }
  }

 private:
  using V = hn::Vec<Lanes<T>>;

  void find_largest(V (&largest)[vectors]) {
    for (V& each : largest) each = hn::Set(Lanes<T>(), -std::numeric_limits<T>::infinity());
    each_row([&](int, int k, V x, T*) HWY_ATTR { largest[k] = hn::Max(largest[k], x); });
  }

  // Rows whose terms are added up in T before they go to the totals. Totals of f64 have the same width, so that both chains are short.
  static int64_t block_of(int64_t count) {
    if (sizeof(T) < sizeof(double)) return 64;
    return std::max<int64_t>(8, static_cast<int64_t>(std::sqrt(static_cast<double>(count))));
  }

  // Calls f(row, k, x, to) for the vectors of all rows.
  template <class F> HWY_INLINE void each_row(F f, int64_t begin = 0, int64_t end = -1) {
    const Lanes<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t last = end < 0 ? columns_.count : end;
    for (int64_t row = begin; row < last; ++row) {
      const T* from = in_ + row * columns_.in_step;
      T* to = out_ + row * columns_.out_step;
      for (int k = 0; k < vectors; ++k) {
        const V x =
            is_part(k) ? load_part(d, from + k * lanes, part_) : hn::LoadU(d, from + k * lanes);
        f(static_cast<int>(row - begin), k, x, to + k * lanes);
      }
    }
  }
  HWY_INLINE void store(int k, V value, T* to) {
    const Lanes<T> d;
    is_part(k) ? store_part(value, d, to, part_) : hn::StoreU(value, d, to);
  }
  HWY_INLINE bool is_part(int k) const { return k == vectors - 1 && part_ < hn::Lanes(Lanes<T>()); }

  // Adds the lanes of `sums` to `totals`.
  void add_lanes(const V (&sums)[vectors], double* totals) {
    const Lanes<T> d;
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    for (int k = 0; k < vectors; ++k) {
      hn::Store(sums[k], d, lanes);
      for (size_t i = 0; i < hn::Lanes(d); ++i) *totals++ += static_cast<double>(lanes[i]);
    }
  }
  V load_totals(const double* totals, int k) {
    const Lanes<T> d;
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    for (size_t i = 0; i < hn::Lanes(d); ++i)
      lanes[i] = static_cast<T>(totals[static_cast<size_t>(k) * hn::Lanes(d) + i]);
    return hn::Load(d, lanes);
  }

  void shares(const V (&largest)[vectors]) {
    const Lanes<T> d;
    double totals[vectors * hn::MaxLanes(d)] = {};
    for (int64_t row = 0; row < columns_.count; row += block_) {
      V sums[vectors];
      for (V& sum : sums) sum = hn::Zero(d);
      each_row(
          [&](int, int k, V x, T* to) HWY_ATTR {
            const V e = exp_bounded(d, hn::Sub(x, largest[k]));
            sums[k] = hn::Add(sums[k], e);
            store(k, e, to);
          },
          row, std::min(columns_.count, row + block_));
      add_lanes(sums, totals);
    }
    for (double& total : totals) total = 1 / total;
    V factors[vectors];
    for (int k = 0; k < vectors; ++k) factors[k] = load_totals(totals, k);
    in_ = out_;
    columns_.in_step = columns_.out_step;
    each_row([&](int, int k, V x, T* to) HWY_ATTR { store(k, hn::Mul(x, factors[k]), to); });
  }

  // Of what e^(x - largest) comes to in each column.
  void logarithms_of_sums(const V (&largest)[vectors], double* totals) {
    const Lanes<T> d;
    double ones[vectors * hn::MaxLanes(d)] = {};
    std::fill_n(totals, vectors * hn::Lanes(d), 0.0);
    for (int64_t row = 0; row < columns_.count; row += block_) {
      V sums[vectors], largests[vectors];
      for (int k = 0; k < vectors; ++k) sums[k] = largests[k] = hn::Zero(d);
      each_row(
          [&](int, int k, V x, T*) HWY_ATTR {
            const V shifted = hn::Sub(x, largest[k]);
            const auto is_largest = hn::Eq(shifted, hn::Zero(d));
            sums[k] = hn::Add(sums[k], hn::IfThenZeroElse(is_largest, exp_bounded(d, shifted)));
            largests[k] = hn::Add(largests[k], hn::IfThenElseZero(is_largest, hn::Set(d, 1)));
          },
          row, std::min(columns_.count, row + block_));
      add_lanes(sums, totals);
      add_lanes(largests, ones);
    }
    for (size_t i = 0; i < vectors * hn::Lanes(d); ++i)
      totals[i] = log_of({static_cast<size_t>(ones[i]), totals[i]});
  }

  void logarithms(const V (&largest)[vectors]) {
    const Lanes<T> d;
    double totals[vectors * hn::MaxLanes(d)];
    logarithms_of_sums(largest, totals);
    V log_sums[vectors];
    for (int k = 0; k < vectors; ++k) log_sums[k] = load_totals(totals, k);
    each_row([&](int, int k, V x, T* to)
                 HWY_ATTR { store(k, hn::Sub(hn::Sub(x, largest[k]), log_sums[k]), to); });
  }

  SoftmaxColumns columns_;
  size_t part_;
  int64_t block_;
  const T* in_;
  T* out_;
};

// Calls f with all columns, two or one vector at a time.
template <class T, class F> void over_columns(const SoftmaxColumns& columns, F f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Lanes<T>()));
  int64_t first = 0;
  for (; first + 2 * lanes <= columns.width; first += 2 * lanes)
    f(ColumnsOfVectors<T, 2>(columns, first, lanes));
  for (; first < columns.width; first += lanes)
    f(ColumnsOfVectors<T, 1>(columns, first, std::min(lanes, columns.width - first)));
}
template <class T> void softmax_columns(const SoftmaxColumns& columns) {
  over_columns<T>(columns, [](auto some) { some.run(); });
}
template <class T> void logsumexp_columns(const SoftmaxColumns& columns) {
  over_columns<T>(columns, [](auto some) { some.run_logsumexp(); });
}

}  // namespace

void softmax_columns_here_f32(const SoftmaxColumns& columns) {
  softmax_columns<float>(columns);
}
void softmax_columns_here_f64(const SoftmaxColumns& columns) {
  softmax_columns<double>(columns);
}
void softmax_row_f32(SoftmaxRow& row) {
  softmax<float>(row);
}
void softmax_row_f64(SoftmaxRow& row) {
  softmax<double>(row);
}
double logsumexp_here_f32(const void* row, int64_t count) {
  return logsumexp<float>(row, count);
}
double logsumexp_here_f64(const void* row, int64_t count) {
  return logsumexp<double>(row, count);
}
void logsumexp_columns_here_f32(const SoftmaxColumns& columns) {
  logsumexp_columns<float>(columns);
}
void logsumexp_columns_here_f64(const SoftmaxColumns& columns) {
  logsumexp_columns<double>(columns);
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(softmax_row_f32);
HWY_EXPORT(softmax_row_f64);

HWY_EXPORT(softmax_columns_here_f32);
HWY_EXPORT(softmax_columns_here_f64);

HWY_EXPORT(logsumexp_here_f32);
HWY_EXPORT(logsumexp_here_f64);
HWY_EXPORT(logsumexp_columns_here_f32);
HWY_EXPORT(logsumexp_columns_here_f64);

void softmax_columns_f32(const SoftmaxColumns& columns) {
  HWY_DYNAMIC_DISPATCH(softmax_columns_here_f32)(columns);
}
void softmax_columns_f64(const SoftmaxColumns& columns) {
  HWY_DYNAMIC_DISPATCH(softmax_columns_here_f64)(columns);
}
void softmax_f32(SoftmaxRow& row) {
  HWY_DYNAMIC_DISPATCH(softmax_row_f32)(row);
}
void softmax_f64(SoftmaxRow& row) {
  HWY_DYNAMIC_DISPATCH(softmax_row_f64)(row);
}
double logsumexp_f32(const void* row, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(logsumexp_here_f32)(row, count);
}
double logsumexp_f64(const void* row, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(logsumexp_here_f64)(row, count);
}
void logsumexp_columns_f32(const SoftmaxColumns& columns) {
  HWY_DYNAMIC_DISPATCH(logsumexp_columns_here_f32)(columns);
}
void logsumexp_columns_f64(const SoftmaxColumns& columns) {
  HWY_DYNAMIC_DISPATCH(logsumexp_columns_here_f64)(columns);
}

}  // namespace bp::cpu::tile
#endif
