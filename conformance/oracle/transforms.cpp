// Transforms as sums of all terms. Angles are taken of whole numbers modulo the length, so that they stay small.
#include <numbers>

#include "elements.hpp"

namespace oracle {
namespace {

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
template <class From, class Compute>
bp::Status transform(const bp::AnyTensor& input, const bp::AnyTensor& out, Index dim,
                     const Compute& compute) {
  const std::vector<From> from = read<From>(input);
  const Line of_input = along(input.shape(), dim), of_out = along(out.shape(), dim);
  std::vector<Complex> to = room_for<Complex>(out);
  of_input.each([&](Index o, Index i) {
    std::vector<Complex> line;
    for (Index k = 0; k < of_input.size; ++k) line.emplace_back(at(from, of_input.at(o, k, i)));
    const std::vector<Complex> sums = compute(line);
    for (Index k = 0; k < of_out.size; ++k) at(to, of_out.at(o, k, i)) = at(sums, k);
  });
  write(out, to);  // of real results the real parts
  return bp::ok;
}

bp::Status fft_c2c(bp::Stream, bp::In input, Index dim, double scale, bool forward, bp::Out out) {
  const Index n = along(input.shape(), dim).size;
  const std::vector<Complex> roots = roots_of(n, forward);
  return transform<Complex>(input, out, dim, [&](const std::vector<Complex>& line) {
    return sums_of(line, n, roots, scale);
  });
}

bp::Status fft_r2c(bp::Stream, bp::In input, Index dim, double scale, bool forward, bp::Out out) {
  const Index n = along(input.shape(), dim).size;
  const std::vector<Complex> roots = roots_of(n, forward);
  return transform<Real>(input, out, dim, [&](const std::vector<Complex>& line) {
    return sums_of(line, n / 2 + 1, roots, scale);
  });
}

bp::Status fft_c2r(bp::Stream, bp::In input, Index n, Index dim, double scale, bool forward,
                   bp::Out out) {
  const std::vector<Complex> roots = roots_of(n, forward);
  return transform<Complex>(input, out, dim, [&](std::vector<Complex> line) {
    line[0].imag(0);
    if (n % 2 == 0) line.back().imag(0);
    for (Index k = n / 2 + 1; k < n; ++k) line.push_back(std::conj(at(line, n - k)));
    return sums_of(line, n, roots, scale);
  });
}

}  // namespace
}  // namespace oracle

BP_KERNELS(transforms) {
  using c2r = bp::op::fft_c2r::place;
  using r2c = bp::op::fft_r2c::place;
  oracle::exact(k.add<bp::op::fft_c2c>(oracle::fft_c2c), bp::complex);
  oracle::exact(k.add<bp::op::fft_r2c>(oracle::fft_r2c), bp::floating)
      .dtypes(r2c::out, bp::complex);
  oracle::exact(k.add<bp::op::fft_c2r>(oracle::fft_c2r), bp::complex)
      .dtypes(c2r::out, bp::floating);
}
