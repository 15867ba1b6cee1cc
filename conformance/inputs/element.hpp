// Single elements on the host: from numbers to bytes, whatever the dtype; and the numbers of chance.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/tensor/dtype.hpp>

namespace bp::conform {

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
inline bool holds_whole_numbers(Dtype dtype) {
  return is_integral(dtype) || dtype == boolean;
}

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

}  // namespace bp::conform
