#include "kinds/random_text.hpp"

#include <fmt/format.h>

#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

// $lanes counters at a time, in loops of which compilers for processors make vectors. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
constexpr const char* philox = R"(
DEVICE void philox(u64 seed, u64 counter, u32* w0, u32* w1, u32* w2, u32* w3) {
  for (int i = 0; i < $lanes; ++i) {
    w0[i] = (u32)(counter + (u64)i);
    w1[i] = (u32)((counter + (u64)i) >> 32);
    w2[i] = 0;
    w3[i] = 0;
  }
  u32 key0 = (u32)seed, key1 = (u32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < $lanes; ++i) {
      const u64 product0 = (u64)0xD2511F53u * w0[i], product1 = (u64)0xCD9E8D57u * w2[i];
      w0[i] = (u32)(product1 >> 32) ^ w1[i] ^ key0;
      w1[i] = (u32)product1;
      w2[i] = (u32)(product0 >> 32) ^ w3[i] ^ key1;
      w3[i] = (u32)product0;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}
)";

// The same series as the cpu plugin's, rounded as its compiler's contraction does on most processors:
// `log` and `cos` of OpenCL may be off by 3 and 4 units, and separate roundings by 3 together.
constexpr const char* normals_in_f64 = R"(
DEVICE f64 radius(u32 word) {
  const f64 value = ((f64)word + 1.0) * 0x1p-32;
  const u64 bits = bits_of_f64(value);
  const u64 shifted = bits + (0x3ff0000000000000UL - 0x3fe6a09e667f3bcdUL);
  const f64 exponent = (f64)(i32)((u32)(shifted >> 52) - 1023u);
  const f64 f = f64_of_bits(bits - (shifted & 0xfff0000000000000UL) + 0x3ff0000000000000UL) - 1.0;
  const f64 s = f / (2.0 + f);
  const f64 z = s * s;
  f64 series = 1.0 / 23;
  series = fma(series, z, 1.0 / 21);
  series = fma(series, z, 1.0 / 19);
  series = fma(series, z, 1.0 / 17);
  series = fma(series, z, 1.0 / 15);
  series = fma(series, z, 1.0 / 13);
  series = fma(series, z, 1.0 / 11);
  series = fma(series, z, 1.0 / 9);
  series = fma(series, z, 1.0 / 7);
  series = fma(series, z, 1.0 / 5);
  series = fma(series, z, 1.0 / 3);
  const f64 log_f = fma(2.0 * s * z, series, 2.0 * s);
  return sqrt(0.0 - 2.0 * fma(exponent, 0x1.62e42fefa39efp-1, log_f));
}

DEVICE void draw_pair(u32 radius_word, u32 angle_word, f64* cosine, f64* sine) {
  const u32 quarter = (angle_word + 0x20000000u) >> 30;
  const f64 x = (f64)(i32)(angle_word - (quarter << 30)) * (0x1.921fb54442d18p+2 * 0x1p-32);
  const f64 z = x * x;
  f64 c = 1.0 / 20922789888000.0;
  c = fma(c, z, -1.0 / 87178291200.0);
  c = fma(c, z, 1.0 / 479001600.0);
  c = fma(c, z, -1.0 / 3628800.0);
  c = fma(c, z, 1.0 / 40320.0);
  c = fma(c, z, -1.0 / 720.0);
  c = fma(c, z, 1.0 / 24.0);
  c = fma(z * z, c, fma(z, -0.5, 1.0));
  f64 s = 1.0 / 355687428096000.0;
  s = fma(s, z, -1.0 / 1307674368000.0);
  s = fma(s, z, 1.0 / 6227020800.0);
  s = fma(s, z, -1.0 / 39916800.0);
  s = fma(s, z, 1.0 / 362880.0);
  s = fma(s, z, -1.0 / 5040.0);
  s = fma(s, z, 1.0 / 120.0);
  s = fma(s, z, -1.0 / 6.0);
  s = fma(x * z, s, x);
  const f64 along = quarter & 1u ? s : c, across = quarter & 1u ? c : s;
  const f64 length = radius(radius_word);
  *cosine = length * ((quarter + 1u) & 2u ? -along : along);
  *sine = length * (quarter & 2u ? -across : across);
}
)";

// In integers of 64 bits, with the binary point where the name says: q62 is x * 2^62. Divisions and series
// are exact to about 2^-57, so that a number of 24 bits is rounded once.
constexpr const char* normals_in_integers = R"(
DEVICE u64 high_product(u64 a, u64 b) {
  const u64 a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const u64 middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

DEVICE i32 leading_zeros(u64 x) {
  i32 zeros = 0;
  for (i32 step = 32; step > 0; step /= 2)
    if (x >> (64 - step) == 0) {
      zeros += step;
      x <<= step;
    }
  return zeros;
}

// sqrt(-2 ln((word + 1) / 2^32)) as the result times 2^exponent; 0 or from 2^31 to 2^32.
DEVICE u64 radius(u32 word, i32* exponent) {
  // A fraction in [sqrt(1/2), sqrt(2)) times 2^-halvings; its logarithm is 2 artanh(s).
  u64 fraction_q32 = (u64)word + 1;
  i32 halvings = leading_zeros(fraction_q32) - 32;
  if (halvings < 0) halvings = 0;
  if (fraction_q32 << halvings < 3037000500UL) ++halvings;
  fraction_q32 <<= halvings;
  const u64 one_q32 = 1UL << 32;
  const int is_above = fraction_q32 > one_q32;
  const u64 above = is_above ? fraction_q32 - one_q32 : one_q32 - fraction_q32;
  const u64 below = fraction_q32 + one_q32;
  const u64 upper = (above << 32) / below;
  const u64 s_q62 = (upper << 30) + (((above << 32) - upper * below) << 30) / below;
  const u64 z = high_product(s_q62 << 2, s_q62 << 2);
  u64 series = 0x13b13b13b13b13b1UL;
  series = 0x1745d1745d1745d1UL + high_product(z, series);
  series = 0x1c71c71c71c71c71UL + high_product(z, series);
  series = 0x2492492492492492UL + high_product(z, series);
  series = 0x3333333333333333UL + high_product(z, series);
  series = 0x5555555555555555UL + high_product(z, series);
  const u64 log_q62 = 2 * (s_q62 + high_product(s_q62, high_product(z, series)));
  // Twice the logarithm, with as many bits as there is room for.
  u64 square = log_q62;
  i32 power = 1 - 62;
  if (halvings > 0) {
    square = (u64)halvings * 199786072581291495UL;
    square = is_above ? square - (log_q62 >> 4) : square + (log_q62 >> 4);
    power = 1 - 58;
  }
  *exponent = 0;
  if (square == 0) return 0;
  i32 shift = leading_zeros(square);
  if ((power - shift) % 2 != 0) --shift;
  square = shift < 0 ? square >> 1 : square << shift;
  *exponent = (power - shift) / 2;
  // The device's root may be off by some units; a step of Newton's doubles its digits.
  const u64 root = (u64)sqrt((f32)square);
  return (root + square / root) >> 1;
}

// length * 2^exponent * value, with its sign.
DEVICE f32 scaled(u64 length, i32 exponent, u64 value_q62, u32 is_negative) {
  if (length == 0 || value_q62 == 0) return 0.0f;
  const i32 shift = leading_zeros(value_q62);
  const u64 product = (length >> 1) * (value_q62 << shift >> 32);
  const f32 magnitude = (f32)product * f32_of_bits((u32)(127 + 1 + exponent + 32 - shift - 62) << 23);
  return is_negative ? -magnitude : magnitude;
}

DEVICE void draw_pair(u32 radius_word, u32 angle_word, f32* cosine, f32* sine) {
  const u32 quarter = (angle_word + 0x20000000u) >> 30;
  const i32 rest = (i32)(angle_word - (quarter << 30));
  const u64 x_q62 = (u64)(rest < 0 ? -rest : rest) * 6746518852UL;
  const u64 z = high_product(x_q62 << 2, x_q62 << 2);
  u64 c = 0x8f76c77fcUL;
  c = 0x49f93edde27UL - high_product(z, c);
  c = 0x1a01a01a01a01UL - high_product(z, c);
  c = 0x5b05b05b05b05bUL - high_product(z, c);
  c = 0xaaaaaaaaaaaaaaaUL - high_product(z, c);
  c = 0x8000000000000000UL - high_product(z, c);
  c = (1UL << 62) - (high_product(z, c) >> 2);
  u64 s = 0x6b99159fd5UL;
  s = 0x2e3bc74aad8eUL - high_product(z, s);
  s = 0xd00d00d00d00dUL - high_product(z, s);
  s = 0x222222222222222UL - high_product(z, s);
  s = 0x2aaaaaaaaaaaaaaaUL - high_product(z, s);
  s = x_q62 - high_product(x_q62, high_product(z, s));
  i32 exponent;
  const u64 length = radius(radius_word, &exponent);
  const u32 odd = quarter & 1u, sine_is_negative = rest < 0;
  *cosine = scaled(length, exponent, odd ? s : c,
                   ((quarter + 1u) >> 1 & 1u) ^ (odd ? sine_is_negative : 0u));
  *sine = scaled(length, exponent, odd ? c : s,
                   (quarter >> 1 & 1u) ^ (odd ? 0u : sine_is_negative));
}
)";

std::string uniform(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return "(f32)(w >> 8) * 0x1p-24f";
    case Dtype::f64: return "(f64)w * 0x1p-32";
    case Dtype::bf16: return "(f32)(w >> 24) * 0x1p-8f";
    default: return "(f32)(w >> 21) * 0x1p-11f";
  }
}

constexpr const char* draw_by_words = R"(
DEVICE $T number(u32 w) { return $number; }

DEVICE void draw(u64 seed, u64 counter, $T* numbers) {
  u32 w0[$lanes], w1[$lanes], w2[$lanes], w3[$lanes];
  philox(seed, counter, w0, w1, w2, w3);
  for (int i = 0; i < $lanes; ++i) {
    numbers[4 * i] = number(w0[i]);
    numbers[4 * i + 1] = number(w1[i]);
    numbers[4 * i + 2] = number(w2[i]);
    numbers[4 * i + 3] = number(w3[i]);
  }
}
)";

constexpr const char* draw_by_pairs = R"(
DEVICE void draw(u64 seed, u64 counter, $T* numbers) {
  u32 w0[$lanes], w1[$lanes], w2[$lanes], w3[$lanes];
  philox(seed, counter, w0, w1, w2, w3);
  for (int i = 0; i < $lanes; ++i) {
    $W first, second, third, fourth;
    draw_pair(w0[i], w1[i], &first, &second);
    draw_pair(w2[i], w3[i], &third, &fourth);
    numbers[4 * i] = ($T)first;
    numbers[4 * i + 1] = ($T)second;
    numbers[4 * i + 2] = ($T)third;
    numbers[4 * i + 3] = ($T)fourth;
  }
}
)";

constexpr const char* random_body = R"(
  GLOBAL u8* const out = m0 + v.out_start;
  for (i64 chunk = item0 * v.piece; chunk < (item0 + 1) * v.piece; ++chunk) {
    const i64 first = chunk * (4 * $lanes);
    if (first >= v.count) break;
    $T numbers[4 * $lanes];
    draw((u64)v.seed, (u64)v.offset + (u64)chunk * $lanes, numbers);
    $at_once
    if (first + 4 * $lanes <= v.count)
      for (int i = 0; i < 4 * $lanes; ++i) store_$D(out, first + i, numbers[i]);
    else
      for (int i = 0; first + i < v.count; ++i) store_$D(out, first + i, numbers[i]);
  }
)";

}  // namespace

KernelText random_text(Draw draw, Dtype dtype, const RandomForm& form) {
  const char* names[] = {"philox", "rand", "randn"};
  const std::string lanes = std::to_string(form.lanes);
  const std::string_view type = compute_type(dtype);
  KernelText text;
  text.name = fmt::format("{}_{}", names[static_cast<int>(draw)], suffix(dtype));
  text.num_memory = 1;
  for (const char* name : {"count", "piece", "seed", "offset", "out_start"})
    text.values.push_back({name});
  text.helpers = fill_in(philox, {{"lanes", lanes}});
  if (draw == Draw::normals) {
    text.helpers += form.in_f64 ? normals_in_f64 : normals_in_integers;
    text.helpers +=
        fill_in(draw_by_pairs, {{"lanes", lanes}, {"T", type}, {"W", form.in_f64 ? "f64" : "f32"}});
  } else {
    text.helpers += fill_in(
        draw_by_words,
        {{"lanes", lanes}, {"T", type}, {"number", draw == Draw::words ? "w" : uniform(dtype)}});
  }
  // The numbers of one counter are neighbours.
  const std::string at_once = form.by_packs
                                  ? fmt::format(
                                        "if (first + 4 <= v.count && (u64)out % {0} == 0) {{ "
                                        "stores_{1}_4(out, first, numbers); continue; }}",
                                        std::min(16u, 4 * itemsize(dtype)), suffix(dtype))
                                  : std::string();
  text.body = fill_in(random_body,
                      {{"lanes", lanes}, {"T", type}, {"D", suffix(dtype)}, {"at_once", at_once}});
  return text;
}

}  // namespace bp::codegen
