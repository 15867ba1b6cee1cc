// One line of complex numbers, transformed forward by KissFFT (BSD licence) in float64, whatever the tensors' dtype; packs of
// lines (fourier_packs.hpp) are where f32 is faster.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "../constants.hpp"

namespace bp::cpu::fourier {

using Number = std::complex<double>;

// From so many elements on, what is made for a length takes megabytes.
constexpr int64_t large_length = constants::kept_length;

// What one thread made for the lengths that it used last; of those from `large` on, for the last one alone. KissFFT's plans have
// room of their own for large factors, so that threads cannot share them.
template <class T, size_t capacity, int64_t large = std::numeric_limits<int64_t>::max()>
class Kept {
 public:
  const T& find(int64_t n) {
    ++now_;
    Entry* oldest = entries_.data();
    for (Entry& entry : entries_) {
      if (entry.n == n) {
        entry.used = now_;
        return *entry.value;
      }
      if (n >= large && entry.n >= large) entry = {};
      if (entry.used < oldest->used) oldest = &entry;
    }
    *oldest = {n, now_, std::make_unique<T>(n)};
    return *oldest->value;
  }

 private:
  struct Entry {
    int64_t n = 0;
    uint64_t used = 0;
    std::unique_ptr<T> value;
  };
  std::array<Entry, capacity> entries_;
  uint64_t now_ = 0;
};

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

// Whether n has prime factors so large that two transforms of more than twice the length are faster.
bool is_rough(int64_t n);

// Bluestein 1970, as in core_ops/decompositions/fourier_parts.cpp: a convolution with exp(pi i j^2 / n).
struct Chirp {
  explicit Chirp(int64_t n);
  std::vector<Number> turns, spectrum;
};

// Of this thread, which keeps two.
const Chirp& chirp_of(int64_t n);

// How many numbers a transform of n needs room for, beside as many again: more than n where that has large prime factors.
int64_t room_for(int64_t n);

// Of the first n numbers of `line`, which has room for room_for(n) as `room` has. Both are overwritten; returns the one where
// the result lies. A long one is made by all threads, as columns and rows of a matrix, since as a whole it would not fit into
// the caches.
Number* transform(int64_t n, Number* line, Number* room, bool is_long);

// Of longer ones with large prime factors a thread would keep too much.
bool is_small_enough(int64_t n);

}  // namespace bp::cpu::fourier
