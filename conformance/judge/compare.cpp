// Bytes of a result against what is expected of it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "judge/expected.hpp"
#include "judge/numbers.hpp"

namespace bp::conform {
namespace {

constexpr int num_told = 3;
constexpr double usual_errors = 4;        // root mean square of errors, in those that are typical
constexpr std::size_t least_errors = 16;  // of so many on

std::string index_text(std::size_t element, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[d]);
    text = fmt::format("{}{}{}", element % size, text.empty() ? "" : ", ", text);
    element /= size;
  }
  return "[" + text + "]";
}

class Told {
 public:
  Told(Comparison& comparison, const ExpectedTensor& expected)
      : comparison_(comparison), expected_(expected) {}

  void wrong(std::size_t element, const std::string& got, const std::string& wanted,
             const std::string& bound) {
    comparison_.ok = false;
    if (++comparison_.wrong > num_told) return;
    comparison_.why +=
        fmt::format("{}element {}: {}, expected {}{}", comparison_.why.empty() ? "" : "; ",
                    index_text(element, expected_.shape), got, wanted, bound);
  }
  void finish() {
    if (comparison_.wrong == 0) return;
    comparison_.why += fmt::format(" (rule: {}); {} of {} differ", expected_.rule,
                                   comparison_.wrong, comparison_.of);
  }

 private:
  Comparison& comparison_;
  const ExpectedTensor& expected_;
};

// What an integer result may be; the other one is null where there is none.
struct Wanted {
  const unsigned char *first, *other;
};

template <class T>
void compare_whole(const unsigned char* bytes, const Wanted& wanted, std::size_t count,
                   Told& told) {
  const auto at = [](const unsigned char* all, std::size_t i) {
    T value;
    std::memcpy(&value, all + i * sizeof(T), sizeof(T));
    return value;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const T a = at(bytes, i), b = at(wanted.first, i);
    if (a == b || (wanted.other != nullptr && a == at(wanted.other, i))) continue;
    told.wrong(i, fmt::format("{}", a), fmt::format("{}", b), "");
  }
}

void compare_integers(const unsigned char* bytes, const ExpectedTensor& expected, std::size_t count,
                      Told& told) {
  const auto bytes_of = [](const Tensor& tensor) {
    return tensor.defined() ? static_cast<const unsigned char*>(tensor.data_ptr()) : nullptr;
  };
  const Wanted wanted{bytes_of(expected.wide), bytes_of(expected.flushed)};
  switch (expected.dtype) {
    case boolean:
      return compare_whole<std::uint8_t>(bytes, wanted, count,
                                         told);  // a true of 2 is wrong as well
    case u8: return compare_whole<std::uint8_t>(bytes, wanted, count, told);
    case i8: return compare_whole<std::int8_t>(bytes, wanted, count, told);
    case i16: return compare_whole<std::int16_t>(bytes, wanted, count, told);
    case i32: return compare_whole<std::int32_t>(bytes, wanted, count, told);
    case u16: return compare_whole<std::uint16_t>(bytes, wanted, count, told);
    case u32: return compare_whole<std::uint32_t>(bytes, wanted, count, told);
    case u64: return compare_whole<std::uint64_t>(bytes, wanted, count, told);
    default: return compare_whole<std::int64_t>(bytes, wanted, count, told);
  }
}

// One floating result, or one part of a complex one.
class Judge {
 public:
  Judge(const ExpectedTensor& expected, const FloatingFormat& format)
      : expected_(expected), format_(format) {}

  // Whether `got` will do for `wanted`; error and bound are left in `error` and `bound`.
  bool takes(double got, double wanted, std::size_t i) {
    bound = expected_.bound.empty() ? 0 : expected_.bound[i];
    error = 0;
    if (bound == HUGE_VAL) return true;
    if (expected_.nan_spreads && std::isnan(got)) return true;
    if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) == std::isnan(got);
    if (expected_.zero_below > 0 && got == 0 && std::fabs(wanted) < expected_.zero_below)
      return true;
    if (expected_.bound.empty()) {
      if (got == wanted &&
          (std::signbit(got) == std::signbit(wanted) || (got == 0 && expected_.any_zero)))
        return true;
      error = got == wanted ? 0 : std::fabs(got - wanted);
      return false;
    }
    if (std::isinf(wanted) && std::isinf(got)) return std::signbit(wanted) == std::signbit(got);
    if (expected_.signed_zero && wanted == 0 && got == 0 &&
        std::signbit(wanted) != std::signbit(got))
      return false;
    // An infinite expectation may stand at the edge of float64: then the bound is infinite as well.
    error = std::fabs(in_range(got) - in_range(wanted));
    return error <= bound;
  }

  double error = 0, bound = 0;

 private:
  // Beyond the largest number all are as one step further: so an overflow of few ulps is an error of few ulps.
  double in_range(double value) const {
    const double edge = format_.overflow();
    return std::fabs(value) > edge ? std::copysign(edge, value) : value;
  }

  const ExpectedTensor& expected_;
  const FloatingFormat& format_;
};

struct Statistics {
  double bias = 0, squares = 0;
  std::size_t biased = 0, typical = 0;
};

void compare_floats(const unsigned char* bytes, const ExpectedTensor& expected, std::size_t count,
                    Comparison& comparison, Told& told) {
  const FloatingFormat format = format_of(expected.dtype);
  const std::vector<double> got = to_doubles(bytes, count, expected.dtype);
  const std::vector<double> wanted =
      to_doubles(expected.wide.data_ptr(), count, expected.wide.dtype());
  std::vector<double> flushed;
  if (expected.flushed.defined())
    flushed = to_doubles(expected.flushed.data_ptr(), count, expected.flushed.dtype());
  Judge judge(expected, format);
  Statistics statistics;
  for (std::size_t i = 0; i < got.size(); ++i) {
    bool ok = judge.takes(got[i], wanted[i], i);
    const double error = judge.error, bound = judge.bound;
    comparison.unbounded += bound == HUGE_VAL;
    if (!ok && !flushed.empty()) ok = judge.takes(got[i], flushed[i], i);
    if (!ok)
      told.wrong(i / parts_of(expected.dtype), fmt::format("{:.9g}", got[i]),
                 fmt::format("{:.17g}", wanted[i]),
                 bound > 0 ? fmt::format(" within {:.3g}", bound) : "");
    if (!std::isfinite(got[i]) || !std::isfinite(wanted[i]) || bound == HUGE_VAL) continue;
    comparison.worst = std::max(comparison.worst, error / format.ulp(wanted[i]));
    if (bound <= 0) continue;
    comparison.worst_share = std::max(comparison.worst_share, error / bound);
    // Away from 0 counts as up, so that cutting off digits leans to one side.
    statistics.bias += std::copysign(1.0, wanted[i]) * (got[i] - wanted[i]) / bound;
    ++statistics.biased;
    if (expected.typical.empty()) continue;
    statistics.squares += error / expected.typical[i] * (error / expected.typical[i]);
    ++statistics.typical;
  }
  if (statistics.biased != 0)
    comparison.bias = statistics.bias / static_cast<double>(statistics.biased);
  if (statistics.typical < least_errors) return;
  const double root = std::sqrt(statistics.squares / static_cast<double>(statistics.typical));
  if (root <= usual_errors) return;
  comparison.why += fmt::format(
      "{}the errors of {} elements are on the whole {:.3g} times what rounding in the declared "
      "accumulator makes{}",
      comparison.ok ? "" : "; ", statistics.typical, root,
      comparison.ok ? " (rule: " + expected.rule + ")" : "");
  comparison.ok = false;
}

}  // namespace

Comparison compare(const std::vector<unsigned char>& bytes, const ExpectedTensor& expected) {
  Comparison comparison;
  std::size_t count = 1;
  for (const std::int64_t size : expected.shape) count *= static_cast<std::size_t>(size);
  comparison.of = count;
  if (bytes.size() != count * itemsize(expected.dtype)) {
    comparison.ok = false;
    comparison.why = fmt::format("{} bytes where {} elements of {} are expected", bytes.size(),
                                 count, name(expected.dtype));
    return comparison;
  }
  if (count == 0 || expected.only_shape) return comparison;
  Told told(comparison, expected);
  if (has_fractions(expected.dtype))
    compare_floats(bytes.data(), expected, count, comparison, told);
  else
    compare_integers(bytes.data(), expected, count, told);
  told.finish();
  return comparison;
}

}  // namespace bp::conform
