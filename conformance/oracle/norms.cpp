// Normalizations and attention, by their formulas.
#include <cmath>
#include <limits>

#include "elements.hpp"

namespace oracle {
namespace {

using MaybeIn = std::optional<bp::In>;
constexpr Real infinity = std::numeric_limits<Real>::infinity();

struct Moments {
  Real mean = 0, variance = 0;
};
template <class At> Moments moments(Index count, At value) {
  Moments found;
  for (Index i = 0; i < count; ++i) found.mean += value(i);
  found.mean /= Real(count);
  for (Index i = 0; i < count; ++i)
    found.variance += (value(i) - found.mean) * (value(i) - found.mean);
  found.variance /= Real(count);
  return found;
}

std::vector<Real> read_or(const MaybeIn& a, Index count, Real otherwise) {
  if (a) return read<Real>(*a);
  return std::vector<Real>(static_cast<std::size_t>(count), otherwise);
}

Index count_of(bp::Ints shape) {
  Index count = 1;
  for (const Index size : shape) count *= size;
  return count;
}

bp::Status layer_norm(bp::Stream, bp::In a, bp::Ints shape, MaybeIn weight, MaybeIn bias,
                      double eps, bp::Out out, bp::Out mean_out, bp::Out rstd_out) {
  const Index size = count_of(shape);
  std::vector<Real> values = read<Real>(a), means, rstds;
  std::vector<Real> scale = read_or(weight, size, 1), shift = read_or(bias, size, 0);
  for (Index row = 0; row < a.numel() / size; ++row) {
    Real* const x = values.data() + row * size;
    const Moments found = moments(size, [&](Index i) { return x[i]; });
    const Real rstd = 1 / std::sqrt(found.variance + Real(eps));
    for (Index i = 0; i < size; ++i)
      x[i] = (x[i] - found.mean) * rstd * at(scale, i) + at(shift, i);
    means.push_back(found.mean);
    rstds.push_back(rstd);
  }
  write(out, values);
  write(mean_out, means);
  write(rstd_out, rstds);
  return bp::ok;
}

bp::Status rms_norm(bp::Stream, bp::In a, bp::Ints shape, MaybeIn weight, double eps, bp::Out out,
                    bp::Out rstd_out) {
  const Index size = count_of(shape);
  std::vector<Real> values = read<Real>(a), rstds, scale = read_or(weight, size, 1);
  for (Index row = 0; row < a.numel() / size; ++row) {
    Real* const x = values.data() + row * size;
    Real squares = 0;
    for (Index i = 0; i < size; ++i) squares += x[i] * x[i];
    const Real rstd = 1 / std::sqrt(squares / Real(size) + Real(eps));
    for (Index i = 0; i < size; ++i) x[i] = x[i] * rstd * at(scale, i);
    rstds.push_back(rstd);
  }
  write(out, values);
  write(rstd_out, rstds);
  return bp::ok;
}

bp::Status batch_norm(bp::Stream, bp::In a, MaybeIn weight, MaybeIn bias, double eps, bp::Out out,
                      bp::Out mean_out, bp::Out variance_out) {
  const Index channels = a.size(1), plane = a.numel() / (a.size(0) * channels);
  std::vector<Real> values = read<Real>(a), means, variances;
  std::vector<Real> scale = read_or(weight, channels, 1), shift = read_or(bias, channels, 0);
  for (Index c = 0; c < channels; ++c) {
    const auto x = [&](Index i) -> Real& {
      return at(values, (i / plane * channels + c) * plane + i % plane);
    };
    const Moments found = moments(a.size(0) * plane, x);
    const Real rstd = 1 / std::sqrt(found.variance + Real(eps));
    for (Index i = 0; i < a.size(0) * plane; ++i)
      x(i) = (x(i) - found.mean) * rstd * at(scale, c) + at(shift, c);
    means.push_back(found.mean);
    variances.push_back(found.variance);
  }
  write(out, values);
  write(mean_out, means);
  write(variance_out, variances);
  return bp::ok;
}

// The gradients of y = (x - mean) * rstd * weight, with mean and rstd functions of x (of rstd alone without `mean`).
bp::Status norm_backward(bp::Stream, bp::In grad, bp::In a, bp::Ints shape, MaybeIn mean,
                         bp::In rstd, MaybeIn weight, bp::Out out) {
  const Index size = count_of(shape), rows = a.numel() / size;
  std::vector<Real> gradient = read<Real>(grad), values = read<Real>(a), scales = read<Real>(rstd);
  std::vector<Real> means = read_or(mean, rows, 0), factor = read_or(weight, size, 1);
  for (Index row = 0; row < rows; ++row) {
    Real* const g = gradient.data() + row * size;
    const Real* const x = values.data() + row * size;
    const auto normalized = [&](Index i) { return (x[i] - at(means, row)) * at(scales, row); };
    Real sum = 0, sum_of_products = 0;
    for (Index i = 0; i < size; ++i) {
      g[i] *= at(factor, i);
      sum += g[i];
      sum_of_products += g[i] * normalized(i);
    }
    if (!mean) sum = 0;
    for (Index i = 0; i < size; ++i)
      g[i] = at(scales, row) *
             (g[i] - sum / Real(size) - normalized(i) * sum_of_products / Real(size));
  }
  write(out, gradient);
  return bp::ok;
}

bp::Status norm_weight_backward(bp::Stream, bp::In grad, bp::In a, bp::Ints shape, MaybeIn mean,
                                bp::In rstd, bp::Out out) {
  const Index size = count_of(shape), rows = a.numel() / size;
  std::vector<Real> gradient = read<Real>(grad), values = read<Real>(a), scales = read<Real>(rstd);
  std::vector<Real> means = read_or(mean, rows, 0), sums(static_cast<std::size_t>(size), 0);
  for (Index i = 0; i < a.numel(); ++i)
    at(sums, i % size) +=
        at(gradient, i) * (at(values, i) - at(means, i / size)) * at(scales, i / size);
  write(out, sums);
  return bp::ok;
}

// ---- Attention

// Softmax of each query's scores against all keys, times the values; without a finite score that is 0.
bp::Status attention(bp::Stream, bp::In query, bp::In key, bp::In value, MaybeIn mask,
                     bool is_causal, double scale, bp::Out out, bp::Out logsumexp_out) {
  const std::vector<Real> q = read<Real>(query), k = read<Real>(key), v = read<Real>(value);
  const std::vector<Real> masks = mask ? read<Real>(*mask) : std::vector<Real>();
  const bool hides = mask && mask->dtype() == bp::boolean;
  const Index heads = query.size(1), rows = query.size(2), keys = key.size(2);
  const Index width = query.size(3), value_width = value.size(3);
  std::vector<Real> results, sums;
  for (Index of_query = 0; of_query < query.size(0) * heads * rows; ++of_query) {
    const Index row = of_query % rows, head = of_query / rows % heads;
    // The first key and value of the head that query's head shares.
    const Index first =
        (of_query / rows / heads * key.size(1) + head / (heads / key.size(1))) * keys;
    std::vector<Real> weights;
    for (Index s = 0; s < keys; ++s) {
      Real score = 0;
      for (Index e = 0; e < width; ++e)
        score += at(q, of_query * width + e) * at(k, (first + s) * width + e);
      score *= Real(scale);
      if (mask && !hides) score += at(masks, of_query * keys + s);
      const bool is_hidden = hides && at(masks, of_query * keys + s) == 0;
      weights.push_back(is_hidden || (is_causal && s > row) ? -infinity : score);
    }
    Real largest = -infinity, total = 0;
    for (const Real w : weights) largest = std::isnan(w) || w > largest ? w : largest;
    const bool has_keys = largest != -infinity;
    for (Real& w : weights) total += w = has_keys ? std::exp(w - largest) : 0;
    sums.push_back(has_keys ? largest + std::log(total) : infinity);
    for (Index j = 0; j < value_width; ++j) {
      Real result = 0;
      for (Index s = 0; s < keys; ++s)
        result += at(weights, s) * at(v, (first + s) * value_width + j);
      results.push_back(has_keys ? result / total : result);
    }
  }
  write(out, results);
  write(logsumexp_out, sums);
  return bp::ok;
}

}  // namespace
}  // namespace oracle

BP_KERNELS(norms) {
  namespace o = oracle;
  const auto real = bp::floating;
  o::exact(k.add<bp::op::native_layer_norm>(o::layer_norm), real);
  o::exact(k.add<bp::op::native_rms_norm>(o::rms_norm), real);
  o::exact(k.add<bp::op::native_batch_norm>(o::batch_norm), real);
  o::exact(k.add<bp::op::norm_backward>(o::norm_backward), real);
  o::exact(k.add<bp::op::norm_weight_backward>(o::norm_weight_backward), real);
  using place = bp::op::native_attention::place;
  k.add<bp::op::native_attention>(o::attention)
      .dtypes(real)
      .dtypes(place::attn_mask, real | bp::boolean)
      .layouts(bp::strided)
      .deterministic();
}
