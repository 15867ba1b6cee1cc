#include "number_bytes.hpp"

#include <cstring>

#include <backplane/tensor/float_formats.hpp>

namespace bp {
namespace {

template <class T> void store(T value, void* out) {
  std::memcpy(out, &value, sizeof value);
}

// A real number from 2^63 on is one that only u64 holds.
std::uint64_t to_unsigned(const Scalar& value) {
  const double real = value.to_double();
  return value.is_floating() && real >= 0x1p63 && real < 0x1p64
             ? static_cast<std::uint64_t>(real)
             : static_cast<std::uint64_t>(value.to_int());
}

}  // namespace

void number_to_bytes(const Scalar& value, Dtype dtype, void* out) {
  const float single = static_cast<float>(value.to_double());
  switch (dtype) {
    case Dtype::boolean: return store<std::uint8_t>(value.to_bool(), out);
    case Dtype::f16: return store(float_to_f16(single), out);
    case Dtype::bf16: return store(float_to_bf16(single), out);
    case Dtype::f8_e4m3fn: return store(float_to_f8_e4m3fn(single), out);
    case Dtype::f8_e5m2: return store(float_to_f8_e5m2(single), out);
    case Dtype::f32: return store(single, out);
    case Dtype::f64: return store(value.to_double(), out);
    case Dtype::complex64: return store(std::complex<float>(value.to_complex()), out);
    case Dtype::complex128: return store(value.to_complex(), out);
    case Dtype::u64: return store(to_unsigned(value), out);
    default: {  // integers: the low bytes, which is wrapping (little-endian, as all that we run on)
      const std::int64_t integer = value.to_int();
      std::memcpy(out, &integer, itemsize(dtype));
    }
  }
}

}  // namespace bp
