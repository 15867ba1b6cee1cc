#include "elements.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/float_formats.hpp>

namespace bp::tracing {
namespace {

template <class T> T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The real type of the parts of a complex one.
Dtype part_of(Dtype dtype) {
  if (dtype == complex64) return f32;
  return dtype == complex128 ? f64 : dtype;
}

double number_at(const unsigned char* bytes, Dtype dtype) {
  switch (dtype) {
    case f64: return read<double>(bytes);
    case f32: return read<float>(bytes);
    case f16: return f16_to_float(read<std::uint16_t>(bytes));
    case bf16: return bf16_to_float(read<std::uint16_t>(bytes));
    case f8_e4m3fn: return f8_e4m3fn_to_float(*bytes);
    case f8_e5m2: return f8_e5m2_to_float(*bytes);
    default: return 0;
  }
}

std::string integer_text(const unsigned char* bytes, Dtype dtype) {
  switch (dtype) {
    case i8: return fmt::format("{}", static_cast<int>(read<std::int8_t>(bytes)));
    case i16: return fmt::format("{}", read<std::int16_t>(bytes));
    case i32: return fmt::format("{}", read<std::int32_t>(bytes));
    case i64: return fmt::format("{}", read<std::int64_t>(bytes));
    case u16: return fmt::format("{}", read<std::uint16_t>(bytes));
    case u32: return fmt::format("{}", read<std::uint32_t>(bytes));
    case u64: return fmt::format("{}", read<std::uint64_t>(bytes));
    default: return fmt::format("{}", static_cast<unsigned>(*bytes));  // of bool too: it may be 2
  }
}

void read_numbers(Elements& elements) {
  if (!elements.has_fractions()) return;
  const Dtype part = part_of(elements.dtype);
  const std::size_t step = itemsize(part);
  for (std::size_t at = 0; at < elements.bytes.size(); at += step)
    elements.numbers.push_back(number_at(elements.bytes.data() + at, part));
}

// All of a storage's bytes from the tensor's first to its last, gaps between them included.
double largest_saved(const SavedCall& saved, const SavedTensor& tensor) {
  Elements elements;
  elements.dtype = tensor.dtype;
  if (!elements.has_fractions() || tensor.storage >= saved.storages.size()) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) return 0;
    last += (tensor.shape[i] - 1) * tensor.strides[i];
  }
  const auto& bytes = saved.storages[tensor.storage];
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(tensor.byte_offset);
  elements.bytes.assign(begin, begin + (last + 1) * itemsize(tensor.dtype));
  read_numbers(elements);
  return elements.largest();
}

}  // namespace

double Elements::largest() const {
  double result = 0;
  for (double number : numbers)
    if (std::isfinite(number)) result = std::max(result, std::abs(number));
  return result;
}

std::string Elements::text(std::size_t element) const {
  if (!has_fractions()) return integer_text(bytes.data() + element * itemsize(dtype), dtype);
  if (parts == 1) return fmt::format("{:.9g}", numbers[element]);
  return fmt::format("{:.9g}{:+.9g}j", numbers[2 * element], numbers[2 * element + 1]);
}

Elements elements_of(const Tensor& tensor) {
  Elements elements;
  elements.dtype = tensor.dtype();
  elements.parts = is_complex(tensor.dtype()) ? 2 : 1;
  elements.bytes.resize(tensor.nbytes());
  if (!elements.bytes.empty()) copy_to_host_memory(tensor, elements.bytes.data());
  read_numbers(elements);
  return elements;
}

Magnitudes magnitudes_of(const SavedCall& saved) {
  Magnitudes found;
  int place = 0;
  for (const SavedArgument& argument : saved.args) {
    for (double real : argument.reals)
      if (std::isfinite(real)) found.any = std::max(found.any, std::abs(real));
    for (const std::optional<SavedTensor>& tensor : argument.tensors) {
      if (!tensor) continue;
      const double largest = largest_saved(saved, *tensor);
      found.any = std::max(found.any, largest);
      if (place == 0) found.first = largest;
      if (place == 1) found.second = largest;
      ++place;
    }
  }
  return found;
}

}  // namespace bp::tracing
