// Plain loops over many accumulators at a time, which the compiler turns into vector code for each
// instruction set. Compile with -O3.
#include "../constants.hpp"
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/reduce.cpp"
#include <algorithm>
#include <cmath>
#include <complex>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>
#include <type_traits>

#include "tensor_view.hpp"
#include "tile/reduce.hpp"

HWY_BEFORE_NAMESPACE();
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#  pragma GCC target("prefer-vector-width=512")  // the compiler's own choice is half of it
#endif
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

struct Sum {
  template <class A> static A identity() { return A(0); }
  template <class A> static A apply(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<std::make_unsigned_t<A>>(a) +
                            static_cast<std::make_unsigned_t<A>>(b));
    } else {
      return a + b;
    }
  }
};
struct Prod {
  template <class A> static A identity() { return A(1); }
  template <class A> static A apply(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<std::make_unsigned_t<A>>(a) *
                            static_cast<std::make_unsigned_t<A>>(b));
    } else {
      return a * b;
    }
  }
};
// What an accumulator takes in of an element.
struct AsItIs {
  template <class A> static A of(A a) { return a; }
};
struct Squared {
  template <class A> static A of(A a) {
    if constexpr (std::is_arithmetic_v<A>)
      return a * a;
    else
      return hwy::HWY_NAMESPACE::Mul(a, a);
  }
};
// Of f32 and bf16, in f64: what is far below the least f32 is 0, since processors are a hundred times slower with denormal numbers.
struct ProdOfFloats {
  template <class A> static A identity() { return A(1); }
  static double apply(double a, double b) {
    const double product = a * b;
    return std::fabs(product) < 0x1p-1000 ? std::copysign(0.0, product) : product;
  }
};
struct Max {
  template <class A> static A identity() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::lowest();
  }
  template <class A> static A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>)
      return ((b > a) | (b != b)) ? b : a;
    else
      return b > a ? b : a;
  }
};
struct Min {
  template <class A> static A identity() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::max();
  }
  template <class A> static A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>)
      return ((b < a) | (b != b)) ? b : a;
    else
      return b < a ? b : a;
  }
};

constexpr int64_t fetch_ahead = constants::reduction_fetch_bytes;

template <class Op, class A> void start(void* accumulators, int64_t count) {
  auto* to = static_cast<A*>(accumulators);
  for (int64_t i = 0; i < count; ++i) to[i] = Op::template identity<A>();
}

// Joins the lanes in halves, of numbers known to the compiler.
template <class Op, int64_t half, class A> HWY_INLINE void fold(A* lanes) {
#pragma GCC ivdep
  for (int64_t j = 0; j < half; ++j) lanes[j] = Op::apply(lanes[j], lanes[j + half]);
  if constexpr (half > 1) fold<Op, half / 2>(lanes);
}

// Eight vectors of accumulators, so that the additions of one element after the other need not wait, and all are in registers.
template <class A>
constexpr int64_t lanes_of =
    std::max<int64_t>(
        64, 8 * hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<uint8_t>())) /
    static_cast<int64_t>(sizeof(A));

template <class Op, class T, class A, class Term = AsItIs, bool fetches = true>
void run(void* accumulator, const void* elements, int64_t count) {
  constexpr int64_t width = lanes_of<A>;
  const T* from = static_cast<const T*>(elements);
  A result = *static_cast<A*>(accumulator);
  int64_t i = 0;
  if (count >= width) {
    alignas(64) A lanes[width];
    for (int64_t j = 0; j < width; ++j) lanes[j] = Term::of(static_cast<A>(from[j]));
    for (i = width; i + width <= count; i += width) {
      for (int64_t j = 0; fetches && sizeof(T) == sizeof(A) && j < width;
           j += 64 / static_cast<int64_t>(sizeof(T))) {
        __builtin_prefetch(from + i + j + fetch_ahead / static_cast<int64_t>(sizeof(T)), 0, 2);
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j)
        lanes[j] = Op::apply(lanes[j], Term::of(static_cast<A>(from[i + j])));
    }
    const int64_t rest = count - i;
#pragma GCC ivdep
    for (int64_t j = 0; j < rest; ++j)
      lanes[j] = Op::apply(lanes[j], Term::of(static_cast<A>(from[i + j])));
    i = count;
    fold<Op, width / 2>(lanes);
    result = Op::apply(result, lanes[0]);
  }
  for (; i < count; ++i) result = Op::apply(result, Term::of(static_cast<A>(from[i])));
  *static_cast<A*>(accumulator) = result;
}

// Sums in f64 of f32, whose vectors are loaded in halves: the compiler loads whole ones and takes them apart, which takes 1.3 times as
// long.
namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<double>;
constexpr auto wide_lanes = static_cast<int64_t>(hn::MaxLanes(Wide()));

HWY_INLINE hn::Vec<Wide> load_wide(const float* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(hn::Rebind<float, Wide>(), from));
}

template <class D> HWY_INLINE hn::Vec<D> load_bf16(D d, const BFloat16* from) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<uint16_t, D> halves;
  const auto loaded = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, loaded)));
}

HWY_INLINE hn::Vec<Wide> load_wide(const BFloat16* from) {
  return hn::PromoteTo(Wide(), load_bf16(hn::Rebind<float, Wide>(), from));
}

HWY_INLINE hn::Vec<hn::ScalableTag<int64_t>> load_wide(const int64_t* from) {
  return hn::LoadU(hn::ScalableTag<int64_t>(), from);
}

// Sums in vectors of A, whose array no loop of unknown length may touch, or it would lie in memory.
template <class T, class A, class Term>
void run_sum(void* accumulator, const void* elements, int64_t count) {
  constexpr int64_t vectors = 8;
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* from = static_cast<const T*>(elements);
  A result = *static_cast<A*>(accumulator);
  const auto load = [&](int64_t at) HWY_ATTR { return Term::of(load_wide(from + at)); };
  auto sum = hn::Zero(d), other = sum;
  int64_t i = 0;
  if (count >= vectors * lanes) {
    decltype(load_wide(from)) sums[vectors];
    for (int64_t k = 0; k < vectors; ++k) sums[k] = load(k * lanes);
    for (i = vectors * lanes; i + vectors * lanes <= count; i += vectors * lanes)
      for (int64_t k = 0; k < vectors; ++k) sums[k] = hn::Add(sums[k], load(i + k * lanes));
    sum = hn::Add(hn::Add(sums[0], sums[4]), hn::Add(sums[2], sums[6]));
    other = hn::Add(hn::Add(sums[1], sums[5]), hn::Add(sums[3], sums[7]));
  }
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sum = hn::Add(sum, load(i));
    other = hn::Add(other, load(i + lanes));
  }
  if (i + lanes <= count) {
    sum = hn::Add(sum, load(i));
    i += lanes;
  }
  result = Sum::apply(result, hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other))));
  for (; i < count; ++i) result = Sum::apply(result, Term::of(static_cast<A>(from[i])));
  *static_cast<A*>(accumulator) = result;
}

struct MaxOfVectors {
  template <class D> static hn::Vec<D> apply(hn::Vec<D> a, hn::Vec<D> b) { return hn::Max(a, b); }
  template <class D> static hn::Vec<D> of_lanes(D d, hn::Vec<D> v) { return hn::MaxOfLanes(d, v); }
};
struct MinOfVectors {
  template <class D> static hn::Vec<D> apply(hn::Vec<D> a, hn::Vec<D> b) { return hn::Min(a, b); }
  template <class D> static hn::Vec<D> of_lanes(D d, hn::Vec<D> v) { return hn::MinOfLanes(d, v); }
};

// Of floats by the processor's own maximum, which loses a NaN: where one is seen, Op goes through all of them.
template <class Op, class OfVectors, class T>
void run_extreme_of_floats(void* accumulator, const void* elements, int64_t count) {
  constexpr int64_t vectors = 4;
  using D = hn::ScalableTag<T>;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* from = static_cast<const T*>(elements);
  if (count < vectors * lanes) return run<Op, T, T>(accumulator, elements, count);
  hn::Vec<D> best[vectors];
  for (int64_t k = 0; k < vectors; ++k) best[k] = hn::LoadU(d, from + k * lanes);
  auto is_nan = hn::IsNaN(best[0]);
  for (int64_t k = 1; k < vectors; ++k) is_nan = hn::Or(is_nan, hn::IsNaN(best[k]));
  const auto take_in = [&](hn::Vec<D>& to, const T* at) HWY_ATTR {
    const auto next = hn::LoadU(d, at);
    to = OfVectors::template apply<D>(to, next);
    is_nan = hn::Or(is_nan, hn::IsNaN(next));
  };
  int64_t i = vectors * lanes;
  for (; i + vectors * lanes <= count; i += vectors * lanes)
    for (int64_t k = 0; k < vectors; ++k) take_in(best[k], from + i + k * lanes);
  for (int64_t half = vectors / 2; half > 0; half /= 2) {
    if (i + half * lanes > count) continue;
    for (int64_t k = 0; k < half; ++k) take_in(best[k], from + i + k * lanes);
    i += half * lanes;
  }
  if (i < count) take_in(best[0], from + count - lanes);  // some of them again
  if (!hn::AllFalse(d, is_nan)) return run<Op, T, T>(accumulator, elements, count);
  for (int64_t half = vectors / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k)
      best[k] = OfVectors::template apply<D>(best[k], best[k + half]);
  T& result = *static_cast<T*>(accumulator);
  result = Op::apply(result, hn::GetLane(OfVectors::of_lanes(d, best[0])));
}

// Of f32 or bf16, four numbers at a time: the product of four is exact to 2^-52 and far from f64's limits, and is looked at once.
template <class T>
void run_product_of_floats(void* accumulator, const void* elements, int64_t count) {
  constexpr int64_t vectors = 4, block = 4 * vectors * wide_lanes;
  const auto* from = static_cast<const T*>(elements);
  double result = *static_cast<double*>(accumulator);
  const auto least = hn::Set(Wide(), 0x1p-1000);
  const auto product = [&](hn::Vec<Wide> a, hn::Vec<Wide> b) {
    const auto ab = hn::Mul(a, b);
    const auto sign = hn::And(ab, hn::SignBit(Wide()));
    return hn::IfThenElse(hn::Lt(hn::Abs(ab), least), sign, ab);  // as ProdOfFloats, a NaN stays
  };
  int64_t i = 0;
  if (count >= wide_lanes) {
    hn::Vec<Wide> products[vectors];
    for (auto& each : products) each = hn::Set(Wide(), 1.0);
    for (; i + block <= count; i += block) {
      for (int64_t k = 0; k < vectors; ++k) {
        const T* at = from + i + 4 * k * wide_lanes;
        const auto left = hn::Mul(load_wide(at), load_wide(at + wide_lanes));
        const auto right = hn::Mul(load_wide(at + 2 * wide_lanes), load_wide(at + 3 * wide_lanes));
        products[k] = product(products[k], hn::Mul(left, right));
      }
    }
    for (; i + wide_lanes <= count; i += wide_lanes)
      products[0] = product(products[0], load_wide(from + i));
    for (int64_t half = vectors / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k) products[k] = product(products[k], products[k + half]);
    alignas(64) double lanes[wide_lanes];
    hn::Store(products[0], Wide(), lanes);
    for (const double lane : lanes) result = ProdOfFloats::apply(result, lane);
  }
  for (; i < count; ++i) result = ProdOfFloats::apply(result, static_cast<float>(from[i]));
  *static_cast<double*>(accumulator) = result;
}

using Single = hn::ScalableTag<float>;
constexpr auto single_lanes = static_cast<int64_t>(hn::MaxLanes(Single()));

// Of bf16: so few numbers of eight digits lose nothing to speak of in f32, whose sums are then added up in f64. Where f32 is
// exceeded, or squares are lost below its range, f64 takes all of them.
template <class Term> void run_bf16_sum(void* accumulator, const void* elements, int64_t count) {
  constexpr int64_t vectors = 8, width = vectors * single_lanes, block = 16 * width;
  constexpr float least = std::is_same_v<Term, Squared> ? 0x1p-100f : 0.0f;
  const auto* from = static_cast<const BFloat16*>(elements);
  double result = *static_cast<double*>(accumulator);
  const int64_t whole = count / single_lanes * single_lanes;
  const auto add_each = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      result += Term::of(static_cast<double>(static_cast<float>(from[i])));
  };
  for (int64_t i = 0; i < whole; i += block) {
    const int64_t end = std::min(whole, i + block);
    hn::Vec<Single> sums[vectors];
    for (auto& sum : sums) sum = hn::Zero(Single());
    int64_t at = i;
    for (; at + width <= end; at += width)
      for (int64_t k = 0; k < vectors; ++k)
        sums[k] = hn::Add(sums[k], Term::of(load_bf16(Single(), from + at + k * single_lanes)));
    for (; at < end; at += single_lanes)
      sums[0] = hn::Add(sums[0], Term::of(load_bf16(Single(), from + at)));
    for (int64_t half = vectors / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k) sums[k] = hn::Add(sums[k], sums[k + half]);
    const float sum = hn::GetLane(hn::SumOfLanes(Single(), sums[0]));
    if (std::isfinite(sum) && (least == 0 || sum >= least))
      result += sum;
    else
      add_each(i, end);
  }
  add_each(whole, count);
  *static_cast<double*>(accumulator) = result;
}

// Of rows of bf16: their sum in f32, which loses nothing to speak of, is of equal shares of them, which cannot exceed it. Returns
// where it ended.
template <int num_rows>
HWY_INLINE int64_t take_in_bf16(double* to, const BFloat16* const* rows, int64_t begin,
                                int64_t end) {
  const auto share = hn::Set(Single(), 1.0f / num_rows);
  const auto whole = hn::Set(Wide(), num_rows);
  for (; begin + single_lanes <= end; begin += single_lanes) {
    auto sum = hn::Mul(load_bf16(Single(), rows[0] + begin), share);
    for (int k = 1; k < num_rows; ++k)
      sum = hn::MulAdd(load_bf16(Single(), rows[k] + begin), share, sum);
    alignas(64) float sums[single_lanes];
    hn::Store(sum, Single(), sums);
    for (int64_t k = 0; k < single_lanes; k += wide_lanes) {
      double* at = to + begin + k;
      hn::StoreU(hn::MulAdd(load_wide(sums + k), whole, hn::LoadU(Wide(), at)), Wide(), at);
    }
  }
  return begin;
}

// Whose sums of rows are taken in by vectors of f32.
template <class Op, class Term, class T>
constexpr bool is_sum_of_bf16 =
    std::is_same_v<Op, Sum>&& std::is_same_v<Term, AsItIs>&& std::is_same_v<T, BFloat16>;

template <class Op, class Term, int num_rows, class T, class A>
HWY_INLINE void take_in(A* to, const T* const* rows, int64_t begin, int64_t end) {
  if constexpr (std::is_same_v<Op, Sum> && std::is_same_v<T, float> && std::is_same_v<A, double>) {
    for (; begin + wide_lanes <= end; begin += wide_lanes) {
      auto sum = hn::LoadU(Wide(), to + begin);
      for (int k = 0; k < num_rows; ++k) sum = hn::Add(sum, Term::of(load_wide(rows[k] + begin)));
      hn::StoreU(sum, Wide(), to + begin);
    }
  }
  if constexpr (is_sum_of_bf16<Op, Term, T> && num_rows > 1)
    begin = take_in_bf16<num_rows>(to, rows, begin, end);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    A sum = to[i];
    for (int k = 0; k < num_rows; ++k) sum = Op::apply(sum, Term::of(static_cast<A>(rows[k][i])));
    to[i] = sum;
  }
}

template <class Op, class Term, int num_rows, class T, class A>
void columns_of(A* to, const void* const* rows, const void* const* next, int64_t count) {
  constexpr int64_t block = 512 / sizeof(T);
  const T* from[num_rows];
  for (int k = 0; k < num_rows; ++k) from[k] = static_cast<const T*>(rows[k]);
  int64_t i = 0;
  for (; i + block <= count; i += block) {
    for (int k = 0; next != nullptr && k < num_rows; ++k) {
      for (int64_t j = 0; j < 512; j += 64) {
        __builtin_prefetch(
            static_cast<const char*>(next[k]) + i * static_cast<int64_t>(sizeof(T)) + j, 0, 2);
      }
    }
    take_in<Op, Term, num_rows>(to, from, i, i + block);
  }
  take_in<Op, Term, num_rows>(to, from, i, count);
}

template <class Op, class T, class A, class Term = AsItIs>
void columns(void* accumulators, const void* const* rows, int num_rows, const void* const* next,
             int64_t count) {
  auto* to = static_cast<A*>(accumulators);
  const auto take_in = [&]<int together>(std::integral_constant<int, together>) {
    for (; num_rows >= together; rows += together, num_rows -= together) {
      const bool is_next_here = next != nullptr && num_rows >= 2 * together;
      columns_of<Op, Term, together, T>(to, rows, is_next_here ? rows + together : next, count);
    }
  };
  if constexpr (is_sum_of_bf16<Op, Term, T>) take_in(std::integral_constant<int, 8>());
  take_in(std::integral_constant<int, 4>());
  take_in(std::integral_constant<int, 1>());
}

template <class Op, class A> void merge(void* accumulators, const void* others, int64_t count) {
  columns<Op, A, A>(accumulators, &others, 1, nullptr, count);
}

template <class T, class A>
void finish(void* elements, const void* accumulators, int64_t count, double divisor) {
  auto* to = static_cast<T*>(elements);
  const A* from = static_cast<const A*>(accumulators);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<A> || std::is_same_v<T, A>) {
      if constexpr (!std::is_integral_v<A>) {
        if (divisor != 1) {
          to[i] = from[i] / divisor;
          continue;
        }
      }
      to[i] = from[i];
    } else {
      to[i] = static_cast<T>(from[i] / divisor);
    }
  }
}

template <class T, class A>
void finish_root(void* elements, const void* accumulators, int64_t count, double) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<T*>(elements)[i] =
        static_cast<T>(std::sqrt(static_cast<const A*>(accumulators)[i]));
}

template <class T, class A>
void finish_extreme(void* elements, const void* accumulators, int64_t count, double) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<T*>(elements)[i] = static_cast<const A*>(accumulators)[i];
}

template <class Op, class T, class A> void add_total(Reducer* reducers, uint32_t dtype) {
  reducers[dtype] = {sizeof(A),         start<Op, A>, run<Op, T, A>,
                     columns<Op, T, A>, merge<Op, A>, finish<T, A>};
  if constexpr (sizeof(T) == sizeof(A) && sizeof(T) <= 8)
    reducers[dtype].run_near = run<Op, T, A, AsItIs, false>;
}
template <class Op> void add_totals(Reducer* reducers) {
  add_total<Op, float, double>(reducers, BP_F32);
  add_total<Op, double, double>(reducers, BP_F64);
  add_total<Op, int64_t, int64_t>(reducers, BP_I64);
  if constexpr (std::is_same_v<Op, Sum>)
    reducers[BP_I64].run_near = run_sum<int64_t, int64_t, AsItIs>;
  reducers[BP_U64] = reducers[BP_I64];  // the same bits
  add_total<Op, std::complex<float>, std::complex<double>>(reducers, BP_COMPLEX64);
  add_total<Op, std::complex<double>, std::complex<double>>(reducers, BP_COMPLEX128);
}
template <class T> void add_root(Reducer* reducers, uint32_t dtype) {
  reducers[dtype] = {sizeof(double),
                     start<Sum, double>,
                     run<Sum, T, double, Squared>,
                     columns<Sum, T, double, Squared>,
                     merge<Sum, double>,
                     finish_root<T, double>};
}
template <class Op, class T> void add_extreme(Reducer* reducers, uint32_t dtype) {
  reducers[dtype] = {sizeof(T),         start<Op, T>, run<Op, T, T>,
                     columns<Op, T, T>, merge<Op, T>, finish_extreme<T, T>};
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    reducers[dtype].run_near = run<Op, T, T, AsItIs, false>;
}
template <class Op, class OfVectors> void add_extremes(Reducer* reducers) {
  add_extreme<Op, uint8_t>(reducers, BP_BOOL);
  add_extreme<Op, uint8_t>(reducers, BP_U8);
  add_extreme<Op, int8_t>(reducers, BP_I8);
  add_extreme<Op, int16_t>(reducers, BP_I16);
  add_extreme<Op, int32_t>(reducers, BP_I32);
  add_extreme<Op, int64_t>(reducers, BP_I64);
  add_extreme<Op, uint16_t>(reducers, BP_U16);
  add_extreme<Op, uint32_t>(reducers, BP_U32);
  add_extreme<Op, uint64_t>(reducers, BP_U64);
  add_extreme<Op, float>(reducers, BP_F32);
  add_extreme<Op, double>(reducers, BP_F64);
  reducers[BP_F32].run = run_extreme_of_floats<Op, OfVectors, float>;
  reducers[BP_F64].run = run_extreme_of_floats<Op, OfVectors, double>;
}

// Of bf16, which finishes in f32.
template <class Op, class Term = AsItIs>
Reducer of_bf16(decltype(Reducer::run) run, decltype(Reducer::finish) finish) {
  return {sizeof(double),
          start<Op, double>,
          run,
          columns<Op, BFloat16, double, Term>,
          merge<Op, double>,
          finish};
}

struct Table {
  Reducer reducers[num_reduces][BP_NUM_DTYPES];
};

Table make_table() {
  Table table;
  add_totals<Sum>(table.reducers[static_cast<uint32_t>(Reduce::sum)]);
  table.reducers[static_cast<uint32_t>(Reduce::sum)][BP_BF16] =
      of_bf16<Sum>(run_bf16_sum<AsItIs>, finish<float, double>);
  add_totals<Prod>(table.reducers[static_cast<uint32_t>(Reduce::prod)]);
  add_total<ProdOfFloats, float, double>(table.reducers[static_cast<uint32_t>(Reduce::prod)],
                                         BP_F32);
  table.reducers[static_cast<uint32_t>(Reduce::prod)][BP_F32].run = run_product_of_floats<float>;
  table.reducers[static_cast<uint32_t>(Reduce::prod)][BP_BF16] =
      of_bf16<ProdOfFloats>(run_product_of_floats<BFloat16>, finish<float, double>);
  table.reducers[static_cast<uint32_t>(Reduce::sum)][BP_F32].run = run_sum<float, double, AsItIs>;
  add_root<float>(table.reducers[static_cast<uint32_t>(Reduce::root_of_squares)], BP_F32);
  table.reducers[static_cast<uint32_t>(Reduce::root_of_squares)][BP_F32].run =
      run_sum<float, double, Squared>;
  table.reducers[static_cast<uint32_t>(Reduce::root_of_squares)][BP_BF16] =
      of_bf16<Sum, Squared>(run_bf16_sum<Squared>, finish_root<float, double>);
  add_root<double>(table.reducers[static_cast<uint32_t>(Reduce::root_of_squares)], BP_F64);
  add_extremes<Max, MaxOfVectors>(table.reducers[static_cast<uint32_t>(Reduce::max)]);
  add_extremes<Min, MinOfVectors>(table.reducers[static_cast<uint32_t>(Reduce::min)]);
  return table;
}

}  // namespace

Reducer find_reducer_here(Reduce what, uint32_t dtype) {
  static const Table table = make_table();
  return table.reducers[static_cast<uint32_t>(what)][dtype];
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(find_reducer_here);

Reducer find_reducer(Reduce what, uint32_t dtype) {
  return HWY_DYNAMIC_DISPATCH(find_reducer_here)(what, dtype);
}

}  // namespace bp::cpu::tile
#endif
