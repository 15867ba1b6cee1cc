// The numbers that elements hold: the formats of dtypes, numbers as bytes and back, and the axis of values: what the
// elements of an argument are, by a name, a seed and the element's place.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <backplane/tensor/dtype.hpp>

namespace bp::conform {

// A floating format; of a complex dtype that of its parts.
struct FloatingFormat {
  int digits = 24;           // of the significand, the leading one counted
  int lowest_exponent = 0;   // of normal numbers: the smallest is 2^lowest_exponent
  int highest_exponent = 0;  // the largest numbers are below 2^(highest_exponent + 1)

  int fraction_digits() const { return digits - 1; }
  // Half a unit in the last place of 1.
  double unit_roundoff() const { return std::ldexp(1.0, -digits); }
  double smallest_normal() const { return std::ldexp(1.0, lowest_exponent); }
  // The smallest above 0, and the power of two behind the largest.
  double smallest() const { return std::ldexp(1.0, lowest_exponent - digits + 1); }
  double overflow() const { return std::ldexp(1.0, highest_exponent + 1); }
  double ulp(double value) const;  // the distance of neighbours where `value` lies
};
FloatingFormat format_of(Dtype dtype);
// The format that a row computes 16-bit numbers in is f32, else the dtype's own.
FloatingFormat compute_format(Dtype dtype);

inline bool holds_whole_numbers(Dtype dtype) {
  return is_integral(dtype) || dtype == boolean;
}
inline bool has_fractions(Dtype dtype) {
  return !holds_whole_numbers(dtype);
}
// float64, complex128, or for integers and bools themselves.
Dtype wide_dtype(Dtype dtype);
// Doubles that an element of the dtype becomes: 2 for complex numbers.
inline std::size_t parts_of(Dtype dtype) {
  return is_complex(dtype) ? 2 : 1;
}

// Elements as doubles; integers above 2^53 lose bits. Complex numbers are pairs.
void to_doubles(const void* bytes, std::size_t count, Dtype dtype, double* out);
std::vector<double> to_doubles(const void* bytes, std::size_t count, Dtype dtype);
// The nearest number of the dtype's format, as a double; what is too large becomes infinite.
double rounded_to(double value, Dtype dtype);

// What an element is made of. Integers and bools take `whole`, all others the doubles.
struct Number {
  double real = 0, imaginary = 0;
  std::int64_t whole = 0;

  static Number of(double real, double imaginary = 0) {
    return {real, imaginary, static_cast<std::int64_t>(real)};
  }
  static Number of_whole(std::int64_t whole) { return {static_cast<double>(whole), 0, whole}; }
};

// Writes itemsize(dtype) bytes; integers wrap to their width, nonzero is true.
void store_element(const Number& number, Dtype dtype, unsigned char* at);

// "f32", "bool", "complex64": as names of cases have them.
std::string_view short_name(Dtype dtype);
// False if there is no such dtype.
bool dtype_of_short_name(std::string_view text, Dtype& out);

bool is_signed_integer(Dtype dtype);

// splitmix64: the same numbers everywhere, without state.
constexpr std::uint64_t mix(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}
constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return mix(hash);
}

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
#define BP_VALUES                                                                                 \
  own, normal, exact, wide, specials, near, ties, cancel, big, positive, every16, zeros, in_turn, \
      late, last_nan, nans, edges, swings, lowest, highest, sparse, quotients, fading, midpoints, \
      powers, corners, duplicates, minus_one, minus_end, minus_any, too_high, too_low
enum class Values : std::uint8_t { BP_VALUES };
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
