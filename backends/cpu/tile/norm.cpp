// Passes over a row that stays in the cache: the mean, the variance around it, the result. The first fetches
// the next row, so that memory never waits.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/norm.cpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/bf16-inl.hpp"
#include "tile/norm.hpp"
#include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

template <class T> using NormLanes = hn::ScalableTag<T>;
template <class T> using NormVector = hn::Vec<NormLanes<T>>;

// How a step of a loop loads: whole vectors, or the last part of one, whose other lanes are 0.
template <class T> struct WholeVector {
  HWY_INLINE NormVector<T> operator()(const T* from) const {
    return hn::LoadU(NormLanes<T>(), from);
  }
  HWY_INLINE NormVector<T> keep(NormVector<T> value) const { return value; }
};
template <class T> struct PartOfVector {
  size_t size;
  HWY_INLINE NormVector<T> operator()(const T* from) const {
    return load_part(NormLanes<T>(), from, size);
  }
  HWY_INLINE NormVector<T> keep(NormVector<T> value) const {
    return hn::IfThenElseZero(hn::FirstN(NormLanes<T>(), size), value);
  }
};

template <class T> HWY_INLINE double sum_of_lanes(NormVector<T> sums) {
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(NormLanes<T>(), sums)));
}

// The totals of what `term(i, load, sums)` adds up, in blocks that are added in double, so that long rows lose
// nothing.
template <int num, class T, class F>
HWY_INLINE std::array<double, num> totals_of(int64_t count, F term) {
  const NormLanes<T> d;
  using V = NormVector<T>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = 4 * lanes, block = 64 * step;
  std::array<double, num> totals{};
  int64_t i = 0;
  while (i + step <= count) {
    V sums[4][num];
    for (int k = 0; k < 4; ++k)
      for (int n = 0; n < num; ++n) sums[k][n] = hn::Zero(d);
    for (const int64_t end = std::min(count, i + block); i + step <= end; i += step)
      for (int k = 0; k < 4; ++k) term(i + k * lanes, WholeVector<T>(), sums[k]);
    for (int n = 0; n < num; ++n)
      totals[n] += sum_of_lanes<T>(
          hn::Add(hn::Add(sums[0][n], sums[1][n]), hn::Add(sums[2][n], sums[3][n])));
  }
  V rest[num];
  for (int n = 0; n < num; ++n) rest[n] = hn::Zero(d);
  for (; i < count; i += lanes)
    term(i, PartOfVector<T>{static_cast<size_t>(std::min(lanes, count - i))}, rest);
  for (int n = 0; n < num; ++n) totals[n] += sum_of_lanes<T>(rest[n]);
  return totals;
}

// out[i] = f(i, load), with whole vectors past the caches if asked.
template <class T, class F> HWY_INLINE void write_row(T* out, int64_t count, bool streams, F f) {
  const NormLanes<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto write_part = [&](int64_t i, int64_t size) HWY_ATTR {
    const auto part = static_cast<size_t>(size);
    store_part(f(i, PartOfVector<T>{part}), d, out + i, part);
  };
  int64_t i = 0;
  if (streams) {
    const auto vector_bytes = static_cast<uintptr_t>(lanes) * sizeof(T);
    const auto past =
        static_cast<int64_t>((reinterpret_cast<uintptr_t>(out) % vector_bytes) / sizeof(T));
    i = std::min(count, past == 0 ? 0 : lanes - past);
    if (i != 0) write_part(0, i);
    for (; i + lanes <= count; i += lanes) hn::Stream(f(i, WholeVector<T>()), d, out + i);
  }
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(i, WholeVector<T>()), d, out + i);
  if (i < count) write_part(i, count - i);
}

template <class T> HWY_INLINE void fetch(const T* next, int64_t i) {
  if (next != nullptr) hwy::Prefetch(next + i);
}

template <class T> double mean_of(const T* in, const T* next, int64_t count) {
  return totals_of<1, T>(count,
                         [&](int64_t i, auto load, NormVector<T>* sums) HWY_ATTR {
                           fetch(next, i);
                           sums[0] = hn::Add(sums[0], load(in + i));
                         })[0] /
         static_cast<double>(count);
}

template <class T>
double mean_square_around(const T* in, const T* next, int64_t count, double center) {
  const NormVector<T> shift = hn::Set(NormLanes<T>(), static_cast<T>(center));
  return totals_of<1, T>(count,
                         [&](int64_t i, auto load, NormVector<T>* sums) HWY_ATTR {
                           fetch(next, i);
                           const auto x = load.keep(hn::Sub(load(in + i), shift));
                           sums[0] = hn::MulAdd(x, x, sums[0]);
                         })[0] /
         static_cast<double>(count);
}

// The result of a row whose statistics are known, from its elements.
template <class T> class Normalized {
 public:
  Normalized(const NormRow& row, const T* in)
      : in_(in), weight_(static_cast<const T*>(row.weight)), bias_(static_cast<const T*>(row.bias)),
        shift_(hn::Set(NormLanes<T>(), static_cast<T>(row.mean))),
        factor_(hn::Set(NormLanes<T>(), static_cast<T>(row.rstd))) {}

  template <class Load> HWY_INLINE NormVector<T> operator()(int64_t i, Load load) const {
    auto y = hn::Mul(hn::Sub(load(in_ + i), shift_), factor_);
    if (weight_ != nullptr) y = hn::Mul(y, load(weight_ + i));
    return bias_ != nullptr ? hn::Add(y, load(bias_ + i)) : y;
  }

 private:
  const T *in_, *weight_, *bias_;
  NormVector<T> shift_, factor_;
};

template <class T> void norm(NormRow& row) {
  const T* in = static_cast<const T*>(row.in);
  const T* next = static_cast<const T*>(row.next);
  row.mean = row.has_mean ? mean_of(in, next, row.count) : 0;
  const double variance =
      mean_square_around(in, row.has_mean ? nullptr : next, row.count, row.mean);
  row.rstd = 1 / std::sqrt(variance + row.eps);
  const Normalized<T> result(row, in);
  write_row(static_cast<T*>(row.out), row.count, row.streams,
            [&](int64_t i, auto load) HWY_ATTR { return result(i, load); });
}

HWY_INLINE NormVector<float> widened(const uint16_t* from, WholeVector<float>) {
  return bf16::load(from);
}
HWY_INLINE NormVector<float> widened(const uint16_t* from, PartOfVector<float> part) {
  uint16_t whole[hn::MaxLanes(NormLanes<float>())] = {};
  std::memcpy(whole, from, part.size * sizeof *from);
  return bf16::load(whole);
}
HWY_INLINE void put(NormVector<float> value, float* to, WholeVector<float>) {
  hn::StoreU(value, NormLanes<float>(), to);
}
HWY_INLINE void put(NormVector<float> value, float* to, PartOfVector<float> part) {
  store_part(value, NormLanes<float>(), to, part.size);
}

// Converted while the first sum is taken, and back while the result is made.
void norm_of_bf16(NormRow& row) {
  const auto* in = static_cast<const uint16_t*>(row.in);
  const auto* next = static_cast<const uint16_t*>(row.next);
  auto* const wide = static_cast<float*>(row.scratch);
  const double first =
      totals_of<1, float>(row.count,
                          [&](int64_t i, auto load, NormVector<float>* sums) HWY_ATTR {
                            fetch(next, i);
                            const auto x = widened(in + i, load);
                            put(x, wide + i, load);
                            sums[0] =
                                row.has_mean ? hn::Add(sums[0], x) : hn::MulAdd(x, x, sums[0]);
                          })[0] /
      static_cast<double>(row.count);
  row.mean = row.has_mean ? first : 0;
  const double variance =
      row.has_mean ? mean_square_around<float>(wide, nullptr, row.count, first) : first;
  row.rstd = 1 / std::sqrt(variance + row.eps);
  const Normalized<float> result(row, wide);
  auto* to = static_cast<uint16_t*>(row.out);
  const auto lanes = static_cast<int64_t>(hn::Lanes(NormLanes<float>()));
  int64_t i = 0;
  for (; i + lanes <= row.count; i += lanes) bf16::store(result(i, WholeVector<float>()), to + i);
  if (i == row.count) return;
  const auto rest = static_cast<size_t>(row.count - i);
  uint16_t last[hn::MaxLanes(NormLanes<float>())];
  bf16::store(result(i, PartOfVector<float>{rest}), last);
  std::memcpy(to + i, last, rest * sizeof *to);
}

// rstd * (g - mean of g - x * mean of (g * x)) with g = grad * weight and x the normalized row.
template <class T> void norm_back(const NormBackRow& row) {
  const NormLanes<T> d;
  const T* in = static_cast<const T*>(row.in);
  const T* grad = static_cast<const T*>(row.grad);
  const T* next_in = static_cast<const T*>(row.next_in);
  const T* next_grad = static_cast<const T*>(row.next_grad);
  const T* weight = static_cast<const T*>(row.weight);
  const auto shift = hn::Set(d, static_cast<T>(row.mean));
  const auto factor = hn::Set(d, static_cast<T>(row.rstd));
  const auto inner = [&](int64_t i, auto load) HWY_ATTR {
    const auto g = load(grad + i);
    return weight != nullptr ? hn::Mul(g, load(weight + i)) : g;
  };
  const auto totals =
      totals_of<2, T>(row.count, [&](int64_t i, auto load, NormVector<T>* sums) HWY_ATTR {
        fetch(next_in, i);
        fetch(next_grad, i);
        const auto g = inner(i, load);
        sums[0] = hn::Add(sums[0], g);
        sums[1] = hn::MulAdd(g, hn::Sub(load(in + i), shift), sums[1]);
      });
  const double count = static_cast<double>(row.count);
  const auto mean = hn::Set(d, static_cast<T>(row.has_mean ? totals[0] / count : 0));
  // On x - shift, which rstd makes the normalized row of.
  const auto slope = hn::Set(d, static_cast<T>(totals[1] / count * row.rstd * row.rstd));
  write_row(static_cast<T*>(row.out), row.count, row.streams, [&](int64_t i, auto load) HWY_ATTR {
    const auto centered = hn::Sub(load(in + i), shift);
    return hn::Mul(factor, hn::NegMulAdd(centered, slope, hn::Sub(inner(i, load), mean)));
  });
}

template <class T> void norm_weight(const NormWeightRow& row) {
  const NormLanes<T> d;
  T* sum = static_cast<T*>(row.sum);
  const T* in = static_cast<const T*>(row.in);
  const T* grad = static_cast<const T*>(row.grad);
  const auto shift = hn::Set(d, static_cast<T>(row.mean));
  const auto factor = hn::Set(d, static_cast<T>(row.rstd));
  write_row(sum, row.count, false, [&](int64_t i, auto load) HWY_ATTR {
    const auto x = hn::Mul(hn::Sub(load(in + i), shift), factor);
    return hn::MulAdd(load(grad + i), x, load(sum + i));
  });
}

template <class T> NormSums sums_of_row(const T* in, const T* grad, int64_t count, double center) {
  const auto shift = hn::Set(NormLanes<T>(), static_cast<T>(center));
  const auto totals =
      totals_of<2, T>(count, [&](int64_t i, auto load, NormVector<T>* sums) HWY_ATTR {
        const auto x = load.keep(hn::Sub(load(in + i), shift));
        const auto y = grad != nullptr ? load(grad + i) : x;
        sums[0] = hn::Add(sums[0], y);
        sums[1] = hn::MulAdd(x, y, sums[1]);
      });
  return {totals[0], totals[1]};
}

template <class T> void affine(const AffineRow& row) {
  const NormLanes<T> d;
  const T* in = static_cast<const T*>(row.in);
  const T* grad = static_cast<const T*>(row.grad);
  const auto center = hn::Set(d, static_cast<T>(row.center));
  const auto slope = hn::Set(d, static_cast<T>(row.slope));
  const auto factor = hn::Set(d, static_cast<T>(row.factor));
  const auto shift = hn::Set(d, static_cast<T>(row.shift));
  write_row(static_cast<T*>(row.out), row.count, row.streams, [&](int64_t i, auto load) HWY_ATTR {
    const auto y = hn::MulAdd(hn::Sub(load(in + i), center), slope, shift);
    return grad != nullptr ? hn::MulAdd(load(grad + i), factor, y) : y;
  });
}

}  // namespace

NormSums norm_sums_row_f32(const void* in, const void* grad, int64_t count, double center) {
  return sums_of_row(static_cast<const float*>(in), static_cast<const float*>(grad), count, center);
}
NormSums norm_sums_row_f64(const void* in, const void* grad, int64_t count, double center) {
  return sums_of_row(static_cast<const double*>(in), static_cast<const double*>(grad), count,
                     center);
}
void affine_row_f32(const AffineRow& row) {
  affine<float>(row);
}
void affine_row_f64(const AffineRow& row) {
  affine<double>(row);
}
void norm_row_f32(NormRow& row) {
  norm<float>(row);
}
void norm_row_f64(NormRow& row) {
  norm<double>(row);
}
void norm_row_bf16(NormRow& row) {
  norm_of_bf16(row);
}
void norm_back_row_f32(const NormBackRow& row) {
  norm_back<float>(row);
}
void norm_back_row_f64(const NormBackRow& row) {
  norm_back<double>(row);
}
void norm_weight_row_f32(const NormWeightRow& row) {
  norm_weight<float>(row);
}
void norm_weight_row_f64(const NormWeightRow& row) {
  norm_weight<double>(row);
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(norm_sums_row_f32);
HWY_EXPORT(norm_sums_row_f64);
HWY_EXPORT(affine_row_f32);
HWY_EXPORT(affine_row_f64);
HWY_EXPORT(norm_row_f32);
HWY_EXPORT(norm_row_f64);
HWY_EXPORT(norm_row_bf16);
HWY_EXPORT(norm_back_row_f32);
HWY_EXPORT(norm_back_row_f64);
HWY_EXPORT(norm_weight_row_f32);
HWY_EXPORT(norm_weight_row_f64);

NormSums norm_sums_f32(const void* in, const void* grad, int64_t count, double center) {
  return HWY_DYNAMIC_DISPATCH(norm_sums_row_f32)(in, grad, count, center);
}
NormSums norm_sums_f64(const void* in, const void* grad, int64_t count, double center) {
  return HWY_DYNAMIC_DISPATCH(norm_sums_row_f64)(in, grad, count, center);
}
void affine_f32(const AffineRow& row) {
  HWY_DYNAMIC_DISPATCH(affine_row_f32)(row);
}
void affine_f64(const AffineRow& row) {
  HWY_DYNAMIC_DISPATCH(affine_row_f64)(row);
}
void norm_f32(NormRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_row_f32)(row);
}
void norm_f64(NormRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_row_f64)(row);
}
void norm_bf16(NormRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_row_bf16)(row);
}
void norm_back_f32(const NormBackRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_back_row_f32)(row);
}
void norm_back_f64(const NormBackRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_back_row_f64)(row);
}
void norm_weight_f32(const NormWeightRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_weight_row_f32)(row);
}
void norm_weight_f64(const NormWeightRow& row) {
  HWY_DYNAMIC_DISPATCH(norm_weight_row_f64)(row);
}

}  // namespace bp::cpu::tile
#endif
