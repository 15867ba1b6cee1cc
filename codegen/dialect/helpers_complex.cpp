// Complex arithmetic as C's annex G has it, infinities recovered, since that is what processors' C
// libraries compute and what results are compared with.
#include <map>
#include <string>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

// C: the type; R: its parts'.
const std::map<std::string_view, std::string_view>& texts() {
  static const std::map<std::string_view, std::string_view> all = {
      {"make", R"(DEVICE C make_C(R re, R im) {
  C made;
  made.re = re;
  made.im = im;
  return made;
}
)"},
      {"add", "DEVICE C add_C(C a, C b) { return make_C(a.re + b.re, a.im + b.im); }\n"},
      {"sub", "DEVICE C sub_C(C a, C b) { return make_C(a.re - b.re, a.im - b.im); }\n"},
      {"neg", "DEVICE C neg_C(C a) { return make_C(-a.re, -a.im); }\n"},
      {"eq", "DEVICE u8 eq_C(C a, C b) { return (u8)((a.re == b.re) & (a.im == b.im)); }\n"},
      {"nonzero", "DEVICE u8 nonzero_C(C a) { return (u8)((a.re != 0) | (a.im != 0)); }\n"},
      // An infinite one as 1 with its sign, and others as 0.
      {"box",
       "DEVICE C box_C(C a) {\n"
       "  return make_C(copysign(isinf(a.re) ? (R)1 : (R)0, a.re),\n"
       "                copysign(isinf(a.im) ? (R)1 : (R)0, a.im));\n}\n"},
      {"without_nan",
       "DEVICE C without_nan_C(C a) {\n"
       "  return make_C(a.re != a.re ? copysign((R)0, a.re) : a.re,\n"
       "                a.im != a.im ? copysign((R)0, a.im) : a.im);\n}\n"},
      {"mul", R"(DEVICE C mul_C(C a, C b) {
  const R ac = a.re * b.re, bd = a.im * b.im, ad = a.re * b.im, bc = a.im * b.re;
  const R re = ac - bd, im = ad + bc;
  if (re == re || im == im) return make_C(re, im);
  int again = 0;
  if (isinf(a.re) || isinf(a.im)) {
    a = box_C(a);
    b = without_nan_C(b);
    again = 1;
  }
  if (isinf(b.re) || isinf(b.im)) {
    b = box_C(b);
    a = without_nan_C(a);
    again = 1;
  }
  if (!again && (isinf(ac) || isinf(bd) || isinf(ad) || isinf(bc))) {
    a = without_nan_C(a);
    b = without_nan_C(b);
    again = 1;
  }
  if (!again) return make_C(re, im);
  return make_C((R)INFINITY * (a.re * b.re - a.im * b.im), (R)INFINITY * (a.re * b.im + a.im * b.re));
}
)"},
      {"div", R"(DEVICE C div_C(C a, C b) {
  const C q = quotient_C(a, b);
  if (q.re == q.re || q.im == q.im) return q;
  const int a_infinite = isinf(a.re) || isinf(a.im), b_infinite = isinf(b.re) || isinf(b.im);
  const int a_finite = isfinite(a.re) && isfinite(a.im), b_finite = isfinite(b.re) && isfinite(b.im);
  if (b.re == 0 && b.im == 0 && (a.re == a.re || a.im == a.im)) {
    const R infinity = copysign((R)INFINITY, b.re);
    return make_C(infinity * a.re, infinity * a.im);
  }
  if (a_infinite && b_finite) {
    a = box_C(a);
    return make_C((R)INFINITY * (a.re * b.re + a.im * b.im), (R)INFINITY * (a.im * b.re - a.re * b.im));
  }
  if (b_infinite && a_finite) {
    b = box_C(b);
    return make_C((R)0 * (a.re * b.re + a.im * b.im), (R)0 * (a.im * b.re - a.re * b.im));
  }
  return q;
}
)"},
      // Baudin and Smith, "A robust complex division in Scilab", with the scaling of GCC's library.
      {"smith", R"(DEVICE C smith_C(C a, C b) {
  const R large = (R)HUGE / 2, tiny = (R)TINY, step = (R)STEP, fair = (R)HUGE / 2 * (R)STEP;
  const int swaps = fabs(b.re) < fabs(b.im);
  R greater = swaps ? b.im : b.re, lesser = swaps ? b.re : b.im, scale = (R)1;
  if (fabs(greater) >= large) scale = (R)0.5;
  a.re *= scale; a.im *= scale; greater *= scale; lesser *= scale;
  scale = (R)1;
  if (fabs(greater) < step ||
      (((fabs(a.re) < step && fabs(a.im) < fair) || (fabs(a.im) < step && fabs(a.re) < fair)) &&
       fabs(greater) < fair))
    scale = (R)1 / step;
  a.re *= scale; a.im *= scale; greater *= scale; lesser *= scale;
  const R ratio = lesser / greater, below = lesser * ratio + greater;
  const int plain = fabs(ratio) > tiny;
  const R re = plain ? a.re * ratio : lesser * (a.re / greater);
  const R im = plain ? a.im * ratio : lesser * (a.im / greater);
  return swaps ? make_C((re + a.im) / below, (im - a.re) / below)
               : make_C((a.re + im) / below, (a.im - re) / below);
}
)"}};
  return all;
}

// With doubles the quotient of two c64 is right to the last bit but one.
constexpr std::string_view through_f64 = R"(DEVICE c64 quotient_c64(c64 a, c64 b) {
  const f64 c = b.re, d = b.im, below = c * c + d * d;
  return make_c64((f32)((a.re * c + a.im * d) / below), (f32)((a.im * c - a.re * d) / below));
}
)";
constexpr std::string_view through_smith =
    "DEVICE C quotient_C(C a, C b) { return smith_C(a, b); }\n";

std::string of_type(std::string_view text, std::string_view type) {
  const bool is_double = type == "c128";
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    const auto stands = [&](std::string_view word) {
      const char before = i == 0 ? ' ' : text[i - 1];
      const char after = i + word.size() < text.size() ? text[i + word.size()] : ' ';
      return text.substr(i, word.size()) == word && (before == '_' || !is_name(before)) &&
             !is_name(after);
    };
    const auto replace = [&](std::string_view word, std::string_view by) {
      made += by;
      i += word.size() - 1;
    };
    if (stands("C"))
      replace("C", type);
    else if (stands("R"))
      replace("R", is_double ? "f64" : "f32");
    else if (stands("HUGE"))
      replace("HUGE", is_double ? "0x1.fffffffffffffp1023" : "0x1.fffffep127f");
    else if (stands("TINY"))
      replace("TINY", is_double ? "0x1p-1022" : "0x1p-126f");
    else if (stands("STEP"))
      replace("STEP", is_double ? "0x1p-52" : "0x1p-23f");
    else
      made += text[i];
  }
  return made;
}

}  // namespace

std::string define_complex(Language language, std::string_view word) {
  const std::size_t underscore = word.rfind('_');
  if (underscore == word.npos) return {};
  const std::string_view type = word.substr(underscore + 1), name = word.substr(0, underscore);
  if (!is_complex_type(type)) return {};
  if (name == "quotient") {
    std::string smith = of_type(through_smith, type);
    if (type == "c128") return smith;
    if (language != Language::opencl_c) return std::string(through_f64);
    return "#ifdef cl_khr_fp64\n" + std::string(through_f64) + "#else\n" + smith + "#endif\n";
  }
  const auto it = texts().find(name);
  return it == texts().end() ? std::string() : of_type(it->second, type);
}

}  // namespace bp::codegen
