#include "inputs/element.hpp"

#include <array>
#include <cstring>

#include <backplane/tensor/float_formats.hpp>

namespace bp::conform {
namespace {

constexpr std::array<std::string_view, num_dtypes> element_names = {
    "bool", "u8",   "i8",  "i16", "i32",       "i64",        "u16",       "u32",    "u64",
    "f16",  "bf16", "f32", "f64", "complex64", "complex128", "f8_e4m3fn", "f8_e5m2"};

template <class T> void put(T value, unsigned char* at) {
  std::memcpy(at, &value, sizeof(value));
}

}  // namespace

std::string_view short_name(Dtype dtype) {
  return element_names[index(dtype)];
}

bool dtype_of_short_name(std::string_view text, Dtype& out) {
  for (unsigned d = 0; d < num_dtypes; ++d) {
    if (element_names[d] != text) continue;
    out = static_cast<Dtype>(d);
    return true;
  }
  return false;
}

bool is_signed_integer(Dtype dtype) {
  return contains(set_of(i8, i16, i32, i64), dtype);
}

void store_element(const Number& number, Dtype dtype, unsigned char* at) {
  const auto as_float = static_cast<float>(number.real);
  switch (dtype) {
    case boolean: return put<std::uint8_t>(number.whole != 0, at);
    case f16: return put(float_to_f16(as_float), at);
    case bf16: return put(float_to_bf16(as_float), at);
    case f32: return put(as_float, at);
    case f64: return put(number.real, at);
    case f8_e4m3fn: return put(float_to_f8_e4m3fn(as_float), at);
    case f8_e5m2: return put(float_to_f8_e5m2(as_float), at);
    case complex64:
      put(as_float, at);
      return put(static_cast<float>(number.imaginary), at + sizeof(float));
    case complex128: put(number.real, at); return put(number.imaginary, at + sizeof(double));
    default:  // integers: the lowest bytes, since all machines here are little-endian
      std::memcpy(at, &number.whole, itemsize(dtype));
  }
}

}  // namespace bp::conform
