// One line of complex numbers, transformed forward by KissFFT (BSD licence) in float64, whatever the tensors' dtype: its code is
// scalar, which f32 would hardly make faster, and its library in f32 would be one more to find at run time.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace bp::cpu::fourier {

using Number = std::complex<double>;

// Powers of exp(-2 pi i / n), each the product of two that are in short tables. Threads: any.
class Roots {
 public:
  explicit Roots(int64_t n);

  // 0 <= k <= n.
  Number power(int64_t k) const {
    return high_[static_cast<size_t>(k >> shift_)] *
           low_[static_cast<size_t>(k & ((int64_t{1} << shift_) - 1))];
  }

 private:
  int shift_ = 0;
  std::vector<Number> low_, high_;
};

// Of this thread, which keeps those used last: valid until it has asked for eight others.
const Roots& roots_of(int64_t n);

// How many numbers a transform of n needs room for, beside as many again: more than n where that has large prime factors.
int64_t room_for(int64_t n);

// Of the first n numbers of `line`, which has room for room_for(n) as `room` has. Both are overwritten; returns the one where
// the result lies. A long one is made by all threads, as columns and rows of a matrix, since as a whole it would not fit into
// the caches.
Number* transform(int64_t n, Number* line, Number* room, bool is_long);

// Whether this is faster than products of matrices, of lines of n numbers, complex or real.
bool is_worth_it(int64_t n, int64_t num_lines);

}  // namespace bp::cpu::fourier
