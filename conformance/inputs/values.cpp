#include "inputs/values.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "inputs/telling_values.hpp"

namespace bp::conform {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::string_view names_of_values[] = {
    "own",       "normal",    "exact",     "wide",    "specials", "near",       "ties",
    "cancel",    "big",       "positive",  "every16", "zeros",    "in_turn",    "late",
    "last_nan",  "nans",      "edges",     "swings",  "lowest",   "highest",    "sparse",
    "quotients", "fading",    "midpoints", "powers",  "corners",  "duplicates", "minus_one",
    "minus_end", "minus_any", "too_high",  "too_low"};
static_assert(std::size(names_of_values) == static_cast<std::size_t>(Values::too_low) + 1);

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
FloatRange reduced(FloatRange range, int power) {
  if (power == 1) return range;
  // Of 16 bits, which are added up in 32, less is taken off.
  const int most = std::max((range.largest - 14) / power, 8 / power);
  return {std::min(range.largest / 2 - 3, most), range.smallest / power, range.digits};
}

double log_uniform(std::uint64_t word, const FloatRange& range) {
  const int least = range.smallest, most = range.largest;
  const int exponent =
      least + static_cast<int>((word >> 1) % static_cast<std::uint64_t>(most - least + 1));
  const double magnitude = std::ldexp(1 + fraction(mix(word)) * 0.998, exponent);
  return word & 1 ? -magnitude : magnitude;
}

double special(std::uint64_t which, const FloatRange& range) {
  const double denormal = std::ldexp(1.0, range.smallest - range.digits);
  const double largest = std::ldexp(2 - std::ldexp(1.0, -range.digits), range.largest);
  const double all[] = {std::nan(""),
                        infinity,
                        -infinity,
                        0.0,
                        -0.0,
                        denormal,
                        -denormal,
                        std::ldexp(1.0, range.smallest) - denormal,
                        largest,
                        -largest,
                        std::ldexp(1.0, range.smallest),
                        -std::ldexp(1.0, range.smallest),
                        1.0,
                        -1.0,
                        0.5,
                        -2.5};
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

double near_number(std::uint64_t word, const FloatRange& range) {
  const int depth = static_cast<int>((word >> 3) % static_cast<std::uint64_t>(range.digits + 6));
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
  const FloatRange range = range_of(filling.dtype);
  const auto small = [&] { return reduced(range, filling.power); };
  std::uint64_t which = 0;
  if (filling.values == Values::specials && special_place(filling, element, word, which))
    return special(which, filling.multiplies_all ? FloatRange{1, -1, 0} : small());
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
    case Values::cancel: return std::ldexp(1.0, std::min(range.digits / 2, 10)) + around_one(word);
    case Values::big: return std::ldexp(1.0, range.digits + 1) + static_cast<double>(word % 5) - 2;
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
  const auto* const found = std::find(std::begin(names_of_values), std::end(names_of_values), name);
  return static_cast<Values>(found - std::begin(names_of_values));
}

bool is_values_name(std::string_view name) {
  return std::find(std::begin(names_of_values), std::end(names_of_values), name) !=
         std::end(names_of_values);
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
