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

// Gives each line of the output sums over the terms of the input's line, which `complete` has made `n`.
template <class From, class Complete>
bp::Status transform(const bp::AnyTensor& input, const bp::AnyTensor& out, Index dim, Index n,
                     Real scale, bool forward, Complete complete) {
  const std::vector<From> from = read<From>(input);
  const std::vector<Complex> roots = roots_of(n, forward);
  const Line of_input = along(input.shape(), dim), of_out = along(out.shape(), dim);
  std::vector<Complex> to = room_for<Complex>(out);
  of_input.each([&](Index o, Index i) {
    std::vector<Complex> line;
    for (Index k = 0; k < of_input.size; ++k) line.emplace_back(at(from, of_input.at(o, k, i)));
    complete(line);
    for (Index k = 0; k < of_out.size; ++k) {
      Complex sum;
      Index place = 0;
      for (const Complex& term : line) {
        sum += product(term, at(roots, place));
        place = (place + k) % n;
      }
      at(to, of_out.at(o, k, i)) = {sum.real() * scale, sum.imag() * scale};
    }
  });
  write(out, to);  // of real results the real parts
  return bp::ok;
}

template <class From>
bp::Status fft(bp::Stream, bp::In input, Index dim, double scale, bool forward, bp::Out out) {
  const Index n = along(input.shape(), dim).size;
  return transform<From>(input, out, dim, n, scale, forward, [](std::vector<Complex>&) {});
}

bp::Status fft_c2r(bp::Stream, bp::In input, Index n, Index dim, double scale, bool forward,
                   bp::Out out) {
  return transform<Complex>(input, out, dim, n, scale, forward, [&](std::vector<Complex>& line) {
    line[0].imag(0);
    if (n % 2 == 0) line.back().imag(0);
    for (Index k = n / 2 + 1; k < n; ++k) line.push_back(std::conj(at(line, n - k)));
  });
}

}  // namespace
}  // namespace oracle

BP_KERNELS(transforms) {
  using c2r = bp::op::fft_c2r::place;
  using r2c = bp::op::fft_r2c::place;
  oracle::exact(k.add<bp::op::fft_c2c>(oracle::fft<oracle::Complex>), bp::complex);
  oracle::exact(k.add<bp::op::fft_r2c>(oracle::fft<oracle::Real>), bp::floating)
      .dtypes(r2c::out, bp::complex);
  oracle::exact(k.add<bp::op::fft_c2r>(oracle::fft_c2r), bp::complex)
      .dtypes(c2r::out, bp::floating);
}
