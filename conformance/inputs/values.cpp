#include "inputs/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <iterator>
#include <limits>

#include <backplane/tensor/elements.hpp>

#include "inputs/problem.hpp"

namespace bp::conform {

double FloatingFormat::ulp(double value) const {
  if (!std::isfinite(value) || value == 0) return smallest();
  const int exponent = std::clamp(std::ilogb(value), lowest_exponent, highest_exponent);
  return std::ldexp(1.0, exponent - digits + 1);
}

FloatingFormat format_of(Dtype dtype) {
  switch (dtype) {
    case f16: return {11, -14, 15};
    case bf16: return {8, -126, 127};
    case f64:
    case complex128: return {53, -1022, 1023};
    case f8_e4m3fn: return {4, -6, 8};
    case f8_e5m2: return {3, -14, 15};
    default: return {24, -126, 127};
  }
}
FloatingFormat compute_format(Dtype dtype) {
  return format_of(dtype == f16 || dtype == bf16 ? f32 : dtype);
}

Dtype wide_dtype(Dtype dtype) {
  if (is_complex(dtype)) return complex128;
  return has_fractions(dtype) ? f64 : dtype;
}

void to_doubles(const void* bytes, std::size_t count, Dtype dtype, double* out) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i, from += itemsize(dtype)) {
    const Scalar number = load_number(from, dtype);
    *out++ = number.to_double();
    if (is_complex(dtype)) *out++ = number.to_complex().imag();
  }
}
std::vector<double> to_doubles(const void* bytes, std::size_t count, Dtype dtype) {
  std::vector<double> values(count * parts_of(dtype));
  to_doubles(bytes, count, dtype, values.data());
  return values;
}

double rounded_to(double value, Dtype dtype) {
  const FloatingFormat format = format_of(dtype);
  if (!std::isfinite(value) || value == 0 || format.digits == 53) return value;
  const double step = format.ulp(value);
  const double result = std::nearbyint(value / step) * step;  // both exact: step is a power of two
  return std::fabs(result) >= format.overflow() ? std::copysign(HUGE_VAL, value) : result;
}

namespace {

constexpr std::array<std::string_view, num_dtypes> element_names = {
    "bool", "u8",   "i8",  "i16", "i32",       "i64",        "u16",       "u32",    "u64",
    "f16",  "bf16", "f32", "f64", "complex64", "complex128", "f8_e4m3fn", "f8_e5m2"};

}  // namespace

std::string_view short_name(Dtype dtype) {
  return element_names[index(dtype)];
}

bool dtype_of_short_name(std::string_view text, Dtype& out) {
  for (unsigned d = 0; d < num_dtypes; ++d) {
    if (element_names[d] != text) continue;
    out = static_cast<Dtype>(d);
    return true;
  }
  return false;
}

bool is_signed_integer(Dtype dtype) {
  return contains(set_of(i8, i16, i32, i64), dtype);
}

void store_element(const Number& number, Dtype dtype, unsigned char* at) {
  if (holds_whole_numbers(dtype)) return store_number(number.whole, dtype, at);
  store_number(std::complex<double>(number.real, number.imaginary), dtype, at);
}

namespace {

#define BP_TEXT(...) #__VA_ARGS__
#define BP_TEXT_OF(list) BP_TEXT(list)

// The words of the enumeration's own list, in its order.
const std::vector<std::string>& names_of_values() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> words = split_text(BP_TEXT_OF(BP_VALUES), ',');
    for (std::string& word : words) word.erase(0, word.find_first_not_of(' '));
    return words;
  }();
  return names;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

// In [0, 1), with 53 bits.
constexpr double fraction(std::uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

constexpr double log_of_2 = 0.693147180559945309;

// Digits after the point of the dtypes that numbers are cast to.
constexpr int digits_of_targets[] = {10, 7, 23, 3, 2, 52};

// One of those with at least two digits less than `digits`; -1 if there is none.
int narrower_digits(int digits, std::uint64_t word) {
  int fitting[std::size(digits_of_targets)], count = 0;
  for (const int each : digits_of_targets)
    if (each + 2 <= digits) fitting[count++] = each;
  return count == 0 ? -1 : fitting[word % static_cast<std::uint64_t>(count)];
}

// The largest number of an integer's dtype.
std::int64_t largest_of(Dtype dtype) {
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  return static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
}

// "late": sizes rise with the place and signs are drawn, so that the largest and the smallest of a line come last. Of
// bools four lines are taken apart: one true at the end, one false at the end, all false, all true.
double late_real(const Filling& filling, std::int64_t element, std::uint64_t word) {
  const double share = static_cast<double>(element + 1) / static_cast<double>(filling.count);
  // Whole numbers, each of which the dtype has.
  const double most = std::ldexp(1.0, std::min(format_of(filling.dtype).fraction_digits(), 23));
  const double size = std::ceil(share * most);
  return word & 1 ? -size : size;
}

std::int64_t late_whole(const Filling& filling, std::int64_t element, std::uint64_t word) {
  if (filling.dtype == boolean) {
    const std::int64_t quarter = element * 4 / filling.count;
    const bool is_last = (element + 1) * 4 / filling.count != quarter;
    return quarter < 2 ? (quarter == 1) != is_last : quarter == 3;
  }
  const std::int64_t most = std::min(largest_of(filling.dtype), std::int64_t{1} << 23);
  const auto size = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(element + 1) / static_cast<double>(filling.count) *
                static_cast<double>(most)));
  if (is_signed_integer(filling.dtype)) return word & 1 ? -size : size;
  return word & 1 ? (most - size) / 2 : (most + size) / 2;
}

// "nans": NaN of either sign, or a small whole number.
double nan_or_real(std::uint64_t word) {
  if (word % 3 == 0) return std::copysign(std::nan(""), word & 16 ? 1 : -1);
  return static_cast<double>(word / 64 % 9) - 4;
}

// "edges": next to halves, to 1, and to where no fraction fits any more, of both signs.
double edge_real(const FloatingFormat& range, std::int64_t element) {
  // So many times the first number without a fraction, a number, and so many times the step from 1 to the next.
  static constexpr struct {
    double whole, number, steps;
  } edges[] = {{0, 0.5, -0.25}, {0, 0.5, 0},  {0, 0.5, 0.5}, {0, 1, -0.5}, {0, 1, 0},
               {0, 1, 1},       {0, 1.5, -1}, {0, 1.5, 0},   {0, 1.5, 1},  {0, 2.5, 0},
               {0.5, -0.5, 0},  {0.5, 0, 0},  {0.5, 0.5, 0}, {1, -1, 0},   {1, 0, 0},
               {1, 1, 0},       {2, 0, 0},    {4, 0, 0},     {0, 0, 0},    {0, 0.25, 0}};
  const double step = std::ldexp(1.0, -range.fraction_digits()), whole = 1 / step;
  const auto place = static_cast<std::size_t>(element);
  const auto& edge = edges[place / 2 % std::size(edges)];
  const double chosen = edge.whole * whole + edge.number + edge.steps * step;
  return place % 2 == 0 ? chosen : -chosen;
}

// "swings": two next to the largest number, and two next to its negative, and so on.
double swinging_real(const FloatingFormat& range, std::int64_t element) {
  const double large =
      std::ldexp(1.0 + 0.5 / (1 + static_cast<double>(element / 4 % 7)), range.highest_exponent);
  return element % 4 < 2 ? large : -large;
}

// "sparse": mostly 0; else what is lost where only low bits are looked at, or denormal numbers are taken for 0.
double sparse_real(const FloatingFormat& range, std::uint64_t word) {
  if (word % 11 != 0) return 0;
  const double size = std::ldexp(1.0, range.lowest_exponent + static_cast<int>(word / 16 % 4));
  return word & 1 ? size : -size;
}

std::int64_t sparse_whole(Dtype dtype, std::uint64_t word) {
  if (word % 11 != 0) return 0;
  const std::size_t bits = itemsize(dtype) * 8;
  if (bits == 8) return 1 << (4 + word / 16 % 3);
  // All bits of it are in the upper half.
  return std::int64_t{1} << (bits / 2 + word / 16 % (bits / 2 - 1));
}

// "quotients": a divisor, and what is a multiple of it but for a rounding; a quotient that is rounded and then cut off
// is one too large. `word`: of both.
double divisor(const FloatingFormat& range, std::uint64_t word) {
  static constexpr double tenths[] = {0.1, 0.7, 0.3, 1.1, -0.1, -0.6, 3.3, 0.01};
  const double rounded =
      std::ldexp(1.0, range.fraction_digits() - 3);  // so many digits remain in all dtypes
  return std::nearbyint(tenths[word % std::size(tenths)] * rounded) / rounded;
}

double dividend(const FloatingFormat& range, std::uint64_t word) {
  const auto times = static_cast<double>(1 + word / 64 % 40);
  const double exact = divisor(range, word) * times * (word & 32 ? -1 : 1);
  const int exponent = std::ilogb(exact) - range.fraction_digits();
  const double step = std::ldexp(1.0, exponent);
  const double rounded = std::nearbyint(exact / step) * step;
  return rounded + (static_cast<double>(word / 4096 % 3) - 1) * step;
}

// "fading": what exp, or exp2, makes a denormal number or barely 0.
double fading_real(const FloatingFormat& range, std::uint64_t word) {
  const double smallest = (range.lowest_exponent - range.fraction_digits() - 1) * log_of_2;
  const double normal = (range.lowest_exponent + 1) * log_of_2;
  const double power = smallest + fraction(word) * (normal - smallest);
  return word & 1 ? power : power / log_of_2;
}

// "midpoints": half way between two neighbours of another dtype with fewer digits, or one step of its own beside it,
// which a rounding on the way through a third dtype would move to the middle.
double midpoint_real(const FloatingFormat& range, std::uint64_t word) {
  const std::uint64_t other = mix(word);
  const int digits = narrower_digits(range.fraction_digits(), word >> 3);
  if (digits < 0) return fraction(word) * 4 - 2;
  const double sign = other & 1 ? -1 : 1;
  // What is half a step above the largest f16 becomes infinite; what is next below does not.
  double value = 65520;
  const bool is_denormal = (other >> 1) % 8 == 0 && range.highest_exponent > 15,
             is_largest = other % 29 == 0;
  const auto steps = static_cast<double>((other >> 8) % (std::uint64_t{1} << digits));
  if (is_denormal)
    value = std::ldexp(std::fmod(steps, 1024) + 0.5, digits == 10  ? -24
                                                     : digits == 7 ? -133
                                                                   : -149);
  else if (!is_largest || range.fraction_digits() < 12)
    value = std::ldexp(std::ldexp(1.0, digits) + steps + 0.5,
                       static_cast<int>((other >> 40) % 7) - 3 - digits);
  const std::uint64_t beside = (other >> 48) % 3;
  const double step = std::ldexp(1.0, -range.fraction_digits());
  return sign * (beside == 0 ? value : value * (beside == 1 ? 1 + step : 1 - step));
}

std::int64_t midpoint_whole(Dtype dtype, std::uint64_t word) {
  const std::uint64_t other = mix(word);
  const int bits = static_cast<int>(itemsize(dtype)) * 8 - 1;
  const int digits = narrower_digits(bits - 1, word >> 3);
  if (digits < 0) return static_cast<std::int64_t>(word % 10);
  const auto steps = static_cast<std::int64_t>((other >> 8) % (std::uint64_t{1} << digits));
  const auto shift =
      static_cast<int>((other >> 40) % static_cast<std::uint64_t>(bits - digits - 1));
  const std::int64_t middle = (((std::int64_t{1} << digits) + steps) * 2 + 1) << shift;
  const std::int64_t value = middle + static_cast<std::int64_t>((other >> 48) % 3) - 1;
  return is_signed_integer(dtype) && other & 1 ? -value : value;
}

// "powers": the first tensor's bases are next to 1, or small and whole; the second one's exponents are as large as the
// result's range allows for the base beside them. `word`: of the base, for both.
double power_base(const FloatingFormat& range, std::uint64_t word) {
  static constexpr double whole[] = {2, 3, -2, -3, 10, 0.5, -1.5, 7};
  if (word % 4 == 0) return whole[(word >> 2) % std::size(whole)];
  const int deepest = std::min(range.fraction_digits(), 12);
  const int depth =
      2 + static_cast<int>((word >> 8) % static_cast<std::uint64_t>(std::max(deepest - 2, 1)));
  const double off = std::ldexp(1.0, -depth);
  return word & 4 ? 1 + off : 1 - off;
}

double power_exponent(const FloatingFormat& range, std::uint64_t word) {
  const double base = std::fabs(power_base(range, word));
  const double most = 0.9 * range.highest_exponent / std::fabs(std::log2(base));
  const std::uint64_t other = mix(word, 3);
  const double size = most * (0.3 + 0.7 * fraction(other));
  const double exponent = word % 4 == 0 || other & 1 ? std::nearbyint(size) : size;
  return other & 2 ? -exponent : exponent;
}

std::uint64_t word_for(const Filling& filling, std::int64_t element, int salt = 0) {
  // Now and then a later tensor has what the first one has there: comparisons shall meet equal numbers.
  std::uint64_t word = mix(filling.seed * 31 + static_cast<std::uint64_t>(salt),
                           static_cast<std::uint64_t>(element));
  if (filling.tensor == 0) return word;
  const std::uint64_t own = mix(word, static_cast<std::uint64_t>(filling.tensor));
  return own % 5 == 0 ? word : own;
}

double around_one(std::uint64_t word) {
  return fraction(word) * 4 - 2;
}

// The range whose numbers to this power can be added up 2^14 times.
FloatingFormat reduced(FloatingFormat range, int power) {
  if (power == 1) return range;
  // Of 16 bits, which are added up in 32, less is taken off.
  const int most = std::max((range.highest_exponent - 14) / power, 8 / power);
  return {range.digits, range.lowest_exponent / power,
          std::min(range.highest_exponent / 2 - 3, most)};
}

double log_uniform(std::uint64_t word, const FloatingFormat& range) {
  const int least = range.lowest_exponent, most = range.highest_exponent;
  const int exponent =
      least + static_cast<int>((word >> 1) % static_cast<std::uint64_t>(most - least + 1));
  const double magnitude = std::ldexp(1 + fraction(mix(word)) * 0.998, exponent);
  return word & 1 ? -magnitude : magnitude;
}

double special(std::uint64_t which, const FloatingFormat& range) {
  const double denormal = range.smallest(), normal = range.smallest_normal(),
               barely = normal - denormal;
  const double largest =
      std::ldexp(2 - std::ldexp(1.0, -range.fraction_digits()), range.highest_exponent);
  const double nan = std::nan("");
  const double all[] = {nan,     infinity, -infinity, 0.0,     -0.0, denormal, -denormal, barely,
                        largest, -largest, normal,    -normal, 1.0,  -1.0,     0.5,       -2.5};
  return all[which % std::size(all)];
}
constexpr std::uint64_t num_specials = 16;

// A place in the list of specials: two tensors meet in all pairs within 256 elements; among many numbers
// that are added up, a special one is rare.
bool special_place(const Filling& filling, std::int64_t element, std::uint64_t word,
                   std::uint64_t& which) {
  const auto place = static_cast<std::uint64_t>(element);
  if (!filling.meets_all) {
    which = word >> 8;
    return word % 17 == 0;
  }
  which = filling.tensor == 0
              ? place
              : place / num_specials + place * static_cast<std::uint64_t>(filling.tensor);
  return place < num_specials * num_specials || word % 3 != 0;
}

double near_number(std::uint64_t word, const FloatingFormat& range) {
  const int depth =
      static_cast<int>((word >> 3) % static_cast<std::uint64_t>(range.fraction_digits() + 6));
  const double small = std::ldexp(1 + fraction(mix(word)), -depth - 1);
  const double sign = word & 1 ? -1 : 1;
  return word & 2 ? 1 + sign * small : sign * small;
}

double tie(std::uint64_t word) {
  static constexpr double all[] = {0.5, 1.5, 2.5, -0.5, -1.5, 0.0, -0.0, 3.5, 1.0, -2.5};
  return all[word % std::size(all)];
}

// Next to 1 or -1; few are twice as large, of however many: the product is about 1 whatever the order.
double factor_near_one(const Filling& filling, std::uint64_t word) {
  const double sign = word & 1 ? -1 : 1;
  const auto rare = static_cast<std::uint64_t>(std::max<std::int64_t>(127, filling.count / 8));
  if (filling.values == Values::exact) return word % rare == 0 ? 2 * sign : sign;
  return sign * (1 + (fraction(mix(word)) - 0.5) / 32);
}

// On both sides of the cuts, both zeros, what leaves float32 by its square, and infinities.
double corner(std::uint64_t place) {
  static constexpr double all[] = {
      0.0,    -0.0,     0.75,      -0.75,
      1,      -1,       2.5,       -2.5,
      30,     -30,      0x1p-70,   -0x1p-70,
      0x1p70, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  return all[place % std::size(all)];
}

// The same for the base and the exponent beside it.
std::uint64_t word_of_base(const Filling& filling, std::int64_t element) {
  return mix(filling.seed * 31, static_cast<std::uint64_t>(element));
}

double one_real(const Filling& filling, std::int64_t element, int salt) {
  const std::uint64_t word = word_for(filling, element, salt);
  const FloatingFormat range = format_of(filling.dtype);
  const auto small = [&] { return reduced(range, filling.power); };
  std::uint64_t which = 0;
  if (filling.values == Values::specials && special_place(filling, element, word, which))
    return special(which, filling.multiplies_all ? FloatingFormat{1, -1, 1} : small());
  if (filling.values == Values::in_turn)
    return special(static_cast<std::uint64_t>(element), small());
  if (filling.multiplies_all) return factor_near_one(filling, word);
  const bool is_first = filling.tensor == 0;
  const auto shared = [&] { return word_of_base(filling, element); };
  switch (filling.values) {
    case Values::exact: return static_cast<double>(word % 7) - 3;
    case Values::late: return late_real(filling, element, word);
    case Values::last_nan:
      return element + 1 == filling.count ? std::nan("") : late_real(filling, element, word);
    case Values::nans: return nan_or_real(word);
    case Values::edges: return edge_real(range, element);
    case Values::swings: return swinging_real(range, element);
    case Values::lowest: return -infinity;
    case Values::highest: return infinity;
    case Values::sparse: return sparse_real(range, word);
    case Values::quotients: return is_first ? dividend(range, shared()) : divisor(range, shared());
    case Values::fading: return fading_real(range, word);
    case Values::midpoints: return midpoint_real(range, word);
    case Values::powers:
      return is_first ? power_base(range, shared()) : power_exponent(range, shared());
    case Values::wide: return log_uniform(word, small());
    case Values::near: return near_number(word, range);
    case Values::ties: return tie(word);
    case Values::zeros: return word & 1 ? 0.0 : -0.0;
    case Values::positive: return std::exp2(fraction(word) * 6 - 3);
    case Values::cancel:
      return std::ldexp(1.0, std::min(range.fraction_digits() / 2, 10)) + around_one(word);
    case Values::big:
      return std::ldexp(1.0, range.fraction_digits() + 1) + static_cast<double>(word % 5) - 2;
    default: return around_one(word);
  }
}

// ---- Integers

// Next to where a float's or double's digits end, and a width's.
std::int64_t big_whole(std::uint64_t word, Dtype dtype) {
  const std::int64_t most = largest_of(dtype);
  const std::int64_t around[] = {std::int64_t{1} << 53, std::int64_t{1} << 31,
                                 std::int64_t{1} << 24, most, most / 2};
  std::int64_t chosen = around[(word >> 4) % std::size(around)];
  if (chosen > most) chosen = most;
  const std::int64_t step = static_cast<std::int64_t>(word % 3) - 1;
  // Beyond the largest it wraps, as unsigned numbers do.
  const std::uint64_t sum = static_cast<std::uint64_t>(chosen) + static_cast<std::uint64_t>(step);
  const bool negates = (word >> 2 & 1) && is_signed_integer(dtype);
  return static_cast<std::int64_t>(negates ? -sum : sum);
}

std::int64_t whole_special(std::uint64_t word, Dtype dtype) {
  const std::int64_t most = largest_of(dtype);
  const std::int64_t all[] = {0, 1, -1, most, -most, -most - 1, 2, most - 1};
  return all[word % std::size(all)];
}

std::int64_t one_whole(const Filling& filling, std::int64_t element) {
  const std::uint64_t word = word_for(filling, element);
  const Dtype dtype = filling.dtype;
  const bool is_signed = is_signed_integer(dtype);
  const auto small = [&](std::int64_t reach) {
    const auto count = static_cast<std::uint64_t>(2 * reach + 1);
    return static_cast<std::int64_t>(word % count) - (is_signed ? reach : 0);
  };
  std::uint64_t which = 0;
  if (filling.values == Values::late) return late_whole(filling, element, word);
  if (dtype == boolean)
    return filling.values == Values::zeros ? 0 : static_cast<std::int64_t>(word >> 7 & 1);
  switch (filling.values) {
    case Values::sparse: return sparse_whole(dtype, word);
    case Values::lowest: return is_signed ? -largest_of(dtype) - 1 : 0;
    case Values::highest: return is_signed ? largest_of(dtype) : -1;
    case Values::exact: return small(3);
    case Values::ties: return small(1);
    case Values::zeros: return 0;
    case Values::midpoints: return midpoint_whole(dtype, word);
    case Values::positive: return 1 + static_cast<std::int64_t>(word % 9);
    case Values::big:
    case Values::cancel: return big_whole(word, dtype);
    case Values::wide: {
      const std::int64_t magnitude = largest_of(dtype) >> (word % (itemsize(dtype) * 8 - 1));
      return is_signed && (word >> 9 & 1) ? -magnitude : magnitude;
    }
    case Values::specials:
      return special_place(filling, element, word, which) ? whole_special(which, dtype) : small(9);
    default: return small(9);
  }
}

std::int64_t bad_index(std::string_view values, std::uint64_t word, std::int64_t end) {
  if (values == "too_high") return end;
  if (values == "too_low") return -1 - end;
  if (values == "minus_one") return -1;
  if (values == "minus_end") return -end;
  return -1 - static_cast<std::int64_t>(word % static_cast<std::uint64_t>(end));
}

}  // namespace

Values values_named(std::string_view name) {
  const std::vector<std::string>& names = names_of_values();
  return static_cast<Values>(std::ranges::find(names, name) - names.begin());
}

bool is_values_name(std::string_view name) {
  return static_cast<std::size_t>(values_named(name)) < names_of_values().size();
}

Number number_at(const Filling& filling, std::int64_t element) {
  const bool shuns_zero =
      filling.meets_many && (filling.values == Values::exact || filling.values == Values::ties);
  const bool shuns_one = filling.meets_many && filling.values == Values::positive;
  if (holds_whole_numbers(filling.dtype)) {
    const std::int64_t whole = one_whole(filling, element);
    // Beside a whole tensor, powers of 1 and its logarithm would make all alike too.
    const bool is_telling = !(shuns_zero && whole == 0) && !(shuns_one && whole == 1);
    return Number::of_whole(is_telling || filling.dtype == boolean ? whole : 2);
  }
  if (filling.values == Values::corners) {
    const std::uint64_t place =
        filling.tensor == 0 ? static_cast<std::uint64_t>(element) : word_for(filling, element) >> 8;
    return {corner(place), corner(place / 16), 0};
  }
  // Products of complex infinities are a matter of taste; only real numbers are asked for those.
  Filling chosen = filling;
  if (is_complex(filling.dtype) && filling.values == Values::specials) chosen.values = Values::ties;
  const double drawn = one_real(chosen, element, 0);
  const bool is_one = std::fabs(drawn - 1) < 0x1p-7;  // also of what 16 bits make of it
  const double real = (shuns_zero && drawn == 0) || (shuns_one && is_one) ? 2 : drawn;
  if (!is_complex(filling.dtype)) return {real, 0, 0};
  double imaginary = one_real(chosen, element, 7);
  if (filling.multiplies_all) imaginary = filling.values == Values::exact ? 0 : imaginary / 64;
  return {real, imaginary, 0};
}

bool holds_bad_index(std::string_view values) {
  return values == "too_high" || values == "too_low" || values.starts_with("minus_");
}

std::int64_t index_at(std::string_view values, std::uint64_t seed, std::int64_t element,
                      std::int64_t count, std::int64_t end) {
  const std::uint64_t word = mix(seed * 77 + 5, static_cast<std::uint64_t>(element));
  if (values == "duplicates") end = std::min<std::int64_t>(end, 2);
  // One bad index among good ones, in the middle.
  if (element == count / 2 && holds_bad_index(values)) return bad_index(values, word, end);
  return static_cast<std::int64_t>(word %
                                   static_cast<std::uint64_t>(std::max<std::int64_t>(end, 1)));
}

}  // namespace bp::conform
