// Matrix products, one element at a time, and transforms as sums of all terms.
#include <numbers>

#include "elements.hpp"

namespace oracle {
namespace {

// Shape and strides, right-aligned in the output's rank; batch dimensions broadcast by a stride of 0.
struct Factor {
  std::vector<Index> batch_strides;
  Index row_stride, column_stride;
};

// `values` are row-major in a's shape.
Factor factor_of(bp::In a, bp::Ints out_shape) {
  Factor factor{{}, a.size(a.ndim() - 1), 1};
  Index step = a.size(a.ndim() - 1) * a.size(a.ndim() - 2);
  factor.batch_strides.assign(out_shape.size() - 2, 0);
  for (std::int32_t d = a.ndim() - 3; d >= 0; --d) {
    const std::size_t at = out_shape.size() - static_cast<std::size_t>(a.ndim() - d);
    factor.batch_strides[at] = a.size(d) == 1 ? 0 : step;
    step *= a.size(d);
  }
  return factor;
}

template <class T> void multiply(bp::In a, bp::In b, bp::Out out) {
  const std::vector<T> left = read<T>(a), right = read<T>(b);
  const bp::Ints shape = out.shape();
  const std::size_t batch_rank = shape.size() - 2;
  const Factor of_a = factor_of(a, shape), of_b = factor_of(b, shape);
  const bp::Ints batch(shape.data(), batch_rank);
  const Indices from_a = places(batch, {of_a.batch_strides.data(), batch_rank});
  const Indices from_b = places(batch, {of_b.batch_strides.data(), batch_rank});
  const Index rows = shape[batch_rank], columns = shape[batch_rank + 1];
  const Index terms = a.size(a.ndim() - 1);
  std::vector<T> results;
  results.reserve(static_cast<std::size_t>(out.numel()));
  for (std::size_t at = 0; at < from_a.size(); ++at) {
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < columns; ++c) {
        const T* x = left.data() + from_a[at] + r * of_a.row_stride;
        const T* y = right.data() + from_b[at] + c;
        T total{};
        for (Index t = 0; t < terms; ++t) total += product(x[t], y[t * of_b.row_stride]);
        results.push_back(total);
      }
    }
  }
  write(out, results);
}

bp::Status matmul(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  in_class_of(out.dtype(), [&](auto zero) { multiply<decltype(zero)>(a, b, out); });
  return bp::ok;
}

// ---- Transforms. Angles are taken of whole numbers modulo the length, so that they stay small.

// The powers of exp(-2 pi i / n), or of its conjugate.
std::vector<Complex> roots_of(Index n, bool forward) {
  std::vector<Complex> roots;
  for (Index k = 0; k < n; ++k) {
    const Real angle = 2 * std::numbers::pi_v<Real> * static_cast<Real>(k) / static_cast<Real>(n);
    roots.emplace_back(std::cos(angle), forward ? -std::sin(angle) : std::sin(angle));
  }
  return roots;
}

// The first `count` sums over the elements of a line.
std::vector<Complex> sums_of(const std::vector<Complex>& line, Index count,
                             const std::vector<Complex>& roots, Real scale) {
  std::vector<Complex> sums;
  for (Index k = 0; k < count; ++k) {
    Complex sum;
    std::size_t place = 0;
    for (const Complex& term : line) {
      sum += product(term, roots[place]);
      place = (place + static_cast<std::size_t>(k)) % roots.size();
    }
    sums.emplace_back(sum.real() * scale, sum.imag() * scale);
  }
  return sums;
}

// Calls compute(a line of the input) for each, which gives one of the output.
template <class From, class To, class Compute>
bp::Status transform(const bp::AnyTensor& input, const bp::AnyTensor& out, Index dim,
                     const Compute& compute) {
  const std::vector<From> from = read<From>(input);
  const Line of_input = along(input.shape(), dim), of_out = along(out.shape(), dim);
  std::vector<To> to = room_for<To>(out);
  for (Index o = 0; o < of_input.outer; ++o) {
    for (Index i = 0; i < of_input.inner; ++i) {
      std::vector<Complex> line;
      for (Index k = 0; k < of_input.size; ++k) line.emplace_back(at(from, of_input.at(o, k, i)));
      const std::vector<Complex> sums = compute(line);
      for (Index k = 0; k < of_out.size; ++k) {
        To& place = at(to, of_out.at(o, k, i));
        if constexpr (std::is_same_v<To, Real>)
          place = at(sums, k).real();
        else
          place = at(sums, k);
      }
    }
  }
  write(out, to);
  return bp::ok;
}

bp::Status fft_c2c(bp::Stream, bp::In input, Index dim, double scale, bool forward, bp::Out out) {
  const Index n = along(input.shape(), dim).size;
  const std::vector<Complex> roots = roots_of(n, forward);
  return transform<Complex, Complex>(input, out, dim, [&](const std::vector<Complex>& line) {
    return sums_of(line, n, roots, scale);
  });
}

bp::Status fft_r2c(bp::Stream, bp::In input, Index dim, double scale, bool forward, bp::Out out) {
  const Index n = along(input.shape(), dim).size;
  const std::vector<Complex> roots = roots_of(n, forward);
  return transform<Real, Complex>(input, out, dim, [&](const std::vector<Complex>& line) {
    return sums_of(line, n / 2 + 1, roots, scale);
  });
}

bp::Status fft_c2r(bp::Stream, bp::In input, Index n, Index dim, double scale, bool forward,
                   bp::Out out) {
  const std::vector<Complex> roots = roots_of(n, forward);
  return transform<Complex, Real>(input, out, dim, [&](std::vector<Complex> line) {
    line[0].imag(0);
    if (n % 2 == 0) line.back().imag(0);
    for (Index k = n / 2 + 1; k < n; ++k) line.push_back(std::conj(at(line, n - k)));
    return sums_of(line, n, roots, scale);
  });
}

}  // namespace
}  // namespace oracle

BP_KERNELS(products) {
  oracle::exact(k.add<bp::op::matmul>(oracle::matmul), bp::numeric);
  oracle::exact(k.add<bp::op::bmm>(oracle::matmul), bp::numeric);
  using c2r = bp::op::fft_c2r::place;
  using r2c = bp::op::fft_r2c::place;
  oracle::exact(k.add<bp::op::fft_c2c>(oracle::fft_c2c), bp::complex);
  oracle::exact(k.add<bp::op::fft_r2c>(oracle::fft_r2c), bp::floating)
      .dtypes(r2c::out, bp::complex);
  oracle::exact(k.add<bp::op::fft_c2r>(oracle::fft_c2r), bp::complex)
      .dtypes(c2r::out, bp::floating);
}
