// The axis of values: what the elements of an argument are, by a name, a seed and the element's place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inputs/element.hpp"
#include "inputs/problem.hpp"

namespace bp::conform {

// The names that there are:
//   own       the sample's own values             normal    numbers of both signs around 1, all digits used
//   exact     small integers: sums are exact      wide      exponents spread evenly over the range
//   specials  zeros, infinities, NaN, denormals   near      close to 0 and to 1
//   ties      few different numbers, and halves   cancel    a large mean, small deviations
//   big       next to 2^24, 2^31, 2^53, extremes  positive  above 0
//   late      larger and larger, of both signs: what is largest comes last   fading  what exp makes denormal
//   midpoints half way between neighbours of another dtype, and next to it   powers  bases and exponents
//   every16   all 65,536 codes of 16 bits         zeros     0 alone
//   in_turn   the special numbers, one after the other
//   last_nan  late, and NaN at the end   nans   NaN of both signs among few different numbers
//   edges     where roundings go wrong: next to halves, and to where the fraction ends
//   lowest, highest   of the dtype alone     sparse    zeros, and few numbers of one high bit, or next to 0
//   quotients   of the second tensor, the first one is a multiple, rounded or one step beside
//   swings    next to the largest number, twice up and twice down: sums leave the range on their way
//   corners   complex numbers of special parts: all pairs in the first tensor
//   duplicates, and with one bad among good ones too_high, too_low, minus_one, minus_end, minus_any   of indices, which
//             do not count from the end; others are as normal
// The names themselves are in values.cpp, in this order.
enum class Values : std::uint8_t {
  own,
  normal,
  exact,
  wide,
  specials,
  near,
  ties,
  cancel,
  big,
  positive,
  every16,
  zeros,
  in_turn,
  late,
  last_nan,
  nans,
  edges,
  swings,
  lowest,
  highest,
  sparse,
  quotients,
  fading,
  midpoints,
  powers,
  corners,
  duplicates,
  minus_one,
  minus_end,
  minus_any,
  too_high,
  too_low
};
bool is_values_name(std::string_view name);
bool holds_bad_index(std::string_view values);

// How one tensor is filled.
struct Filling {
  Values values = Values::normal;
  Dtype dtype = f32;
  std::uint64_t seed = 1;
  int tensor = 0;          // which one of the call
  std::int64_t count = 1;  // of its elements
  bool meets_all = false;  // specials: two tensors meet in all pairs, rather than few among many
  int power =
      1;  // of the numbers that the row makes on the way, with sums over many: these shall stay finite
  bool multiplies_all = false;  // hundreds of numbers into one: they stay next to 1
  bool meets_many = false;      // a single number beside a whole tensor: 0 would make all alike
};
// One of the names.
Values values_named(std::string_view name);
Number number_at(const Filling& filling, std::int64_t element);

// An index in [0, end).
std::int64_t index_at(std::string_view values, std::uint64_t seed, std::int64_t element,
                      std::int64_t count, std::int64_t end);

}  // namespace bp::conform
