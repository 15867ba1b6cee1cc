#include <cstring>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/elements.hpp>
#include <backplane/tensor/float_formats.hpp>

namespace bp {
namespace {

template <class T> T read(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <class T> void write(T value, void* element) {
  std::memcpy(element, &value, sizeof value);
}

// Also of numbers above int64's range, which a u64 holds.
std::uint64_t to_unsigned(const Scalar& number) {
  if (!number.is_floating()) return static_cast<std::uint64_t>(number.to_int());
  const double real = number.to_double();
  return real >= 0x1p63 && real < 0x1p64 ? static_cast<std::uint64_t>(real)
                                         : static_cast<std::uint64_t>(number.to_int());
}

}  // namespace

Scalar load_number(const void* element, Dtype dtype) {
  switch (dtype) {
    case boolean: return Scalar(read<std::uint8_t>(element) != 0);
    case u8: return Scalar(read<std::uint8_t>(element));
    case i8: return Scalar(read<std::int8_t>(element));
    case i16: return Scalar(read<std::int16_t>(element));
    case i32: return Scalar(read<std::int32_t>(element));
    case i64: return Scalar(read<std::int64_t>(element));
    case u16: return Scalar(read<std::uint16_t>(element));
    case u32: return Scalar(read<std::uint32_t>(element));
    case u64: return Scalar(read<std::uint64_t>(element));
    case f16: return Scalar(f16_to_float(read<std::uint16_t>(element)));
    case bf16: return Scalar(bf16_to_float(read<std::uint16_t>(element)));
    case f32: return Scalar(read<float>(element));
    case f64: return Scalar(read<double>(element));
    case complex64: return Scalar(std::complex<double>(read<std::complex<float>>(element)));
    case complex128: return Scalar(read<std::complex<double>>(element));
    case f8_e4m3fn: return Scalar(f8_e4m3fn_to_float(read<std::uint8_t>(element)));
    case f8_e5m2: return Scalar(f8_e5m2_to_float(read<std::uint8_t>(element)));
  }
  throw_error(ErrorClass::internal, "a dtype of no known number");
}

void store_number(const Scalar& number, Dtype dtype, void* element) {
  const auto real = static_cast<float>(number.to_double());
  switch (dtype) {
    case boolean: return write<std::uint8_t>(number.to_bool() ? 1 : 0, element);
    case u8: return write(static_cast<std::uint8_t>(number.to_int()), element);
    case i8: return write(static_cast<std::int8_t>(number.to_int()), element);
    case i16: return write(static_cast<std::int16_t>(number.to_int()), element);
    case i32: return write(static_cast<std::int32_t>(number.to_int()), element);
    case i64: return write(number.to_int(), element);
    case u16: return write(static_cast<std::uint16_t>(number.to_int()), element);
    case u32: return write(static_cast<std::uint32_t>(number.to_int()), element);
    case u64: return write(to_unsigned(number), element);
    case f16: return write(float_to_f16(real), element);
    case bf16: return write(float_to_bf16(real), element);
    case f32: return write(real, element);
    case f64: return write(number.to_double(), element);
    case complex64: return write(std::complex<float>(number.to_complex()), element);
    case complex128: return write(number.to_complex(), element);
    case f8_e4m3fn: return write(float_to_f8_e4m3fn(real), element);
    case f8_e5m2: return write(float_to_f8_e5m2(real), element);
  }
}

}  // namespace bp
