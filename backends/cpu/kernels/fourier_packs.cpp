#include "../constants.hpp"
#include "../tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fourier_packs.cpp"
#include <algorithm>
#include <cmath>
#include <complex>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <utility>
#include <vector>

#include "fourier_line.hpp"
#include "fourier_packs.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::fourier {
namespace HWY_NAMESPACE {

constexpr size_t pack_bytes = std::clamp<size_t>(HWY_MAX_BYTES, 16, 64);

// One number of each line, with what KissFFT asks of numbers. All that takes it apart is in this region: a caller that is compiled
// for another instruction set would look for results elsewhere.
template <class T> struct alignas(pack_bytes) Pack {
  typedef T Vector __attribute__((vector_size(pack_bytes)));

  Pack() = default;
  HWY_INLINE Pack(Vector given) : lanes(given) {}
  HWY_INLINE Pack(double number) : lanes(Vector{} + static_cast<T>(number)) {}
  HWY_INLINE operator double() const { return static_cast<double>(lanes[0]); }

  HWY_INLINE Pack& operator+=(const Pack& other) { return lanes += other.lanes, *this; }
  HWY_INLINE Pack& operator-=(const Pack& other) { return lanes -= other.lanes, *this; }
  HWY_INLINE Pack& operator*=(const Pack& other) { return lanes *= other.lanes, *this; }
  HWY_INLINE Pack operator-() const { return Pack(-lanes); }
  friend HWY_INLINE Pack operator+(const Pack& a, const Pack& b) { return Pack(a.lanes + b.lanes); }
  friend HWY_INLINE Pack operator-(const Pack& a, const Pack& b) { return Pack(a.lanes - b.lanes); }
  friend HWY_INLINE Pack operator*(const Pack& a, const Pack& b) { return Pack(a.lanes * b.lanes); }
  friend HWY_INLINE Pack operator*(size_t a, const Pack& b) {
    return Pack(static_cast<double>(a)) * b;
  }
  Vector lanes;
};

}  // namespace HWY_NAMESPACE
}  // namespace bp::cpu::fourier

// The library's own templates would be compiled for the oldest processor.
template <class T> class std::complex<bp::cpu::fourier::HWY_NAMESPACE::Pack<T>> {
 public:
  using value_type = bp::cpu::fourier::HWY_NAMESPACE::Pack<T>;

  complex() = default;
  HWY_INLINE complex(const value_type& re, const value_type& im) : re_(re), im_(im) {}
  HWY_INLINE const value_type& real() const { return re_; }
  HWY_INLINE const value_type& imag() const { return im_; }

  HWY_INLINE complex& operator+=(const complex& other) { return *this = *this + other; }
  HWY_INLINE complex& operator*=(const value_type& other) { return *this = *this * other; }
  friend HWY_INLINE complex operator+(const complex& a, const complex& b) {
    return {a.re_ + b.re_, a.im_ + b.im_};
  }
  friend HWY_INLINE complex operator-(const complex& a, const complex& b) {
    return {a.re_ - b.re_, a.im_ - b.im_};
  }
  friend HWY_INLINE complex operator*(const complex& a, const complex& b) {
    return {a.re_ * b.re_ - a.im_ * b.im_, a.re_ * b.im_ + a.im_ * b.re_};
  }
  friend HWY_INLINE complex operator*(const complex& a, const value_type& b) {
    return {a.re_ * b, a.im_ * b};
  }

 private:
  value_type re_, im_;
};

namespace std {

// KissFFT's roots, which are made again.
template <class T>
complex<bp::cpu::fourier::HWY_NAMESPACE::Pack<T>> exp(
    const complex<bp::cpu::fourier::HWY_NAMESPACE::Pack<T>>& angle) {
  return angle;
}

}  // namespace std

namespace bp::cpu::fourier {
namespace HWY_NAMESPACE {

// A template, made again for each instruction set.
#undef KISSFFT_CLASS_HH
#include <kissfft/kissfft.hh>

template <class T> using Numbers = std::complex<Pack<T>>;

Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class T> Numbers<T> times(const Numbers<T>& a, Number b) {
  return a * Numbers<T>(Pack<T>(b.real()), Pack<T>(b.imag()));
}

// What KissFFT keeps for itself: it would round the angles of the roots to its numbers.
template <class T, auto member> struct Private {
  friend std::vector<Numbers<T>>& roots_in(kissfft<Pack<T>>& plan) { return plan.*member; }
};
std::vector<Numbers<float>>& roots_in(kissfft<Pack<float>>& plan);
std::vector<Numbers<double>>& roots_in(kissfft<Pack<double>>& plan);
template struct Private<float, &kissfft<Pack<float>>::_twiddles>;
template struct Private<double, &kissfft<Pack<double>>::_twiddles>;

template <class T> struct Sums : kissfft<Pack<T>> {
  explicit Sums(int64_t n) : kissfft<Pack<T>>(static_cast<size_t>(n), false) {
    const Roots roots(n);
    for (int64_t k = 0; Numbers<T> & each : roots_in(*this)) {
      const Number root = roots.power(k++);
      each = {Pack<T>(root.real()), Pack<T>(root.imag())};
    }
  }
};

template <class T> Numbers<T>* by_factors(int64_t n, Numbers<T>* pack, Numbers<T>* room) {
  thread_local Kept<Sums<T>, 8, constants::kept_length_of_packs> kept;
  kept.find(n).transform(pack, room);
  return room;
}

template <class T> Numbers<T> swapped(const Numbers<T>& of) {
  return {of.imag(), of.real()};
}

double* transform_line(int64_t n, double* line, double* room) {
  Number* const made =
      fourier::transform(n, reinterpret_cast<Number*>(line), reinterpret_cast<Number*>(room),
                         n >= constants::matrix_length);
  return reinterpret_cast<double*>(made);
}

template <class T> Numbers<T>* by_chirp(int64_t n, Numbers<T>* pack, Numbers<T>* room) {
  const Chirp& chirp = chirp_of(n);
  const auto length = static_cast<int64_t>(chirp.spectrum.size());
  for (int64_t j = 0; j < n; ++j) pack[j] = times(pack[j], chirp.turns[static_cast<size_t>(j)]);
  for (int64_t j = n; j < length; ++j) pack[j] = {0.0, 0.0};
  Numbers<T>* const made = by_factors(length, pack, room);
  for (int64_t k = 0; k < length; ++k)
    made[k] = swapped(times(made[k], chirp.spectrum[static_cast<size_t>(k)]));
  Numbers<T>* const back = by_factors(length, made, pack);
  for (int64_t k = 0; k < n; ++k)
    back[k] = times(swapped(back[k]), chirp.turns[static_cast<size_t>(k)]);
  return back;
}

template <class T> T* transform(int64_t n, T* pack, T* room) {
  auto* const from = reinterpret_cast<Numbers<T>*>(pack);
  auto* const to = reinterpret_cast<Numbers<T>*>(room);
  Numbers<T>* const made = is_rough(n) ? by_chirp(n, from, to) : by_factors(n, from, to);
  return reinterpret_cast<T*>(made);
}

// N is Number as well, for lines one by one.
template <class N, class T>
void split_pairs(int64_t n, const T* from, T* to, int64_t begin, int64_t end) {
  const auto* const pairs = reinterpret_cast<const N*>(from);
  auto* const half = reinterpret_cast<N*>(to);
  const Roots& roots = roots_of(n);
  const typename N::value_type one_half(0.5);
  for (int64_t k = begin; k < end; ++k) {
    const N here = pairs[k == n / 2 ? 0 : k], back = pairs[k == 0 ? 0 : n / 2 - k];
    const N other(back.real(), -back.imag());
    const N first = (here + other) * one_half, second = (here - other) * one_half;
    half[k] = first + times(N(second.imag(), -second.real()), roots.power(k));
  }
}

template <class N, class T>
void join_pairs(int64_t n, const T* from, T* to, int64_t begin, int64_t end) {
  const auto* const half = reinterpret_cast<const N*>(from);
  auto* const pairs = reinterpret_cast<N*>(to);
  const Roots& roots = roots_of(n);
  for (int64_t k = begin; k < end; ++k) {
    const N here = half[k], back = half[n / 2 - k];
    const N other(back.real(), -back.imag());
    const N second = times(N(here - other), std::conj(roots.power(k)));
    const N value = here + other + N(-second.imag(), second.real());
    pairs[k] = N(value.imag(), value.real());
  }
}

template <class T> const Packs<T>* packs_of() {
  static constexpr Packs<T> functions{pack_bytes / sizeof(T), transform<T>,
                                      split_pairs<Numbers<T>, T>, join_pairs<Numbers<T>, T>};
  return &functions;
}
const Packs<float>* packs_of_floats() {
  return packs_of<float>();
}
const Packs<double>* packs_of_doubles() {
  return packs_of<double>();
}
const Packs<double>* line_alone() {
  static constexpr Packs<double> functions{1, transform_line, split_pairs<Number, double>,
                                           join_pairs<Number, double>};
  return &functions;
}

}  // namespace HWY_NAMESPACE
}  // namespace bp::cpu::fourier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::fourier {

HWY_EXPORT(packs_of_floats);
HWY_EXPORT(packs_of_doubles);
HWY_EXPORT(line_alone);

template <> const Packs<float>& packs() {
  return *HWY_DYNAMIC_DISPATCH(packs_of_floats)();
}
template <> const Packs<double>& packs() {
  return *HWY_DYNAMIC_DISPATCH(packs_of_doubles)();
}
const Packs<double>& single_line() {
  return *HWY_DYNAMIC_DISPATCH(line_alone)();
}

}  // namespace bp::cpu::fourier
#endif
