// Several lines of complex numbers at once, transformed forward by KissFFT with vectors for its numbers. Element k of a pack is
// element k of all its lines: `width` real parts, then as many imaginary ones.
#pragma once

#include <cstdint>

namespace bp::cpu::fourier {

// Made for the instruction set of this processor; T is float or double.
template <class T> struct Packs {
  int64_t width;
  // Of n elements; both have room for room_for(n). Returns the one where the result lies.
  T* (*transform)(int64_t n, T* pack, T* room);
  // From the transform of n / 2 pairs of real numbers elements `begin` to `end` of the n / 2 + 1 that are half of theirs, for
  // an even n (Press et al., "Numerical Recipes", 12.3).
  void (*split_pairs)(int64_t n, const T* pairs, T* half, int64_t begin, int64_t end);
  // Such a half made into pairs again, whose parts are swapped: for a transform back.
  void (*join_pairs)(int64_t n, const T* half, T* pairs, int64_t begin, int64_t end);
};

template <class T> const Packs<T>& packs();

// Packs of one.
const Packs<double>& single_line();

}  // namespace bp::cpu::fourier
