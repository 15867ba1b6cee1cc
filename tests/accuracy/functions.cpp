#include "functions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <quadmath.h>
#include <string_view>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensors.hpp>

#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "truth.hpp"

namespace bp::accuracy {
namespace {

using Bytes = std::vector<unsigned char>;
using Columns = std::vector<Column<double>>;

constexpr std::uint64_t block = 1 << 14;

// splitmix64's last step: neighbours become numbers that look random.
std::uint64_t mixed(std::uint64_t i) {
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
  return i ^ (i >> 31);
}

struct Layout {
  int bits, fraction, bias;
};
Layout layout_of(Dtype dtype) {
  const conform::FloatingFormat format = conform::format_of(dtype);
  return {static_cast<int>(itemsize(dtype)) * 8, format.digits - 1, format.highest_exponent};
}

// The same sign and fraction, with an exponent from -6 to 6.
std::uint64_t near_one(std::uint64_t pattern, Layout layout) {
  const int exponent_bits = layout.bits - 1 - layout.fraction;
  const std::uint64_t mask = ((std::uint64_t{1} << exponent_bits) - 1) << layout.fraction;
  const auto exponent = static_cast<std::uint64_t>(layout.bias - 6) + mixed(pattern) % 13;
  return (pattern & ~mask) | exponent << layout.fraction;
}

// `count` of the `all` inputs of one tensor, from `begin` on: all patterns in steps of equal size with a random part, or,
// of several tensors and of f64, random ones, every second with a moderate exponent.
template <class Bits>
Bytes patterns_of(std::uint64_t begin, std::uint64_t count, std::uint64_t all, std::size_t tensor,
                  std::size_t tensors, Layout layout) {
  Bytes bytes(count * sizeof(Bits));
  const bool is_even_spread = tensors == 1 && layout.bits < 64;
  const std::uint64_t step =
      is_even_spread ? std::max<std::uint64_t>((std::uint64_t{1} << layout.bits) / all, 1) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = begin + i;
    Bits bits;
    if (is_even_spread) {
      bits = static_cast<Bits>(at * step + mixed(at) % step);
    } else {
      const std::uint64_t random =
          mixed(mixed(at + 1) + 0x9e3779b97f4a7c15u * (tensor + 1)) >> (64 - layout.bits);
      bits = static_cast<Bits>(at % 2 == 0 ? random : near_one(random, layout));
    }
    std::memcpy(&bytes[i * sizeof(Bits)], &bits, sizeof(Bits));
  }
  return bytes;
}

Bytes patterns(std::uint64_t begin, std::uint64_t count, std::uint64_t all, std::size_t tensor,
               std::size_t tensors, Dtype dtype) {
  const Layout layout = layout_of(dtype);
  if (layout.bits == 16)
    return patterns_of<std::uint16_t>(begin, count, all, tensor, tensors, layout);
  if (layout.bits == 32)
    return patterns_of<std::uint32_t>(begin, count, all, tensor, tensors, layout);
  return patterns_of<std::uint64_t>(begin, count, all, tensor, tensors, layout);
}

// The row's call with all arguments but the tensors at their defaults.
conform::Problem problem_of(Operator& op) {
  conform::Problem problem;
  problem.op = &op;
  int tensors = 0;
  for (const SchemaArgument& argument : op.schema->arguments) {
    conform::Argument& out = problem.arguments.emplace_back();
    out.value = argument.default_value;
    if (argument.type != ArgumentType::tensor) continue;
    out.value.tag = BP_TENSOR;
    out.tensors = {tensors++};
  }
  problem.tensors.resize(static_cast<std::size_t>(tensors));
  return problem;
}

void lay(conform::Problem& problem, Dtype dtype, std::uint64_t count,
         const std::vector<Bytes>& inputs) {
  const auto size = static_cast<std::int64_t>(count);
  for (std::size_t t = 0; t < inputs.size(); ++t)
    problem.tensors[t] = {dtype, {size}, {1}, 0, inputs[t]};
}

Bytes results_of(const conform::Problem& problem, Device device) {
  std::vector<Tensor> tensors;
  for (const conform::Laid& laid : problem.tensors) {
    const Tensor host = empty(laid.shape, laid.dtype, host_device());
    std::memcpy(host.data_ptr(), laid.storage.data(), laid.storage.size());
    tensors.push_back(to(host, device));
  }
  const Tensor result = to(conform::call_row(problem, tensors, {})[0], host_device());
  const auto* bytes = static_cast<const unsigned char*>(result.data_ptr());
  return Bytes(bytes, bytes + result.nbytes());
}

Columns widened(const conform::Problem& problem) {
  Columns columns;
  for (const conform::Laid& laid : problem.tensors)
    columns.push_back(conform::to_doubles(laid.storage.data(),
                                          static_cast<std::size_t>(laid.shape[0]), laid.dtype));
  return columns;
}

// A number type's 2 to the power of `exponent`.
double power_of_two(double, int exponent) {
  return std::ldexp(1.0, exponent);
}
Quad power_of_two(Quad, int exponent) {
  return scalbnq(1, exponent);
}

// The distance from the truth in units of the last place there. What is beyond the largest number counts as one step
// further, as in the suite; a NaN on one side only is an error without end.
template <class T> class Ruler {
 public:
  explicit Ruler(const conform::FloatingFormat& format)
      : edge_(power_of_two(T(), format.highest_exponent + 1)),
        largest_(std::ldexp(1.0, format.highest_exponent)),
        of_one_(std::ldexp(1.0, 1 - format.digits)), smallest_(format.smallest()),
        smallest_normal_(format.smallest_normal()) {}

  double ulps(double got, T truth) const {
    const double distance = error(got, truth);
    return distance == 0 ? 0 : distance / ulp_at(std::fabs(static_cast<double>(in_range(truth))));
  }
  double error(double got, T truth) const {
    if (got != got || truth != truth) return (got != got) == (truth != truth) ? 0 : HUGE_VAL;
    const T distance = in_range(got) - in_range(truth);
    if (distance != distance) return 0;  // infinite, both
    return static_cast<double>(distance < 0 ? -distance : distance);
  }

 private:
  T in_range(T value) const { return value > edge_ ? edge_ : value < -edge_ ? -edge_ : value; }

  // conform::FloatingFormat::ulp, by bits: it is asked 2^28 times for each row.
  double ulp_at(double size) const {
    if (size < smallest_normal_) return smallest_;
    constexpr std::uint64_t exponent = 0x7ff0000000000000u;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(std::min(size, largest_)) &
                                 exponent) *
           of_one_;
  }

  T edge_;
  double largest_, of_one_, smallest_, smallest_normal_;
};

// The worst inputs of each class: of one tensor's numbers a binade, of several tensors' all that have the same exponents
// in steps of eight.
class Candidates {
 public:
  explicit Candidates(Dtype dtype)
      : in_double_(conform::format_of(dtype)), in_quad_(conform::format_of(dtype)),
        worst_(classes) {}

  void look_at(const conform::Problem& problem, const Bytes& results, Dtype dtype) {
    const Columns inputs = widened(problem);
    const Column<double> got = conform::to_doubles(results.data(), inputs[0].size(), dtype);
    if (dtype == f64)
      compare(problem, inputs, got, truth<Quad>(problem, inputs), in_quad_);
    else
      compare(problem, inputs, got, truth<double>(problem, inputs), in_double_);
  }

  // The inputs found, tensor by tensor.
  std::vector<Bytes> inputs(std::size_t tensors) const {
    std::vector<Bytes> all(tensors);
    for (const Found& found : worst_)
      for (std::size_t t = 0; t < found.bytes.size(); ++t)
        all[t].insert(all[t].end(), found.bytes[t].begin(), found.bytes[t].end());
    return all;
  }

 private:
  static constexpr std::size_t classes = 4096;
  struct Found {
    double error = 0.5;
    std::vector<Bytes> bytes;
  };

  template <class T>
  void compare(const conform::Problem& problem, const Columns& inputs, const Column<double>& got,
               const Column<T>& wanted, const Ruler<T>& ruler) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = ruler.ulps(got[i], wanted[i]);
      if (!(error > 0.5)) continue;
      Found& found = worst_[class_of(inputs, i)];
      if (error > found.error) found = {error, bytes_at(problem, i)};
    }
  }

  static std::size_t class_of(const Columns& inputs, std::size_t i) {
    std::uint64_t key = 0;
    for (const Column<double>& column : inputs) {
      const std::uint64_t sign_and_exponent = std::bit_cast<std::uint64_t>(column[i]) >> 52;
      if (inputs.size() == 1) return sign_and_exponent;
      key = mixed(key + (sign_and_exponent >> 3));
    }
    return key % classes;
  }

  static std::vector<Bytes> bytes_at(const conform::Problem& problem, std::size_t i) {
    std::vector<Bytes> all;
    for (const conform::Laid& laid : problem.tensors) {
      const auto* at = laid.storage.data() + i * itemsize(laid.dtype);
      all.emplace_back(at, at + itemsize(laid.dtype));
    }
    return all;
  }

  Ruler<double> in_double_;
  Ruler<Quad> in_quad_;
  std::vector<Found> worst_;
};

// The largest error among the candidates by __float128, absolutely and as a share of the suite's bound for that element.
void confirm(conform::Problem& problem, const Candidates& candidates, Dtype dtype, Device device,
             Worst& worst) {
  const std::vector<Bytes> found = candidates.inputs(problem.tensors.size());
  const std::size_t count = found[0].size() / itemsize(dtype);
  if (count == 0) return;
  lay(problem, dtype, count, found);
  const Bytes results = results_of(problem, device);
  const Columns inputs = widened(problem);
  const Column<double> got = conform::to_doubles(results.data(), count, dtype);
  const Column<Quad> wanted = truth<Quad>(problem, inputs);
  const Ruler<Quad> ruler(conform::format_of(dtype));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = ruler.ulps(got[i], wanted[i]);
    if (error <= worst.ulp) continue;
    worst.ulp = error;
    worst.inputs.clear();
    for (const Column<double>& column : inputs) worst.inputs.push_back(column[i]);
  }
  conform::Case one;
  one.op = problem.op->name();
  one.dtype = dtype;
  one.values = "finite";
  const conform::Expected expected = conform::expect(problem, one, {}, false);
  const std::vector<double>& bounds = expected.results.at(0).bound;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = ruler.error(got[i], wanted[i]) / bounds.at(i);
    if (share <= worst.share || !(bounds[i] < HUGE_VAL)) continue;
    worst.share = share;
    if (share <= 1) continue;
    worst.wrong = fmt::format("{} for {}, where the suite allows an error of {}", got[i],
                              static_cast<double>(wanted[i]), bounds[i]);
  }
}

std::uint64_t inputs_to_try(Dtype dtype, std::size_t tensors, const Extent& extent) {
  if (tensors > 1) return dtype == f64 ? std::min(extent.f64, extent.several) : extent.several;
  if (dtype == f64) return extent.f64;
  return dtype == f32 ? extent.f32 : 1 << 16;
}

}  // namespace

std::vector<Operator*> rounding_rows() {
  ensure_operators();
  std::vector<Operator*> rows;
  for (Operator* op : registered_operators()) {
    const bool rounds = op->kind == BP_KIND_POINTWISE && op->num_nodes != 0 &&
                        std::string_view(op->tolerance) != "exact" && contains(op->dtypes, f32);
    if (rounds && find_row_facts(op->name())) rows.push_back(op);
  }
  return rows;
}

Worst measure(Operator& op, Dtype dtype, Device device, const Extent& extent) {
  conform::Problem problem = problem_of(op);
  const std::size_t tensors = problem.tensors.size();
  Worst worst;
  worst.num_inputs = inputs_to_try(dtype, tensors, extent);
  Candidates candidates(dtype);
  for (std::uint64_t begin = 0; begin < worst.num_inputs; begin += block) {
    const std::uint64_t count = std::min(block, worst.num_inputs - begin);
    std::vector<Bytes> inputs;
    for (std::size_t t = 0; t < tensors; ++t)
      inputs.push_back(patterns(begin, count, worst.num_inputs, t, tensors, dtype));
    lay(problem, dtype, count, inputs);
    candidates.look_at(problem, results_of(problem, device), dtype);
  }
  confirm(problem, candidates, dtype, device, worst);
  return worst;
}

}  // namespace bp::accuracy
