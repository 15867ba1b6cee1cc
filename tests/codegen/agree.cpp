#include "codegen/agree.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensor/float_formats.hpp>

namespace bp::test {
namespace {

// An element, or one part of a complex one, as its own type's number and, for floats, its place in the
// order of all numbers of the type: neighbours are 1 apart.
struct Element {
  double number = 0;
  std::int64_t bits = 0;
  bool is_nan = false;
  bool is_floating = false;

  // How many numbers of the type lie between: exact, which a difference of doubles is not for f64.
  std::uint64_t apart(const Element& other) const {
    const auto [low, high] = std::minmax(bits, other.bits);
    return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  }
};

Element floating(double number, std::uint64_t code, int bits) {
  Element element;
  element.number = number;
  element.is_floating = true;
  element.is_nan = std::isnan(number);
  const std::uint64_t magnitude = code & ~(std::uint64_t{1} << (bits - 1));
  const auto place = static_cast<std::int64_t>(magnitude);
  element.bits = code >> (bits - 1) & 1 ? -place : place;
  return element;
}

template <class T> T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Element integral(std::int64_t value) {
  Element element;
  element.bits = value;
  element.number = static_cast<double>(value);
  return element;
}

Element element_of(const unsigned char* bytes, Dtype dtype) {
  switch (dtype) {
    case f32: {
      const float value = read<float>(bytes);
      return floating(value, std::bit_cast<std::uint32_t>(value), 32);
    }
    case f64: {
      const double value = read<double>(bytes);
      return floating(value, std::bit_cast<std::uint64_t>(value), 64);
    }
    case f16:
      return floating(f16_to_float(read<std::uint16_t>(bytes)), read<std::uint16_t>(bytes), 16);
    case bf16:
      return floating(bf16_to_float(read<std::uint16_t>(bytes)), read<std::uint16_t>(bytes), 16);
    case f8_e4m3fn: return floating(f8_e4m3fn_to_float(*bytes), *bytes, 8);
    case f8_e5m2: return floating(f8_e5m2_to_float(*bytes), *bytes, 8);
    case i8: return integral(read<std::int8_t>(bytes));
    case i16: return integral(read<std::int16_t>(bytes));
    case i32: return integral(read<std::int32_t>(bytes));
    case u16: return integral(read<std::uint16_t>(bytes));
    case u32: return integral(read<std::uint32_t>(bytes));
    case i64:
    case u64: return integral(read<std::int64_t>(bytes));
    default: return integral(*bytes);
  }
}

std::string text_of(const Element& element) {
  return element.is_floating ? fmt::format("{:.17g}", element.number)
                             : fmt::format("{}", element.bits);
}

// Of sums of a few thousand terms in any order, against the largest result.
bool within_accumulation(const Element& actual, const Element& expected, double largest,
                         double epsilon, double units) {
  const double bound = units * epsilon * std::max({largest, std::abs(expected.number), epsilon});
  return std::abs(actual.number - expected.number) <= bound || actual.apart(expected) <= 1;
}

struct Tolerance {
  bool is_shape = false, is_accumulation = false;
  double accumulated = 64;  // units of the largest result's last place
  std::int64_t ulp = 0;     // 0: exact
  std::int64_t units = 0;   // of the largest result's last place
};

Tolerance read_tolerance(std::string_view text) {
  Tolerance tolerance;
  tolerance.is_shape = text == "shape";
  if (text == "conditioned") {
    tolerance.accumulated = 256;
    text = "accumulation";
  }
  tolerance.is_accumulation = text == "accumulation";
  if (text.ends_with(" ulp"))
    std::from_chars(text.data(), text.data() + text.size(), tolerance.ulp);
  if (text.ends_with(" units of the largest"))
    std::from_chars(text.data(), text.data() + text.size(), tolerance.units);
  return tolerance;
}

// How far the numbers next to 1 are from it.
double unit_of(Dtype dtype) {
  if (dtype == f16) return 0x1p-10;
  if (dtype == bf16) return 0x1p-7;
  return dtype == f64 ? 0x1p-52 : 0x1p-23;
}

struct Bytes {
  std::vector<unsigned char> data;
  Dtype part;  // of complex elements
  std::size_t step = 0, count = 0;

  Element at(std::size_t i) const { return element_of(data.data() + i * step, part); }
};

Bytes bytes_of(const Tensor& a) {
  Bytes bytes{std::vector<unsigned char>(a.nbytes()), a.dtype(), itemsize(a.dtype()), 0};
  if (a.numel()) copy_to_host_memory(make_contiguous(a), bytes.data.data());
  if (is_complex(a.dtype())) {
    bytes.part = a.dtype() == complex64 ? f32 : f64;
    bytes.step /= 2;
  }
  bytes.count = bytes.data.size() / bytes.step;
  return bytes;
}

double largest_of(const Bytes& bytes) {
  double largest = 0;
  for (std::size_t i = 0; i < bytes.count; ++i)
    if (const double size = std::abs(bytes.at(i).number); std::isfinite(size))
      largest = std::max(largest, size);
  return largest;
}

bool agrees(const Element& actual, const Element& expected, const Tolerance& tolerance,
            double largest, double epsilon, bool signs_count) {
  if (actual.is_nan || expected.is_nan) return actual.is_nan == expected.is_nan;
  if (actual.bits == expected.bits)
    return !signs_count || actual.bits != 0 ||
           std::signbit(actual.number) == std::signbit(expected.number);
  if (!actual.is_floating || std::isinf(actual.number) != std::isinf(expected.number)) return false;
  if (tolerance.is_accumulation)
    return within_accumulation(actual, expected, largest, epsilon, tolerance.accumulated);
  if (tolerance.units)
    return std::abs(actual.number - expected.number) <=
           static_cast<double>(tolerance.units) * epsilon * largest;
  return actual.apart(expected) <= static_cast<std::uint64_t>(tolerance.ulp);
}

std::vector<Tensor> try_call(Operator& op, const Sample& sample, const std::string& what) {
  try {
    return call_boxed(op, sample.args);
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
    return {};
  }
}

void expect_sample_agrees(Operator& op, Dtype dtype, std::string_view device_name,
                          std::string_view tolerance, const Sample& on_host,
                          const Sample& on_device) {
  const std::string what =
      fmt::format("{} {} '{}' on {}", op.name(), name(dtype), on_host.recipe, device_name);
  const std::vector<Tensor> expected = try_call(op, on_host, what + " (cpu)");
  std::vector<Tensor> actual;
  expect_stays_on(device_name, what, [&] { actual = try_call(op, on_device, what); });
  if (expected.empty() || actual.empty()) return;
  const bool signs_count = op.kind == BP_KIND_POINTWISE || op.kind == BP_KIND_COPY;
  ASSERT_EQ(actual.size(), expected.size()) << what;
  // Vectors of values that lie near each other magnify what either side rounds, in the order of its processor.
  if (std::string_view(op.name()).starts_with("linalg_") && tolerance == "accumulation")
    tolerance = "conditioned";
  for (std::size_t i = 0; i < actual.size(); ++i)
    expect_agrees(actual[i], expected[i], tolerance, what, signs_count);
}

}  // namespace

bool has_device(std::string_view name) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // OpenCL's compiler runs in this process and takes minutes there; reference_compiler runs the same texts.
  if (name.starts_with("opencl") || name.starts_with("level_zero")) return false;
#endif
  try {
    device(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void expect_agrees(const Tensor& actual, const Tensor& expected, std::string_view tolerance_text,
                   const std::string& what, bool signs_count) {
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << what;
  ASSERT_EQ(name(actual.dtype()), name(expected.dtype())) << what;
  Tolerance tolerance = read_tolerance(tolerance_text);
  if (tolerance.is_shape) return;
  const Bytes a = bytes_of(actual), b = bytes_of(expected);
  // Of 16 bits came a wider result, as transforms have it.
  if (tolerance.units && b.part != f16 && b.part != bf16)
    tolerance = read_tolerance("accumulation");
  const double largest = tolerance.is_accumulation || tolerance.units ? largest_of(b) : 0;
  // Kernels accumulate 16 bits in f32.
  const double epsilon = tolerance.units || b.part == f64 ? unit_of(b.part) : unit_of(f32);
  std::size_t failures = 0;
  for (std::size_t i = 0; i < b.count; ++i) {
    const Element x = a.at(i), y = b.at(i);
    if (agrees(x, y, tolerance, largest, epsilon, signs_count)) continue;
    if (++failures <= 3)
      ADD_FAILURE() << what << ", element " << i << ": " << text_of(x) << ", on cpu " << text_of(y)
                    << " (tolerance: " << tolerance_text << ")";
  }
  if (failures > 3) ADD_FAILURE() << what << ": " << failures << " of " << b.count << " differ";
}

void expect_row_agrees(std::string_view op_name, std::string_view device_name,
                       std::span<const Dtype> dtypes, std::string_view tolerance) {
  setenv("BACKPLANE_CACHE_BYTES", "0", 0);  // OpenCL's binaries take as long to make as the kernels
  ensure_operators();
  Operator* op = find_operator(op_name);
  ASSERT_TRUE(op) << op_name;
  const Device on = device(device_name);
  std::vector<Dtype> tried;
  for (Dtype dtype : dtypes)
    if (contains(op->dtypes, dtype)) tried.push_back(dtype);
  if (tried.empty() && !dtypes.empty()) tried.push_back(dtypes.front());
  for (Dtype dtype : tried) {
    const std::vector<Sample> host = samples_of(*op, dtype, host_device());
    const std::vector<Sample> samples = samples_of(*op, dtype, on);
    ASSERT_FALSE(samples.empty()) << op_name << ": no samples";
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (getenv("BP_SMALL_SAMPLES") && samples[i].recipe == "several_tiles") continue;
      expect_sample_agrees(*op, dtype, device_name,
                           tolerance.empty() ? std::string_view(op->tolerance) : tolerance, host[i],
                           samples[i]);
    }
  }
}

namespace {

// Of 16 bits: cpu rounds to them once and a decomposition at every step, so that where it takes one number from
// another of about its size, the units of the larger ones remain.
constexpr std::string_view two_units = "2 units of the largest";

// Where a decomposition cannot be as close to cpu as the row's tolerance says.
struct Looser {
  std::string_view row;
  DtypeSet dtypes;
  std::string_view tolerance;
};
constexpr Looser looser[] = {
    // cpu and the decomposition are each within 2 units of the definition; a mean may cancel.
    {"randn_philox", set_of(f64), "4 ulp"},
    {"randn", set_of(f64), "4 ulp"},
    {"normal", set_of(f64), "accumulation"},
    // Beyond the largest number, which parts are infinite and which NaN is a matter of order.
    {"prod", set_of(complex64), "shape"},
    // Its statistics are of f32, and a mean of both signs cancels; the result is rounded to 16 bits once.
    {"native_layer_norm", set_of(f16, bf16), "accumulation"},
    // Sums in another order, below a logarithm.
    {"log_softmax", set_of(f32), "accumulation"},
    {"log_softmax", set_of(f16, bf16), two_units},
};

}  // namespace

std::string_view tolerance_of_parts(const Operator& op, Dtype dtype) {
  for (const Looser& each : looser)
    if (each.row == op.name() && contains(each.dtypes, dtype)) return each.tolerance;
  const std::string_view usual = op.tolerance;
  const bool is_rounded_often = !(op.flags & BP_OP_PRIMITIVE) && contains(set_of(f16, bf16), dtype);
  return is_rounded_often && usual == "accumulation" ? two_units : usual;
}

std::vector<const Operator*> rows_of_kind(std::uint32_t kind) {
  ensure_operators();
  std::vector<const Operator*> found;
  for (const Operator* op : registered_operators())
    if (op->kind == kind && !op->is_view() && find_row_facts(op->name())) found.push_back(op);
  return found;
}

std::string detail::calls_off_the_device(std::string_view device_name) {
  const std::string_view backend = device_name.substr(0, device_name.find(':'));
  std::string text;
  for (const CallCount& count : call_counts()) {
    if (count.backend != backend) continue;
    for (Rung rung : {Rung::host, Rung::none})
      if (const auto calls = count.calls[static_cast<int>(rung)])
        text += fmt::format("{}: {} times {}; ", count.op, calls, name(rung));
  }
  return text;
}

}  // namespace bp::test
