// The rules by which PyTorch's _tensor_str.py chooses a notation.
#include "element_text.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include <backplane/tensor/float_formats.hpp>

namespace bp {
namespace {

template <class T> T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

}  // namespace

std::complex<double> read_floating(Dtype dtype, const std::byte* element) {
  switch (dtype) {
    case f16: return f16_to_float(load<std::uint16_t>(element));
    case bf16: return bf16_to_float(load<std::uint16_t>(element));
    case f8_e4m3fn: return f8_e4m3fn_to_float(load<std::uint8_t>(element));
    case f8_e5m2: return f8_e5m2_to_float(load<std::uint8_t>(element));
    case f32: return load<float>(element);
    case complex64: return load<std::complex<float>>(element);
    case complex128: return load<std::complex<double>>(element);
    default: return load<double>(element);
  }
}

std::string integer_text(Dtype dtype, const std::byte* element) {
  switch (dtype) {
    case boolean: return load<std::uint8_t>(element) ? "True" : "False";
    case u8: return fmt::format_int(load<std::uint8_t>(element)).str();
    case i8: return fmt::format_int(load<std::int8_t>(element)).str();
    case i16: return fmt::format_int(load<std::int16_t>(element)).str();
    case i32: return fmt::format_int(load<std::int32_t>(element)).str();
    case u16: return fmt::format_int(load<std::uint16_t>(element)).str();
    case u32: return fmt::format_int(load<std::uint32_t>(element)).str();
    case u64: return fmt::format_int(load<std::uint64_t>(element)).str();
    default: return fmt::format_int(load<std::int64_t>(element)).str();
  }
}

void FloatingText::see(double value) {
  if (!std::isfinite(value) || value == 0) return;
  const double magnitude = std::abs(value);
  smallest_ = smallest_ == 0 ? magnitude : std::fmin(smallest_, magnitude);
  largest_ = std::fmax(largest_, magnitude);
  all_integral_ = all_integral_ && value == std::ceil(value);
}

void FloatingText::choose_notation() {
  if (smallest_ == 0) return;  // zeros, infinities, NaNs: no number to be wide for
  const bool spread = largest_ / smallest_ > 1000 || largest_ > 1e8 || smallest_ < 1e-4;
  if (options_.sci_mode.value_or(spread))
    notation_ = Notation::scientific;
  else if (!all_integral_)
    notation_ = Notation::fixed;
}

void FloatingText::measure(double value) {
  if (!std::isfinite(value) || value == 0) return;
  width_ = std::max(width_, digits(value).size());
}

std::string FloatingText::write(double value) const {
  return fmt::format("{:>{}}", digits(value), width_);
}

std::string FloatingText::digits(double value) const {
  if (std::isnan(value)) return "nan";  // fmt would show its sign
  switch (notation_) {
    case Notation::scientific: return fmt::format("{:.{}e}", value, options_.precision);
    case Notation::fixed: return fmt::format("{:.{}f}", value, options_.precision);
    default: return fmt::format("{:.0f}{}", value, std::isinf(value) ? "" : ".");
  }
}

}  // namespace bp
