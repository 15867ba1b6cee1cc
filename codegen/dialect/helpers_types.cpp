// Names of types, and their definitions where a language has none of its own.
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

struct Type {
  std::string_view name, opencl;
  unsigned bytes;
};
constexpr std::array<Type, 12> types = {{{"i8", "char", 1},
                                         {"u8", "uchar", 1},
                                         {"i16", "short", 2},
                                         {"u16", "ushort", 2},
                                         {"i32", "int", 4},
                                         {"u32", "uint", 4},
                                         {"i64", "long", 8},
                                         {"u64", "ulong", 8},
                                         {"f32", "float", 4},
                                         {"f64", "double", 8},
                                         {"c64", "", 8},
                                         {"c128", "", 16}}};

const Type* find_type(std::string_view word) {
  const auto* found =
      std::find_if(types.begin(), types.end(), [&](const Type& type) { return type.name == word; });
  return found == types.end() ? nullptr : &*found;
}

}  // namespace

TypeWord split_width(std::string_view word) {
  const std::size_t x = word.rfind('x');
  if (x == word.npos) return {word, 1};
  unsigned width = 0;
  const auto [end, error] = std::from_chars(word.data() + x + 1, word.data() + word.size(), width);
  const bool is_width = width == 2 || width == 4 || width == 8 || width == 16;
  if (error != std::errc{} || end != word.data() + word.size() || !is_width) return {word, 1};
  return {word.substr(0, x), width};
}

bool is_compute_type(std::string_view word) {
  return find_type(word) != nullptr;
}
bool is_integer_type(std::string_view word) {
  return is_compute_type(word) && (word[0] == 'i' || word[0] == 'u');
}
bool is_signed_type(std::string_view word) {
  return is_compute_type(word) && word[0] == 'i';
}
bool is_complex_type(std::string_view word) {
  return is_compute_type(word) && word[0] == 'c';
}
unsigned bytes_of_type(std::string_view word) {
  const Type* type = find_type(word);
  return type ? type->bytes : 0;
}

std::string wide_name(std::string_view element, unsigned width) {
  return width == 1 ? std::string(element) : fmt::format("{}x{}", element, width);
}

std::string_view signed_of(std::string_view element) {
  switch (bytes_of_type(element)) {
    case 1: return "i8";
    case 2: return "i16";
    case 4: return "i32";
    default: return "i64";
  }
}

std::string_view unsigned_of(std::string_view element) {
  switch (bytes_of_type(element)) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    default: return "u64";
  }
}

std::optional<Dtype> dtype_of_suffix(std::string_view word) {
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (suffix(static_cast<Dtype>(i)) == word) return static_cast<Dtype>(i);
  return {};
}

std::string opencl_type(std::string_view element, unsigned width) {
  const std::string name(find_type(element)->opencl);
  return width == 1 ? name : fmt::format("{}{}", name, width);
}

std::string opencl_convert(std::string_view element, unsigned width) {
  return "convert_" + opencl_type(element, width);
}

std::string define_type(Language language, std::string_view word) {
  if (word == "c64") return "typedef struct { f32 re, im; } c64;\n";
  if (word == "c128") return "typedef struct { f64 re, im; } c128;\n";
  const auto [element, width] = split_width(word);
  if (language != Language::opencl_c || width == 1 || !is_compute_type(element) ||
      is_complex_type(element))
    return {};
  return fmt::format("typedef {} {};\n", opencl_type(element, width), word);
}

}  // namespace bp::codegen
