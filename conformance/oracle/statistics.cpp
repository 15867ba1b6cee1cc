// Variances, norms, and what turns scores into distributions: each in as many passes as its definition has.
#include <algorithm>
#include <cmath>
#include <limits>

#include "elements.hpp"

namespace oracle {
namespace {

using Dims = std::optional<bp::Ints>;
constexpr Real infinity = std::numeric_limits<Real>::infinity();

// The elements of each group, in row-major order.
std::vector<std::vector<Real>> members(bp::In a, const Dims& dim) {
  const Groups groups = groups_of(a.shape(), dim);
  std::vector<std::vector<Real>> lists(static_cast<std::size_t>(groups.count));
  const std::vector<Real> values = read<Real>(a);
  for (std::size_t i = 0; i < values.size(); ++i) at(lists, groups.of[i]).push_back(values[i]);
  return lists;
}

template <class Reduce> bp::Status reduce(bp::In a, const Dims& dim, bp::Out out, Reduce one) {
  std::vector<Real> results;
  for (const std::vector<Real>& list : members(a, dim)) results.push_back(one(list));
  write(out, results);
  return bp::ok;
}

Real sum_of(const std::vector<Real>& values) {
  Real total = 0;
  for (const Real value : values) total += value;
  return total;
}

// The mean first, then the squared distances from it.
Real variance_of(const std::vector<Real>& values, double correction) {
  const Real center = sum_of(values) / Real(values.size());
  Real squares = 0;
  for (const Real value : values) squares += (value - center) * (value - center);
  return squares / std::max(Real(values.size()) - Real(correction), Real(0));
}

bp::Status var(bp::Stream, bp::In a, Dims dim, bp::Scalar correction, bool, bp::Out out) {
  const double less = correction.to_double();
  return reduce(a, dim, out, [=](const auto& list) { return variance_of(list, less); });
}
bp::Status deviation(bp::Stream, bp::In a, Dims dim, bp::Scalar correction, bool, bp::Out out) {
  const double less = correction.to_double();
  return reduce(a, dim, out, [=](const auto& list) { return std::sqrt(variance_of(list, less)); });
}

Real largest_of(const std::vector<Real>& values) {
  Real largest = -infinity;
  for (const Real value : values) largest = std::isnan(value) ? value : std::max(largest, value);
  return largest;
}

Real logsumexp_of(const std::vector<Real>& values) {
  for (const Real value : values)
    if (std::isnan(value)) return value;
  const Real largest = largest_of(values);
  if (std::isinf(largest)) return largest;
  Real total = 0;
  for (const Real value : values) total += std::exp(value - largest);
  return largest + std::log(total);
}

bp::Status logsumexp(bp::Stream, bp::In a, Dims dim, bool, bp::Out out) {
  return reduce(a, dim, out, logsumexp_of);
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
  return reduce(a, dim, out, [=](const auto& list) { return norm_of(list, p); });
}

// Gives each line along `dim` what `one` makes of it.
template <class Change> bp::Status along_lines(bp::In a, Index dim, bp::Out out, Change one) {
  std::vector<Real> values = read<Real>(a);
  const Line line = along(a.shape(), a.ndim() == 0 ? 0 : dim);
  std::vector<Real> list(static_cast<std::size_t>(line.size));
  for (Index o = 0; o < line.outer; ++o) {
    for (Index i = 0; i < line.inner; ++i) {
      for (Index k = 0; k < line.size; ++k) at(list, k) = at(values, line.at(o, k, i));
      one(list);
      for (Index k = 0; k < line.size; ++k) at(values, line.at(o, k, i)) = at(list, k);
    }
  }
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

BP_KERNELS(statistics) {
  namespace o = oracle;
  const auto real = bp::floating;
  o::exact(k.add<bp::op::var>(o::var), real);
  o::exact(k.add<bp::op::std_>(o::deviation), real);
  o::exact(k.add<bp::op::logsumexp>(o::logsumexp), real);
  o::exact(k.add<bp::op::norm>(o::norm), real);
  o::exact(k.add<bp::op::softmax>(o::softmax), real);
  o::exact(k.add<bp::op::log_softmax>(o::log_softmax), real);
}
