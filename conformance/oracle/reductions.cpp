// Sums, products, extrema and scans; variances, norms, and what turns scores into distributions: each in as many passes as its
// definition has.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "elements.hpp"

namespace oracle {
namespace {

using Dims = std::optional<bp::Ints>;
constexpr Real infinity = std::numeric_limits<Real>::infinity();

// Gives what `one` makes of the elements of each group, in row-major order.
template <class T> bp::Status reduce(bp::In a, const Dims& dim, bp::Out out, auto one) {
  const Groups groups = groups_of(a.shape(), dim);
  std::vector<std::vector<T>> lists(static_cast<std::size_t>(groups.count));
  const std::vector<T> values = read<T>(a);
  for (std::size_t i = 0; i < values.size(); ++i) at(lists, groups.of[i]).push_back(values[i]);
  std::vector<T> results;
  for (const std::vector<T>& list : lists) results.push_back(one(list));
  write(out, results);
  return bp::ok;
}

struct Times {
  template <class T> T operator()(T x, T y) const { return product(x, y); }
};

// In the class of numbers that the dtype is computed in.
template <class Join, int start>
bp::Status sum(bp::Stream, bp::In a, Dims dim, bool, std::optional<bp::Dtype>, bp::Out out) {
  return in_class_of(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return reduce<T>(a, dim, out, [](const std::vector<T>& list) {
      return std::accumulate(list.begin(), list.end(), static_cast<T>(start), Join());
    });
  });
}

bp::Status mean(bp::Stream, bp::In a, Dims dim, bool, std::optional<bp::Dtype>, bp::Out out) {
  return in_class_of(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return reduce<T>(a, dim, out, [](const std::vector<T>& list) {
      T sum = std::accumulate(list.begin(), list.end(), T());
      if constexpr (!std::is_same_v<T, Word>) sum /= Real(list.size());
      return sum;
    });
  });
}

// Long double holds every integer of 64 bits exactly.
template <bool largest> bp::Status extreme(bp::Stream, bp::In a, Dims dim, bool, bp::Out out) {
  return reduce<Real>(a, dim, out, [](const std::vector<Real>& list) {
    Real found = largest ? -infinity : infinity;
    for (const Real x : list)
      if (std::isnan(x) || std::isnan(found))
        found = std::numeric_limits<Real>::quiet_NaN();
      else
        found = largest ? std::max(found, x) : std::min(found, x);
    return found;
  });
}

template <class Join, int start>
bp::Status truth(bp::Stream, bp::In a, Dims dim, bool, bp::Out out) {
  return reduce<Word>(a, dim, out, [](const std::vector<Word>& list) {
    return Word{std::accumulate(list.begin(), list.end(), start != 0, Join())};
  });
}

// Is x a better answer than the best so far? NaN is the best; of equal ones the first stays.
bool is_better(Real x, Real best, bool largest) {
  if (std::isnan(best)) return false;
  if (std::isnan(x)) return true;
  return largest ? x > best : x < best;
}

template <bool largest>
bp::Status extreme_place(bp::Stream, bp::In a, std::optional<Index> dim, bool, bp::Out out) {
  const std::vector<Real> values = read<Real>(a);
  const Line line = dim ? along(a.shape(), *dim) : Line{1, a.numel(), 1};
  std::vector<Word> best;
  line.each([&](Index o, Index i) {
    Index found = 0;
    for (Index k = 1; k < line.size; ++k)
      if (is_better(at(values, line.at(o, k, i)), at(values, line.at(o, found, i)), largest))
        found = k;
    best.push_back(static_cast<Word>(found));
  });
  write(out, best);
  return bp::ok;
}

template <class Join>
bp::Status scan(bp::Stream, bp::In a, Index dim, std::optional<bp::Dtype>, bp::Out out) {
  const Line line = along(a.shape(), dim);
  in_class_of(out.dtype(), [&](auto zero) {
    auto values = read<decltype(zero)>(a);
    line.each([&](Index o, Index i) {
      for (Index k = 1; k < line.size; ++k)
        at(values, line.at(o, k, i)) =
            Join()(at(values, line.at(o, k - 1, i)), at(values, line.at(o, k, i)));
    });
    write(out, values);
  });
  return bp::ok;
}
// ---- Statistics

Real sum_of(const std::vector<Real>& values) {
  return std::accumulate(values.begin(), values.end(), Real(0));
}

// The mean first, then the squared distances from it.
Real variance_of(const std::vector<Real>& values, double correction) {
  const Real center = sum_of(values) / Real(values.size());
  Real squares = 0;
  for (const Real value : values) squares += (value - center) * (value - center);
  return squares / std::max(Real(values.size()) - Real(correction), Real(0));
}

template <bool takes_root>
bp::Status var(bp::Stream, bp::In a, Dims dim, bp::Scalar correction, bool, bp::Out out) {
  return reduce<Real>(a, dim, out, [less = correction.to_double()](const auto& list) {
    const Real variance = variance_of(list, less);
    return takes_root ? std::sqrt(variance) : variance;
  });
}

Real largest_of(const std::vector<Real>& values) {
  Real largest = -infinity;
  for (const Real value : values) largest = std::isnan(value) ? value : std::max(largest, value);
  return largest;
}

Real logsumexp_of(const std::vector<Real>& values) {
  const Real largest = largest_of(values);
  if (!std::isfinite(largest)) return largest;
  Real total = 0;
  for (const Real value : values) total += std::exp(value - largest);
  return largest + std::log(total);
}

bp::Status logsumexp(bp::Stream, bp::In a, Dims dim, bool, bp::Out out) {
  return reduce<Real>(a, dim, out, logsumexp_of);
}

Real norm_of(const std::vector<Real>& values, Real p) {
  Real total = p < 0 && std::isinf(p) ? infinity : 0;
  for (const Real value : values) {
    const Real size = std::fabs(value);
    if (std::isnan(size) && p != 0) return size;
    if (std::isinf(p))
      total = p > 0 ? std::max(total, size) : std::min(total, size);
    else
      total += p == 0 ? Real(size != 0) : p == 1 ? size : p == 2 ? size * size : std::pow(size, p);
  }
  if (p == 0 || p == 1 || std::isinf(p)) return total;
  return p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

bp::Status norm(bp::Stream, bp::In a, double p, Dims dim, bool, bp::Out out) {
  return reduce<Real>(a, dim, out, [=](const auto& list) { return norm_of(list, p); });
}

// Gives each line along `dim` what `one` makes of it.
template <class Change> bp::Status along_lines(bp::In a, Index dim, bp::Out out, Change one) {
  std::vector<Real> values = read<Real>(a);
  const Line line = along(a.shape(), dim);
  std::vector<Real> list(static_cast<std::size_t>(line.size));
  line.each([&](Index o, Index i) {
    for (Index k = 0; k < line.size; ++k) at(list, k) = at(values, line.at(o, k, i));
    one(list);
    for (Index k = 0; k < line.size; ++k) at(values, line.at(o, k, i)) = at(list, k);
  });
  write(out, values);
  return bp::ok;
}

// An infinite largest element makes NaN, as inf - inf is.
bp::Status softmax(bp::Stream, bp::In a, Index dim, std::optional<bp::Dtype>, bp::Out out) {
  return along_lines(a, dim, out, [](std::vector<Real>& list) {
    const Real largest = largest_of(list);
    for (Real& value : list) value = std::exp(value - largest);
    const Real total = sum_of(list);
    for (Real& value : list) value /= total;
  });
}
bp::Status log_softmax(bp::Stream, bp::In a, Index dim, std::optional<bp::Dtype>, bp::Out out) {
  return along_lines(a, dim, out, [](std::vector<Real>& list) {
    const Real largest = largest_of(list);
    Real total = 0;
    for (const Real value : list) total += std::exp(value - largest);
    for (Real& value : list) value = value - largest - std::log(total);
  });
}

}  // namespace
}  // namespace oracle

BP_KERNELS(reductions) {
  namespace o = oracle;
  const auto any_dtype = bp::all;
  o::exact(k.add<bp::op::sum>(o::sum<std::plus<>, 0>), any_dtype);
  o::exact(k.add<bp::op::prod>(o::sum<o::Times, 1>), any_dtype);
  o::exact(k.add<bp::op::mean>(o::mean), any_dtype);
  o::exact(k.add<bp::op::max>(o::extreme<true>), any_dtype);
  o::exact(k.add<bp::op::min>(o::extreme<false>), any_dtype);
  o::exact(k.add<bp::op::any>(o::truth<std::logical_or<>, 0>), any_dtype);
  o::exact(k.add<bp::op::all>(o::truth<std::logical_and<>, 1>), any_dtype);
  o::exact(k.add<bp::op::argmax>(o::extreme_place<true>), any_dtype);
  o::exact(k.add<bp::op::argmin>(o::extreme_place<false>), any_dtype);
  o::exact(k.add<bp::op::cumsum>(o::scan<std::plus<>>), any_dtype);
  o::exact(k.add<bp::op::cumprod>(o::scan<o::Times>), any_dtype);
  const auto real = bp::floating;
  o::exact(k.add<bp::op::var>(o::var<false>), real);
  o::exact(k.add<bp::op::std_>(o::var<true>), real);
  o::exact(k.add<bp::op::logsumexp>(o::logsumexp), real);
  o::exact(k.add<bp::op::norm>(o::norm), real);
  o::exact(k.add<bp::op::softmax>(o::softmax), real);
  o::exact(k.add<bp::op::log_softmax>(o::log_softmax), real);
}
