#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string_view>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tracing/compare.hpp>

#include "elements.hpp"

namespace bp::tracing {
namespace {

// The distance from 1 to the next number, and the smallest normal one.
struct Format {
  double epsilon = 0, smallest = 0;
};
Format format_of(Dtype dtype) {
  switch (dtype) {
    case f16: return {0x1p-10, 0x1p-14};
    case bf16: return {0x1p-7, 0x1p-126};
    case f64:
    case complex128: return {0x1p-52, 0x1p-1022};
    case f8_e4m3fn: return {0x1p-3, 0x1p-6};
    case f8_e5m2: return {0x1p-2, 0x1p-14};
    default: return {0x1p-23, 0x1p-126};
  }
}

// More than one operation, so that what the first rounded off may be large beside the result.
bool rounds_several_times(const Operator& op) {
  int operations = 0;
  for (std::uint32_t i = 0; i < op.num_nodes; ++i)
    operations += op.nodes[i].code != BP_X_ARG && op.nodes[i].code != BP_X_CONST;
  return operations > 1;
}

// How far two right results may be from each other: so much of the number itself, and so much whatever it is.
class Bound {
 public:
  Bound(const SavedCall& saved, const Elements& wanted) : format_(format_of(wanted.dtype)) {
    const Operator* op = find_operator(saved.op);
    rule_ = op ? op->tolerance : "accumulation";
    if (rule_ == "exact" || rule_ == "shape" || !wanted.has_fractions()) {
      is_exact_ = true;
    } else if (rule_.ends_with(" ulp")) {
      double units = 0;
      std::from_chars(rule_.data(), rule_.data() + rule_.size(), units);
      // Each may be off by that much; on the next power of two units are twice as large.
      relative_ = (2 * units + 1) * format_.epsilon;
      absolute_ = format_.smallest;  // that a device may flush to 0
      if (op && rounds_several_times(*op)) absolute_ += 4 * format_.epsilon * product(saved);
    } else {
      set_accumulation(saved, wanted);
    }
  }

  std::string_view rule() const { return rule_; }
  bool is_shape() const { return rule_ == "shape"; }

  bool takes(double got, double wanted, double size) const {
    if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got);
    if (got == wanted) return true;
    if (is_exact_ || !std::isfinite(got) || !std::isfinite(wanted)) return false;
    return std::abs(got - wanted) <= absolute_ + relative_ * size;
  }

 private:
  // What the arguments can come to when they are multiplied.
  static double product(const SavedCall& saved) {
    const Magnitudes sizes = magnitudes_of(saved);
    return std::max({sizes.any, sizes.first * sizes.second, sizes.first * sizes.any});
  }

  // Sums of many terms in any order: against the largest result, and against what terms of the arguments' size come to,
  // since these may cancel.
  void set_accumulation(const SavedCall& saved, const Elements& wanted) {
    std::uint64_t terms = 1;
    for (const SavedArgument& argument : saved.args)
      for (const std::optional<SavedTensor>& tensor : argument.tensors) {
        if (!tensor) continue;
        std::uint64_t count = 1;
        for (std::int64_t size : tensor->shape) count *= static_cast<std::uint64_t>(size);
        terms = std::max(terms, count / std::max<std::uint64_t>(1, wanted.numbers.size()));
      }
    double inside = std::max(format_.epsilon, 0x1p-52);
    if (inside > 0x1p-23) inside = 0x1p-23;  // small types are accumulated in f32
    if (allow_tf32()) inside = std::max(inside, 0x1p-10);
    const double largest = wanted.largest();
    absolute_ =
        format_.smallest + 64 * inside * (largest + std::sqrt(double(terms)) * product(saved));
    // Intermediate results may be rounded to the result's type as well.
    if (format_.epsilon > 0x1p-23) absolute_ += 8 * format_.epsilon * largest;
    relative_ = 2 * format_.epsilon;
  }

  Format format_;
  std::string_view rule_;
  bool is_exact_ = false;
  double relative_ = 0, absolute_ = 0;
};

std::string place_text(std::size_t element, IntList shape) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[d]);
    place[d] = static_cast<std::int64_t>(element % size);
    element /= size;
  }
  return to_string(place);
}

bool agree(const Elements& got, const Elements& wanted, std::size_t element, const Bound& bound) {
  if (!wanted.has_fractions()) {
    const std::size_t size = itemsize(wanted.dtype), at = element * size;
    return std::equal(got.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      got.bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                      wanted.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  double size = 0;  // of a complex number, that of its larger part
  for (std::size_t p = 0; p < wanted.parts; ++p)
    size = std::max(size, std::abs(wanted.numbers[element * wanted.parts + p]));
  for (std::size_t p = 0; p < wanted.parts; ++p) {
    const std::size_t i = element * wanted.parts + p;
    if (!bound.takes(got.numbers[i], wanted.numbers[i], size)) return false;
  }
  return true;
}

std::optional<std::string> compare_one(const SavedCall& saved, std::size_t index, const Tensor& got,
                                       const Tensor& wanted) {
  const std::string which = saved.results.size() > 1 ? fmt::format(" of result {}", index) : "";
  if (!(got.shape() == wanted.shape()) || got.dtype() != wanted.dtype())
    return fmt::format("the result{} is {} {}, and {} {} on the host", which, name(got.dtype()),
                       to_string(got.shape()), name(wanted.dtype()), to_string(wanted.shape()));
  if (wanted.numel() == 0) return {};
  const Elements reference = elements_of(wanted);
  const Bound bound(saved, reference);
  if (bound.is_shape()) return {};
  const Elements elements = elements_of(got);
  const auto count = static_cast<std::size_t>(wanted.numel());
  std::size_t num_wrong = 0, first = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (!agree(elements, reference, i, bound) && num_wrong++ == 0) first = i;
  if (num_wrong == 0) return {};
  return fmt::format(
      "element {}{} is {}, and {} on the host ({} of {} elements differ by more than "
      "the row's tolerance, {})",
      place_text(first, wanted.shape()), which, elements.text(first), reference.text(first),
      num_wrong, count, bound.rule());
}

}  // namespace

std::optional<std::string> find_difference(const SavedCall& saved, const std::vector<Tensor>& got,
                                           const std::vector<Tensor>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (auto difference = compare_one(saved, i, got[i], wanted[i])) return difference;
  return {};
}

}  // namespace bp::tracing
