// Elements of tensors as the oracle computes with them: real numbers as long double, complex ones as pairs of those,
// integers as the low bits of 64. Kernels read whole tensors, row-major, compute on vectors and write whole tensors, so
// that strides are dealt with here alone.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include <backplane/plugin.hpp>

namespace oracle {

using Real = long double;
using Complex = std::complex<long double>;
using Word = std::uint64_t;  // an integer of any width, sign-extended; arithmetic wraps

using Index = std::int64_t;
using Indices = std::vector<Index>;

inline bool is_complex(bp::Dtype dtype) {
  return bp::complex.holds(dtype);
}
inline bool is_integer(bp::Dtype dtype) {  // bool too
  return dtype == bp::boolean || bp::integral.holds(dtype);
}

// Where each element lies, row-major, in elements from the first.
Indices places(bp::Ints shape, bp::Ints strides);
inline Indices places(const bp::AnyTensor& a) {
  return places(a.shape(), a.strides());
}

// Where the element at a place lies.
inline char* address(const bp::AnyTensor& a, Index place) {
  return bp::address_of<char>(a.handle(), a.byte_offset()) + place * Index{a.itemsize()};
}

// The element at place `from` of `a`, byte for byte.
inline void move_element(const bp::AnyTensor& out, Index to, const bp::AnyTensor& a, Index from) {
  std::memcpy(address(out, to), address(a, from), a.itemsize());
}
inline void move_all(const bp::AnyTensor& a, const bp::AnyTensor& out) {
  const Indices from = places(a), to = places(out);
  for (std::size_t i = 0; i < from.size(); ++i) move_element(out, to[i], a, from[i]);
}

// One element at an address, as a Real, a Word, a Complex, or a double for what is computed in float64 itself. Real numbers
// may come from integers, exactly.
template <class T> T load(const void* at, bp::Dtype dtype);
// Rounded once, to nearest even; integers are cut to their width, and bools are whether it is not 0.
template <class T> void store(void* at, bp::Dtype dtype, T value);

template <class T> std::vector<T> read(const bp::AnyTensor& a) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(a.numel()));
  for (const Index place : places(a)) values.push_back(load<T>(address(a, place), a.dtype()));
  return values;
}

template <class T> void write(const bp::AnyTensor& out, const std::vector<T>& values) {
  std::size_t i = 0;
  for (const Index place : places(out)) store<T>(address(out, place), out.dtype(), values[i++]);
}

// Zeros for each element.
template <class T> std::vector<T> room_for(const bp::AnyTensor& out) {
  return std::vector<T>(static_cast<std::size_t>(out.numel()));
}

// Calls `act` with a number of the class in which a dtype is computed.
template <class Act> auto in_class_of(bp::Dtype dtype, Act act) {
  if (is_complex(dtype)) return act(Complex());
  if (is_integer(dtype)) return act(Word());
  return act(Real());
}

// Products as they are written, without the special cases for infinities that C++ has for complex numbers.
template <class T> T product(T a, T b) {
  return a * b;
}
template <> inline Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// A number of the caller's in a class. Floating values for an integer are cut off.
template <class T> T number(const bp::Scalar& value);

// A tensor seen as [outer, size, inner], the middle one being dimension `dim`.
struct Line {
  Index outer = 1, size = 1, inner = 1;
  // The row-major position of element k of a line.
  Index at(Index o, Index k, Index i) const { return (o * size + k) * inner + i; }
  // Calls visit(o, i) for each line.
  template <class Visit> void each(Visit visit) const {
    for (Index o = 0; o < outer; ++o)
      for (Index i = 0; i < inner; ++i) visit(o, i);
  }
};
// Of a tensor without dimensions: a line of one element.
Line along(bp::Ints shape, Index dim);

// For each element of `shape`, row-major, the position of the result that it is reduced into; `count` results. Without
// `dims` it is one.
struct Groups {
  Indices of;
  Index count = 1;
};
Groups groups_of(bp::Ints shape, const std::optional<bp::Ints>& dims);

template <class List> auto& at(List& values, Index i) {
  return values[static_cast<std::size_t>(i)];
}

// Reads of an index outside of what it points into are reported, not done.
class Checked {
 public:
  Checked(const bp::Call& call, bp::In index, Index size)
      : fault_(call.abi().fault), size_(size), values_(read<Word>(index)) {}

  std::size_t count() const { return values_.size(); }
  // False for a bad one.
  bool at(std::size_t i, Index& out) const {
    out = static_cast<Index>(values_[i]);
    if (out >= 0 && out < size_) return true;
    if (fault_ != nullptr) *bp::address_of<std::uint64_t>(fault_->handle, fault_->offset) = 1;
    return false;
  }

 private:
  const bp_region* fault_;
  Index size_;
  std::vector<Word> values_;
};

// A kernel for each operator of the host that has an expression and is pointwise (pointwise.cpp).
bp::Status register_expressions();
// When the plugin is shut down.
void forget_expressions();

// As all kernels here are: for any strides, with the same bits each time.
template <class Op>
bp::KernelBuilder<Op>& exact(bp::KernelBuilder<Op>&& kernel, bp::DtypeSet dtypes) {
  return kernel.dtypes(dtypes).layouts(bp::strided).deterministic();
}

}  // namespace oracle
