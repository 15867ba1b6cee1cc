// Arithmetic of real types where C's own would not do: integers wrap, and a NaN wins.
#include <fmt/format.h>
#include <initializer_list>
#include <utility>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

struct Word {
  std::string_view name, operation;
  std::string type;  // with its width
  std::string_view element;
  unsigned width;
  bool is_integer, is_signed;

  // A type of the same number of elements.
  std::string wide(std::string_view other) const {
    return width == 1 ? std::string(other) : fmt::format("{}x{}", other, width);
  }
};

std::string function(const Word& word, int num_operands, std::string_view value) {
  return fmt::format("DEVICE {0} {1}({0} a{2}) {{ return {3}; }}\n", word.type, word.name,
                     num_operands == 2 ? fmt::format(", {} b", word.type) : "", value);
}

// `text` with its words that begin with $ replaced.
std::string spelled(std::string text,
                    std::initializer_list<std::pair<std::string_view, std::string>> words) {
  for (const auto& [name, value] : words)
    for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += value.size())
      text.replace(at, name.size(), value);
  return text;
}

// Signed overflow is undefined, and small types would become int: computed in unsigned ones.
std::string wrapping(const Word& word, char symbol) {
  if (word.width == 1) {
    const std::string_view wide = bytes_of_type(word.element) == 8 ? "u64" : "u32";
    return function(word, 2, fmt::format("({0})(({1})a {2} ({1})b)", word.type, wide, symbol));
  }
  const std::string bits = opencl_type(unsigned_of(word.element), word.width);
  return function(word, 2,
                  fmt::format("as_{0}(as_{1}(a) {2} as_{1}(b))",
                              opencl_type(word.element, word.width), bits, symbol));
}

std::string negated(const Word& word) {
  if (!word.is_integer) return function(word, 1, "-a");
  return function(word, 1, fmt::format("sub_{0}(({0})(0), a)", word.type));
}

std::string divided(const Word& word) {
  if (!word.is_integer) return function(word, 2, "a / b");
  const std::string& type = word.type;
  if (word.width > 1) {
    const std::string minus_one =
        word.is_signed ? fmt::format(" | (b == ({})(-1))", type) : std::string();
    const std::string negation =
        word.is_signed
            ? fmt::format("  quotient = select(quotient, neg_{0}(a), b == ({0})(-1));\n", type)
            : std::string();
    return fmt::format(
        "DEVICE {0} {1}({0} a, {0} b) {{\n"
        "  {0} quotient = a / select(b, ({0})(1), (b == ({0})(0)){2});\n{3}"
        "  return select(quotient, ({0})(0), b == ({0})(0));\n}}\n",
        type, word.name, minus_one, negation);
  }
  // The lowest number divided by -1 would trap.
  const std::string quotient = word.is_signed
                                   ? fmt::format("b == -1 ? neg_{0}(a) : ({0})(a / b)", type)
                                   : fmt::format("({})(a / b)", type);
  return function(word, 2, fmt::format("b == 0 ? ({})0 : {}", type, quotient));
}

// PoCL 3.1's own is wrong by denormal divisors (2^-1022 by 2^-1074 leaves 2^-1022), and its vectors take a minute to compile.
// Eleven bits of the quotient at a time, in whole numbers: exact, and deaf to a device that flushes denormals.
constexpr std::string_view opencl_fmod = R"(DEVICE f64 $name_of_one(f64 a, f64 b) {
  const u64 one = (u64)1 << 52, top = (u64)1 << 63, infinity = (u64)0x7ff << 52;
  u64 x = as_ulong(a) & ~top, y = as_ulong(b) & ~top;
  const u64 sign = as_ulong(a) & top;
  if (y == 0 || y > infinity || x >= infinity) return (f64)NAN;
  if (x < y) return a;
  i32 from = (i32)(x >> 52), to = (i32)(y >> 52);
  x = from == 0 ? x : ((x & (one - 1)) | one);
  y = to == 0 ? y : ((y & (one - 1)) | one);
  from = max(from, 1);
  to = max(to, 1);
  x %= y;
  while (from > to && x != 0) {
    const i32 bits = min(from - to, 11);
    x = (x << bits) % y;
    from -= bits;
  }
  if (x == 0) return as_double(sign);
  const i32 free = min((i32)clz(x) - 11, to - 1);
  x <<= free;
  return as_double(sign | (x < one ? x : x - one + ((u64)(to - free) << 52)));
}
DEVICE $T $name($T a, $T b) {
)";

std::string real_left_over(Language language, const Word& word) {
  if (language != Language::opencl_c || word.element != "f64")
    return function(word, 2, "fmod(a, b)");
  std::string text(opencl_fmod);
  text += word.width == 1
              ? "  return $name_of_one(a, b);\n}\n"
              : "  f64 each[$W], by[$W];\n"
                "  vstore$W(a, 0, each);\n"
                "  vstore$W(b, 0, by);\n"
                "  for (i32 i = 0; i < $W; ++i) each[i] = $name_of_one(each[i], by[i]);\n"
                "  return vload$W(0, each);\n}\n";
  return spelled(
      std::move(text),
      {{"$T", word.type}, {"$name", std::string(word.name)}, {"$W", std::to_string(word.width)}});
}

// With the sign of a. Of the lowest number, -1 would trap.
std::string left_over(Language language, const Word& word) {
  if (!word.is_integer) return real_left_over(language, word);
  const std::string& type = word.type;
  if (word.width == 1)
    return function(word, 2,
                    fmt::format("b == 0{1} ? ({0})0 : ({0})(a % b)", type,
                                word.is_signed ? " || b == -1" : ""));
  const std::string minus_one =
      word.is_signed ? fmt::format(" | (b == ({})(-1))", type) : std::string();
  return fmt::format(
      "DEVICE {0} {1}({0} a, {0} b) {{\n"
      "  return select(a % select(b, ({0})(1), (b == ({0})(0)){2}), ({0})(0), (b == "
      "({0})(0)){2});\n"
      "}}\n",
      type, word.name, minus_one);
}

// OpenCL counts places modulo the number of bits, and C leaves more than that open.
std::string shifted(const Word& word, bool to_left) {
  if (!word.is_integer) return {};
  const std::string& type = word.type;
  const bool is_wide = word.width > 1;
  const auto constant = [&](std::size_t number) {
    return is_wide ? fmt::format("({})({})", type, number) : fmt::format("({}){}", type, number);
  };
  const std::size_t bits = 8 * bytes_of_type(word.element);
  std::string is_within = fmt::format("(b < {})", constant(bits));
  if (word.is_signed) is_within += fmt::format(" & (b >= {})", constant(0));
  const std::string unsigned_type =
      is_wide ? opencl_type(unsigned_of(word.element), word.width) : "u64";
  const auto as = [&](const std::string& to, const std::string& value) {
    return is_wide ? fmt::format("as_{}({})", to, value) : fmt::format("({})({})", to, value);
  };
  const std::string own_type = is_wide ? opencl_type(word.element, word.width) : type;
  const std::string places = is_wide ? fmt::format("(b & {})", constant(bits - 1)) : "b";
  const std::string value =
      to_left ? as(own_type, fmt::format("{} << {}", as(unsigned_type, "a"),
                                         is_wide ? as(unsigned_type, places) : places))
              : fmt::format("({})(a >> {})", type, places);
  const std::string beyond = to_left || !word.is_signed ? constant(0)
                             : is_wide                  ? fmt::format("a >> {}", constant(bits - 1))
                                       : fmt::format("a < 0 ? ({0})-1 : ({0})0", type);
  return function(word, 2,
                  is_wide ? fmt::format("select({}, {}, {})", beyond, value, is_within)
                          : fmt::format("{} ? {} : ({})", is_within, value, beyond));
}

std::string absolute(const Word& word) {
  if (!word.is_integer) return function(word, 1, "fabs(a)");
  if (!word.is_signed) return function(word, 1, "a");
  return function(word, 1,
                  word.width == 1 ? fmt::format("a < 0 ? neg_{}(a) : a", word.type)
                                  : fmt::format("select(a, neg_{0}(a), a < ({0})(0))", word.type));
}

std::string extreme(const Word& word, char comparison) {
  const std::string chosen = word.is_integer ? fmt::format("a {} b", comparison)
                                             : fmt::format("(a {} b) | (a != a)", comparison);
  return function(word, 2,
                  word.width == 1 ? fmt::format("({}) ? a : b", chosen)
                                  : fmt::format("select(b, a, {})", chosen));
}

// PoCL 3.1's own is wrong for vectors of f64 in which some element is a special case (12^2.5 beside infinity
// is 0.487, off by 2^10).
std::string power_by_element(const Word& word) {
  std::string elements;
  for (unsigned i = 0; i < word.width; ++i)
    elements += fmt::format("{0}pow(a.s{1:x}, b.s{1:x})", i == 0 ? "" : ", ", i);
  return function(word, 2, fmt::format("({})({})", word.type, elements));
}

// PoCL 3.1's own is wrong for vectors of f32 in which some element is at least 2^23: it reduces the others by a
// way that only large ones bear, and sin(0) beside 1e10 is 0.008. A loop, since 16 copies compile slowly.
std::string wave_by_element(const Word& word) {
  if (word.width == 1 || word.element != "f32") return {};
  return fmt::format(
      "DEVICE {0} {1}({0} a) {{\n"
      "  if (!any(fabs(a) >= ({0})(0x1p23f))) return {2}(a);\n"
      "  f32 each[{3}];\n"
      "  vstore{3}(a, 0, each);\n"
      "  for (i32 i = 0; i < {3}; ++i) each[i] = {2}(each[i]);\n"
      "  return vload{3}(0, each);\n}}\n",
      word.type, word.name, word.operation, word.width);
}

// By squaring, for all elements of a vector at once: as many steps as the type has bits.
std::string power(const Word& word) {
  if (!word.is_integer) return word.width > 1 ? power_by_element(word) : std::string();
  const bool is_wide = word.width > 1;
  const auto chosen = [&](std::string_view condition, std::string_view yes, std::string_view no) {
    return is_wide ? fmt::format("select({}, {}, {})", no, yes, condition)
                   : fmt::format("{} ? {} : {}", condition, yes, no);
  };
  const std::string& type = word.type;
  const auto constant = [&](int number) { return fmt::format("({})({})", type, number); };
  const std::string is_odd = fmt::format("(b & {}) != {}", constant(1), constant(0));
  std::string fraction;
  if (word.is_signed) {
    const std::string of_minus_one = chosen(is_odd, constant(-1), constant(1));
    fraction = fmt::format(
        "  const {0} of_minus_one = {1};\n"
        "  const {0} unless_one = {2};\n"
        "  const {0} fraction = {3};\n",
        type, of_minus_one,
        chosen(fmt::format("a == {}", constant(-1)), "of_minus_one", constant(0)),
        chosen(fmt::format("a == {}", constant(1)), constant(1), "unless_one"));
  }
  const std::string result =
      word.is_signed ? chosen(fmt::format("b < {}", constant(0)), "fraction", "result") : "result";
  return fmt::format(
      "DEVICE {0} {1}({0} a, {0} b) {{\n{2}"
      "  {0} result = {3}, square = a, rest = b;\n"
      "  for (int bit = 0; bit < {4}; ++bit) {{\n"
      "    result = mul_{0}(result, {5});\n"
      "    square = mul_{0}(square, square);\n"
      "    rest = rest >> {6};\n  }}\n"
      "  return {7};\n}}\n",
      type, word.name, fraction, constant(1), 8 * bytes_of_type(word.element),
      chosen(fmt::format("(rest & {}) != {}", constant(1), constant(0)), "square", constant(1)),
      constant(1), result);
}

// e^-|x| never overflows.
std::string sigmoid(const Word& word) {
  if (word.is_integer) return {};
  const std::string one = fmt::format("({})(1)", word.type);
  const std::string numerator = word.width == 1
                                    ? fmt::format("a >= 0 ? {} : e", one)
                                    : fmt::format("select(e, {}, a >= ({})(0))", one, word.type);
  return fmt::format(
      "DEVICE {0} {1}({0} a) {{\n  const {0} e = exp(-fabs(a));\n"
      "  return ({2}) / ({3} + e);\n}}\n",
      word.type, word.name, numerator, one);
}

// -(e^-2|x| - 1) / (e^-2|x| + 1), as the cpu backend computes it: no cancellation near 0, no overflow, no
// branch. OpenCL's own takes three times as long on processors (PoCL 3.1: 10 against 28 GB/s). Not by mad(), which PoCL
// does not fuse.
constexpr std::string_view opencl_tanh = R"(DEVICE $T $name($T x) {
#pragma OPENCL FP_CONTRACT ON
  const $T size = fabs(x), a = -2.0f * $bounded;
  const $T shifted = a * 0x1.715476p+0f + 0x1.8p23f, n = shifted - 0x1.8p23f;
  const $T r = n * -9.0580006145e-06f + (n * -6.9313812256e-01f + a);
  $T p = r * 0.001381453825160861f + 0.00836874544620514f;
  p = p * r + 0.04166838899254799f;
  p = p * r + 0.1666652113199234f;
  p = (r * r) * (p * r + 0.4999999403953552f) + r;
  const $T power = $reals(($bits(shifted) << 23) + 0x3f800000u), e = power * p + (power - 1.0f);
  return copysign(e / (e + 2.0f), x);
}
)";

std::string hyperbolic_tangent(Language language, const Word& word) {
  if (word.is_integer) return {};
  if (language != Language::opencl_c || word.element != "f32") return function(word, 1, "tanh(a)");
  const std::string bound = fmt::format("({})(9.75f)", word.type);  // and a NaN stays
  return spelled(
      std::string(opencl_tanh),
      {{"$T", word.type},
       {"$name", std::string(word.name)},
       {"$bounded", word.width == 1 ? fmt::format("(size > {0} ? {0} : size)", bound)
                                    : fmt::format("select(size, {0}, size > {0})", bound)},
       {"$reals", "as_" + opencl_type("f32", word.width)},
       {"$bits", "as_" + opencl_type("u32", word.width)}});
}

}  // namespace

std::string define_arithmetic(Language language, std::string_view name) {
  const std::size_t underscore = name.find('_');
  if (underscore == name.npos) return {};
  const std::string_view type = name.substr(underscore + 1);
  const auto [element, width] = split_width(type);
  if (!is_compute_type(element) || is_complex_type(element)) return {};
  if (width > 1 && language != Language::opencl_c) return {};
  const Word word{name,  name.substr(0, underscore), std::string(type),      element,
                  width, is_integer_type(element),   is_signed_type(element)};
  const auto plain = [&](char symbol) {
    return word.is_integer ? wrapping(word, symbol)
                           : function(word, 2, fmt::format("a {} b", symbol));
  };
  if (word.operation == "add") return plain('+');
  if (word.operation == "sub") return plain('-');
  if (word.operation == "mul") return plain('*');
  if (word.operation == "div") return divided(word);
  if (word.operation == "neg") return negated(word);
  if (word.operation == "abs") return absolute(word);
  if (word.operation == "max") return extreme(word, '>');
  if (word.operation == "min") return extreme(word, '<');
  if (word.operation == "pow") return power(word);
  if (word.operation == "sin" || word.operation == "cos" || word.operation == "tan")
    return wave_by_element(word);
  if (word.operation == "fmod") return left_over(language, word);
  if (word.operation == "shl" || word.operation == "shr")
    return shifted(word, word.operation == "shl");
  if (word.operation == "sigmoid") return sigmoid(word);
  if (word.operation == "tanh") return hyperbolic_tangent(language, word);
  return {};
}

}  // namespace bp::codegen
