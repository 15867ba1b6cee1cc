// cast_S_D, as the operator `cast` does it: nonzero is true, integers wrap, a floating number truncates
// toward zero, and one that fits no i32 (for types up to it) or i64 becomes the lowest of those first.
#include <fmt/format.h>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

// Floating `from` to `to`, one of i32, i64 and u64, as a function of its own.
std::string define_truncation(std::string_view word, std::string_view from, std::string_view to,
                              unsigned width) {
  const char* f = from == "f32" ? "f" : "";
  if (to == "u64") {
    const std::string i64_word = fmt::format("truncate_{}_i64", from);
    if (width == 1)
      return fmt::format(
          "DEVICE u64 {0}({1} x) {{\n  return x >= 0x1p63{2} ? (u64){3}(x - 0x1p63{2}) ^ ((u64)1 "
          "<< "
          "63) : (u64){3}(x);\n}}\n",
          word, from, f, i64_word);
    const std::string mask = from == "f32" ? fmt::format("convert_long{}", width) : std::string();
    return fmt::format(
        "DEVICE u64x{0} {1}({2}x{0} x) {{\n"
        "  return select(as_ulong{0}({3}x{0}(x)), as_ulong{0}({3}x{0}(x - 0x1p63{4})) ^ ((ulong)1 "
        "<< "
        "63), {5}(x >= 0x1p63{4}));\n}}\n",
        width, word, from, i64_word, f, mask);
  }
  const int bits = to == "i32" ? 31 : 63;
  const std::string lowest =
      fmt::format("((({0})-{1}) - 1)", to, bits == 31 ? "2147483647" : "9223372036854775807L");
  if (width == 1)
    return fmt::format(
        "DEVICE {0} {1}({2} x) {{ return x >= -0x1p{3}{4} && x < 0x1p{3}{4} ? ({0})x : {5}; }}\n",
        to, word, from, bits, f, lowest);
  const std::string mask = bytes_of_type(from) == bytes_of_type(to)
                               ? "fits"
                               : fmt::format("{}(fits)", opencl_convert(to, width));
  return fmt::format(
      "DEVICE {0}x{1} {2}({3}x{1} x) {{\n"
      "  const {4} fits = (x >= -0x1p{5}{6}) & (x < 0x1p{5}{6});\n"
      "  return select(({0}x{1})({7}), {8}(select(({3}x{1})(0), x, fits)), {9});\n}}\n",
      to, width, word, from, opencl_type(signed_of(from), width), bits, f, lowest,
      opencl_convert(to, width), mask);
}

// odd_f32_of_T, T f64, i64 or u64: rounded to odd. What f32 does not have becomes that one of its two neighbours whose last
// bit is 1, so that rounding it to fewer digits gives what rounding x itself would have given.
constexpr std::string_view odd = "odd_f32_of_";

std::string define_odd_of_f64(std::string_view word, unsigned width) {
  if (width == 1)
    return fmt::format(
        "DEVICE f32 {}(f64 x) {{\n"
        "  const f32 nearest = (f32)x;\n"
        "  const f64 back = (f64)nearest;\n"
        "  const u32 bits = bits_of_f32(nearest);\n"
        "  if (back == x || x != x || (bits & 1u) != 0) return nearest;\n"
        "  return f32_of_bits(fabs(back) < fabs(x) ? bits + 1u : bits - 1u);\n}}\n",
        word);
  return fmt::format(
      "DEVICE f32x{0} {1}(f64x{0} x) {{\n"
      "  const float{0} nearest = convert_float{0}(x);\n"
      "  const double{0} back = convert_double{0}(nearest);\n"
      "  const uint{0} bits = as_uint{0}(nearest);\n"
      "  const uint{0} moved = select(bits - 1u, bits + 1u, convert_int{0}(fabs(back) < "
      "fabs(x)));\n"
      "  const int{0} stays = convert_int{0}((back == x) | (x != x)) | ((bits & 1u) != 0u);\n"
      "  return as_float{0}(select(moved, bits, stays));\n}}\n",
      width, word);
}

// Halved until f32 has it, the last bit saying whether anything was left over.
std::string define_odd_of_integer(std::string_view word, std::string_view from, unsigned width) {
  std::string text;
  for (const int step : {32, 16, 8, 4, 2, 1}) {
    const std::string rest = fmt::format("0x{:x}u", (std::uint64_t{1} << step) - 1);
    text += width == 1
                ? fmt::format(
                      "  if (size >> {1} != 0) {{\n"
                      "    size = size >> {0} | (u64)((size & {2}) != 0);\n"
                      "    scale *= 0x1p{0}f;\n  }}\n",
                      step, 23 + step, rest)
                : fmt::format(
                      "  large = size >> (ulong){1} != (ulong)0;\n"
                      "  size = select(size, size >> (ulong){0} | (as_ulong{3}((size & (ulong){2}) "
                      "!= (ulong)0) & (ulong)1), large);\n"
                      "  scale = select(scale, scale * 0x1p{0}f, convert_int{3}(large));\n",
                      step, 23 + step, rest, width);
  }
  const bool is_signed = is_signed_type(from);
  if (width == 1)
    return fmt::format(
        "DEVICE f32 {0}({1} x) {{\n  u64 size = {2};\n  f32 scale = {3};\n{4}  return (f32)size * "
        "scale;\n}}\n",
        word, from, is_signed ? "x < 0 ? 0 - (u64)x : (u64)x" : "x",
        is_signed ? "x < 0 ? -1.0f : 1.0f" : "1.0f", text);
  return fmt::format(
      "DEVICE f32x{0} {1}({2}x{0} x) {{\n  ulong{0} size = {3};\n  float{0} scale = {4};\n"
      "  long{0} large;\n{5}  return convert_float{0}(size) * scale;\n}}\n",
      width, word, from,
      is_signed
          ? fmt::format("select(as_ulong{0}(x), (ulong)0 - as_ulong{0}(x), x < (long)0)", width)
          : std::string("x"),
      is_signed ? fmt::format("select((float{0})(1.0f), (float{0})(-1.0f), convert_int{0}(x < "
                              "(long)0))",
                              width)
                : fmt::format("(float{})(1.0f)", width),
      text);
}

// Whether f32 stands between x and a rounding to fewer digits: then it has to be rounded to odd.
bool rounds_twice(std::string_view from, Dtype to) {
  if (from == "f64")
    return to == Dtype::f16 || to == Dtype::bf16 || to == Dtype::f8_e4m3fn || to == Dtype::f8_e5m2;
  // What f32 has not all of is infinite in the others.
  return to == Dtype::bf16 && is_integer_type(from) && bytes_of_type(from) >= 4;
}

std::string rounded_to_odd(std::string_view from, unsigned width) {
  if (from == "f64") return fmt::format("{}{}(x)", odd, wide_name("f64", width));
  const std::string_view wide = is_signed_type(from) ? "i64" : "u64";
  if (from == wide) return fmt::format("{}{}(x)", odd, wide_name(wide, width));
  return width == 1
             ? fmt::format("{}{}(({})x)", odd, wide, wide)
             : fmt::format("{}{}({}(x))", odd, wide_name(wide, width), opencl_convert(wide, width));
}

// x of the real computing type `from` in the computing type of `to`.
std::string convert_real(std::string_view from, Dtype to, unsigned width) {
  const std::string_view target = compute_type(to);
  const auto plain = [&](std::string_view value, std::string_view source) {
    if (source == target) return std::string(value);
    return width == 1 ? fmt::format("({}){}", target, value)
                      : fmt::format("{}({})", opencl_convert(target, width), value);
  };
  if (to == Dtype::boolean)
    return width == 1 ? "(u8)(x != 0)"
                      : fmt::format("convert_uchar{0}((x != ({1}x{0})(0)) & ({2})(1))", width, from,
                                    opencl_type(signed_of(from), width));
  if (rounds_twice(from, to)) return rounded_to_odd(from, width);
  if (!is_integer_type(target) || is_integer_type(from)) return plain("x", from);
  const bool through_i32 = itemsize(to) < 4 || to == Dtype::i32;
  const std::string_view middle = through_i32 ? "i32" : to == Dtype::u64 ? "u64" : "i64";
  return plain(fmt::format("truncate_{}_{}(x)", from, wide_name(middle, width)), middle);
}

std::string convert(Dtype from, Dtype to, unsigned width) {
  const std::string_view source = compute_type(from), target = compute_type(to);
  if (source == target && (to != Dtype::boolean || from == Dtype::boolean)) return "x";
  const std::string_view part = source == "c64" ? "f32" : "f64";
  const std::string_view target_part = target == "c64" ? "f32" : "f64";
  if (is_complex(from) && is_complex(to))
    return fmt::format("make_{0}(({1})x.re, ({1})x.im)", target, target_part);
  if (is_complex(to)) return fmt::format("make_{}(({})x, 0)", target, target_part);
  if (!is_complex(from)) return convert_real(source, to, width);
  if (to == Dtype::boolean) return fmt::format("nonzero_{}(x)", source);
  return fmt::format("cast_{}_{}(x.re)", part, suffix(to));
}

}  // namespace

std::string define_cast(Language language, std::string_view word) {
  constexpr std::string_view cast = "cast_", truncate = "truncate_";
  if (word.starts_with(odd)) {
    const auto [element, width] = split_width(word.substr(odd.size()));
    if (width > 1 && language != Language::opencl_c) return {};
    if (element == "f64") return define_odd_of_f64(word, width);
    return element == "i64" || element == "u64" ? define_odd_of_integer(word, element, width)
                                                : std::string();
  }
  const bool casts = word.starts_with(cast);
  if (!casts && !word.starts_with(truncate)) return {};
  const std::string_view pair = word.substr(casts ? cast.size() : truncate.size());
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const Dtype from = static_cast<Dtype>(i);
    const std::string_view own = suffix(from);
    if (!pair.starts_with(own) || pair.size() < own.size() + 2 || pair[own.size()] != '_') continue;
    const auto [element, width] = split_width(pair.substr(own.size() + 1));
    const std::optional<Dtype> to = dtype_of_suffix(element);
    if (!to ||
        (width > 1 && (language != Language::opencl_c || is_complex(from) || is_complex(*to))))
      continue;
    if (!casts) return define_truncation(word, own, element, width);
    return fmt::format("DEVICE {} {}({} x) {{ return {}; }}\n", wide_name(compute_type(*to), width),
                       word, wide_name(compute_type(from), width), convert(from, *to, width));
  }
  return {};
}

}  // namespace bp::codegen
