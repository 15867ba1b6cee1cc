// Reducing elements to accumulators, as vector code: what sums and maxima over any axes are made of.
#pragma once

#include <cstdint>

#include <backplane/abi.h>

namespace bp::cpu::tile {

// Rows that are handed over at a time: four or eight are taken in together, so that an accumulator is loaded and stored that much
// less often.
inline constexpr int rows_together = 8;

enum class Reduce : uint32_t { sum, prod, max, min, root_of_squares };
inline constexpr uint32_t num_reduces = 5;

// One way of reducing one type. Sums and products of f32 and f64 have f64 accumulators, those of integers
// their own type, wrapping; roots of sums of squares are of f32 and f64 alone; a maximum's is the element's. A NaN wins. The order of additions depends on the
// counts alone.
struct Reducer {
  int64_t accumulator_bytes = 0;  // at most 16
  void (*start)(void* accumulators, int64_t count) = nullptr;
  // One accumulator takes in `count` elements.
  void (*run)(void* accumulator, const void* elements, int64_t count) = nullptr;
  // Each of `count` accumulators takes in one element of each of the rows, in their order.
  // `next`: the rows that come next, as many, to be fetched meanwhile, or NULL.
  void (*columns)(void* accumulators, const void* const* rows, int num_rows,
                  const void* const* next, int64_t count) = nullptr;
  // Each takes in another accumulator.
  void (*merge)(void* accumulators, const void* others, int64_t count) = nullptr;
  // To elements; sums are divided by `divisor`.
  void (*finish)(void* elements, const void* accumulators, int64_t count, double divisor) = nullptr;
  // As `run`, of elements that may lie in a cache, which nothing needs to fetch ahead; NULL where `run` does not.
  void (*run_near)(void* accumulator, const void* elements, int64_t count) = nullptr;

  explicit operator bool() const { return run != nullptr; }
};

// Of f32, f64, i64 and the complex ones for sums and products, of all real types for the others, but for
// those that are computed in f32 (f16, bf16). Sums, products and roots there are of bf16, which finish in f32.
Reducer find_reducer(Reduce what, uint32_t dtype);

}  // namespace bp::cpu::tile
