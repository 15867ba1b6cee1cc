// Numbers as bits, and the small floats from and to f32: to nearest even, NaN kept, and without a
// subnormal f32 on the way, which devices may take for 0.
#include <fmt/format.h>
#include <map>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

// bits_of_f32(x), f32_of_bits(u): f64 alike, and vectors in OpenCL C.
std::string define_reinterpretation(Language language, std::string_view to, std::string_view from,
                                    std::string_view word) {
  const auto [element, width] = split_width(to);
  switch (language) {
    case Language::opencl_c:
      return fmt::format("DEVICE {} {}({} x) {{ return as_{}(x); }}\n", to, word, from,
                         opencl_type(element, width));
    case Language::cuda_cxx: {
      const char* intrinsic = to == "f32"   ? "__uint_as_float"
                              : to == "u32" ? "__float_as_uint"
                              : to == "f64" ? "__longlong_as_double"
                                            : "__double_as_longlong";
      return fmt::format("DEVICE {0} {1}({2} x) {{ return ({0}){3}(x); }}\n", to, word, from,
                         intrinsic);
    }
    case Language::c11:
      return fmt::format(
          "DEVICE {0} {1}({2} x) {{\n  {0} same;\n  memcpy(&same, &x, sizeof same);\n"
          "  return same;\n}}\n",
          to, word, from);
  }
  return {};
}

// word: what stands behind its definition.
const std::map<std::string_view, std::string_view>& small_floats() {
  static const std::map<std::string_view, std::string_view> texts = {
      {"f32_of_f16", R"(DEVICE f32 f32_of_f16(u16 half_bits) {
  const u32 sign = (u32)(half_bits & 0x8000u) << 16, rest = half_bits & 0x7fffu;
  const u32 normal = (rest << 13) + (rest >= 0x7c00u ? 0x70000000u : 0x38000000u);
  return f32_of_bits(sign | (rest < 0x400u ? bits_of_f32((f32)rest * 0x1p-24f) : normal));
}
)"},
      {"f16_of_f32", R"(DEVICE u16 f16_of_f32(f32 x) {
  const u32 bits = bits_of_f32(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return (u16)(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return (u16)(sign | 0x7c00u);
  if (rest < 0x38800000u) return (u16)(sign | (bits_of_f32(f32_of_bits(rest) + 0.5f) - 0x3f000000u));
  return (u16)(sign | (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13);
}
)"},
      {"f32_of_bf16",
       "DEVICE f32 f32_of_bf16(u16 upper) { return f32_of_bits((u32)upper << 16); "
       "}\n"},
      {"bf16_of_f32", R"(DEVICE u16 bf16_of_f32(f32 x) {
  const u32 bits = bits_of_f32(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)(bits >> 16 | 0x40u);
  return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
)"},
      {"f32_of_f8_e5m2",
       "DEVICE f32 f32_of_f8_e5m2(u8 upper) { return f32_of_f16((u16)((u32)upper << 8)); }\n"},
      {"f32_of_f8_e4m3fn", R"(DEVICE f32 f32_of_f8_e4m3fn(u8 code) {
  const u32 sign = (u32)(code & 0x80u) << 24, rest = code & 0x7fu;
  u32 magnitude = (rest << 20) + (120u << 23);
  if (rest < 8u) magnitude = bits_of_f32((f32)rest * 0x1p-9f);
  if (rest == 0x7fu) magnitude = 0x7fc00000u;
  return f32_of_bits(sign | magnitude);
}
)"},
      // Sign apart, as if there were no upper end; below the normal numbers in whole steps.
      {"f8_of_magnitude", R"(DEVICE u32 f8_of_magnitude(u32 rest, u32 mantissa, u32 bias) {
  const u32 cut = 23u - mantissa;
  if (rest < (128u - bias) << 23)
    return (u32)rint(f32_of_bits(rest) * f32_of_bits((126u + bias + mantissa) << 23));
  return ((rest + (1u << (cut - 1u)) - 1u + (rest >> cut & 1u)) >> cut) - ((127u - bias) << mantissa);
}
)"},
      {"f8_e5m2_of_f32", R"(DEVICE u8 f8_e5m2_of_f32(f32 x) {
  const u32 bits = bits_of_f32(x), sign = bits >> 24 & 0x80u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return (u8)(sign | 0x7fu);
  const u32 rounded = rest == 0x7f800000u ? 0x7cu : f8_of_magnitude(rest, 2u, 15u);
  return (u8)(sign | (rounded < 0x7cu ? rounded : 0x7cu));
}
)"},
      {"f8_e4m3fn_of_f32", R"(DEVICE u8 f8_e4m3fn_of_f32(f32 x) {
  const u32 bits = bits_of_f32(x), sign = bits >> 24 & 0x80u, rest = bits & 0x7fffffffu;
  if (rest >= 0x7f800000u) return (u8)(sign | 0x7fu);
  const u32 rounded = f8_of_magnitude(rest, 3u, 7u);
  return (u8)(sign | (rounded < 0x7fu ? rounded : 0x7fu));
}
)"}};
  return texts;
}

// Instructions of the device, to nearest even as well. bf16 has one from compute capability 8.0 on.
const std::map<std::string_view, std::string_view>& cuda_small_floats() {
  static const std::map<std::string_view, std::string_view> texts = {
      {"f32_of_f16", R"(DEVICE f32 f32_of_f16(u16 half_bits) {
  f32 x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half_bits));
  return x;
}
)"},
      {"f16_of_f32", R"(DEVICE u16 f16_of_f32(f32 x) {
  u16 half_bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half_bits) : "f"(x));
  return half_bits;
}
)"},
      {"bf16_of_f32", R"(DEVICE u16 bf16_of_f32(f32 x) {
#if __CUDA_ARCH__ >= 800
  u16 upper;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(upper) : "f"(x));
  return upper;
#else
  const u32 bits = bits_of_f32(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)(bits >> 16 | 0x40u);
  return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}
)"}};
  return texts;
}

// The same of vectors, without branches. F, U, I, S: float, uint, int, ushort of the width.
const std::map<std::string_view, std::string_view>& small_float_vectors() {
  static const std::map<std::string_view, std::string_view> texts = {
      {"f32_of_f16", R"(DEVICE F f32@_of_f16(S half_bits) {
  const U bits = convert_U(half_bits), sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  const U normal = (rest << 13) + select((U)(0x38000000u), (U)(0x70000000u), rest >= (U)(0x7c00u));
  const U small = as_U(convert_F(as_I(rest)) * 0x1p-24f);
  return as_F(sign | select(normal, small, rest < (U)(0x400u)));
}
)"},
      {"f16_of_f32", R"(DEVICE S f16_of_f32@(F x) {
  const U bits = as_U(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  U code = (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13;
  code = select(code, as_U(as_F(rest) + 0.5f) - 0x3f000000u, rest < (U)(0x38800000u));
  code = select(code, (U)(0x7c00u), rest >= (U)(0x477ff000u));
  code = select(code, (U)(0x7e00u), rest > (U)(0x7f800000u));
  return convert_S(sign | code);
}
)"},
      {"f32_of_bf16", R"(DEVICE F f32@_of_bf16(S upper) { return as_F(convert_U(upper) << 16); }
)"},
      {"bf16_of_f32", R"(DEVICE S bf16_of_f32@(F x) {
  const U bits = as_U(x);
  const U rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return convert_S(select(rounded, bits >> 16 | 0x40u, (bits & 0x7fffffffu) > (U)(0x7f800000u)));
}
)"}};
  return texts;
}

// Capitals that stand alone become types of this width, @ the width in a name.
std::string of_width(std::string_view text, unsigned width) {
  std::string made;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char before = i == 0 ? '_' : text[i - 1], next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool alone = !is_word(next) && (before == '_' || !is_word(before));
    switch (alone ? text[i] : '@' == text[i] ? '@' : ' ') {
      case 'F': made += opencl_type("f32", width); break;
      case 'U': made += opencl_type("u32", width); break;
      case 'I': made += opencl_type("i32", width); break;
      case 'S': made += opencl_type("u16", width); break;
      case '@': made += fmt::format("x{}", width); break;
      default: made += text[i];
    }
  }
  return made;
}

std::string define_small_float(Language language, std::string_view word) {
  if (const auto it = cuda_small_floats().find(word);
      language == Language::cuda_cxx && it != cuda_small_floats().end())
    return std::string(it->second);
  if (const auto it = small_floats().find(word); it != small_floats().end())
    return std::string(it->second);
  if (language != Language::opencl_c) return {};
  for (const auto& [scalar, text] : small_float_vectors())
    for (unsigned width : {2u, 4u, 8u, 16u}) {
      const std::string own = fmt::format("f32x{}", width);
      std::string name(scalar);
      name.replace(name.find("f32"), 3, own);
      if (name == word) return of_width(text, width);
    }
  return {};
}

}  // namespace

std::string define_bits(Language language, std::string_view word) {
  if (std::string found = define_small_float(language, word); !found.empty()) return found;
  constexpr std::string_view from = "bits_of_", to = "_of_bits";
  const bool gives_bits = word.starts_with(from);
  if (!gives_bits && !word.ends_with(to)) return {};
  const std::string_view real =
      gives_bits ? word.substr(from.size()) : word.substr(0, word.size() - to.size());
  const auto [element, width] = split_width(real);
  if ((element != "f32" && element != "f64") || (width > 1 && language != Language::opencl_c))
    return {};
  const std::string bits = wide_name(unsigned_of(element), width);
  return gives_bits ? define_reinterpretation(language, bits, real, word)
                    : define_reinterpretation(language, real, bits, word);
}

}  // namespace bp::codegen
