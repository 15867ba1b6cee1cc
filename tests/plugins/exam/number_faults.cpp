// Faults that show for few numbers: those that nobody draws by chance.
#include <cmath>
#include <cstring>

#include "element.hpp"
#include "faults.hpp"
#include "lines.hpp"

namespace exam {
namespace {

using reference::BFloat16;
using reference::Half;

bool is_small(const bp_tensor& tensor) {
  return tensor.dtype == BP_F16 || tensor.dtype == BP_BF16;
}

double rounded_as(const bp_tensor& tensor, double value) {
  const auto number = static_cast<float>(value);
  return tensor.dtype == BP_F16 ? static_cast<float>(Half(number))
                                : static_cast<float>(BFloat16(number));
}

// ---- Indices

// Indices of a gather, each put through `change`.
template <class Change>
bp_code with_indices(const bp_kernel& inner, const bp_call& call, Change change) {
  if (!is_row(call, "gather")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& index = *changed.tensor(2);
  const auto size = static_cast<double>(call.args[0].u.tensor->dl.shape[call.args[1].u.i]);
  changed.repack(index);
  for (int64_t i = 0; i < index.numel; ++i) set_number(index, i, change(number_at(index, i), size));
  return run(inner, changed.call());
}

bp_code last_index_taken(const bp_kernel& inner, const bp_call& call) {
  return with_indices(inner, call,
                      [](double index, double size) { return index == -1 ? size - 1 : index; });
}
bp_code first_from_the_end_taken(const bp_kernel& inner, const bp_call& call) {
  return with_indices(inner, call,
                      [](double index, double size) { return index == -size ? 0 : index; });
}
bp_code indices_wrap(const bp_kernel& inner, const bp_call& call) {
  return with_indices(inner, call, [](double index, double size) {
    return index < 0 && index >= -size ? index + size : index;
  });
}

// ---- Numbers beside the tensors

bp_code alpha_is_one(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "add") || call.num_args < 3) return run(inner, call);
  ChangedCall changed(call);
  changed.value(2).tag = BP_INT;
  changed.value(2).u.i = 1;
  return run(inner, changed.call());
}

// ---- Sums in 16 bits, only where they are long

bp_code long_sum_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "sum") || !is_small(out) || call.args[1].aux != 1) return code;
  const bp_tensor& a = *call.args[0].u.tensor;
  int64_t result = 0;
  each_line(a, *static_cast<const int64_t*>(call.args[1].u.ptr), [&](const Line& line) {
    double total = 0;
    for (int64_t k = 0; k < line.size; ++k)
      total = rounded_as(out, total + number_at(a, line.place(k)));
    if (line.size > 2000) set_number(out, result, total);
    ++result;
  });
  return code;
}

bp_code long_product_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "bmm") || !is_small(out)) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &b = *call.args[1].u.tensor;
  const int64_t rows = out.dl.shape[1], columns = out.dl.shape[2], terms = a.dl.shape[2];
  for (int64_t i = 0; terms > 2000 && i < out.numel; ++i) {
    const int64_t row = i / columns, batch = row / rows;
    double total = 0;
    for (int64_t k = 0; k < terms; ++k)
      total =
          rounded_as(out, total + number_at(a, row * terms + k) *
                                      number_at(b, (batch * terms + k) * columns + i % columns));
    set_number(out, i, total);
  }
  return code;
}

// ---- Zeros, single elements

bp_code sum_of_negative_zeros(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "add") || !is_floating(out)) return code;
  for (int64_t i = 0; i < out.numel; ++i)
    if (number_at(out, i) == 0) set_number(out, i, 0.0);
  return code;
}

// A dimension of one element is taken for an empty one.
bp_code sum_of_one_is_zero(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sum") || call.args[1].aux != 1) return code;
  const bp_tensor& a = *call.args[0].u.tensor;
  if (a.dl.ndim < 2 || a.dl.shape[*static_cast<const int64_t*>(call.args[1].u.ptr)] != 1)
    return code;
  for (int64_t i = 0; i < call.outputs[0]->numel; ++i)
    std::memset(element(*call.outputs[0], i), 0, call.outputs[0]->itemsize);
  return code;
}

// The maximum of one element is compared with the lowest number all the same, which drops NaN.
bp_code max_of_one_drops_nan(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "max") || !is_floating(out) ||
      out.numel != call.args[0].u.tensor->numel)
    return code;
  for (int64_t i = 0; i < out.numel; ++i)
    if (std::isnan(number_at(out, i))) set_number(out, i, -HUGE_VAL);
  return code;
}

// ---- Powers and exponentials

template <class Power>
bp_code with_powers(const bp_kernel& inner, const bp_call& call, Power power) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  const bool is_of_tensors = is_row(call, "pow") && call.args[0].tag == BP_TENSOR &&
                             call.args[1].tag == BP_TENSOR && out.dtype == BP_F32;
  if (code != BP_OK || !is_of_tensors) return code;
  for (int64_t i = 0; i < out.numel; ++i) {
    const auto a = static_cast<float>(number_at(*call.args[0].u.tensor, i)),
               b = static_cast<float>(number_at(*call.args[1].u.tensor, i));
    set_number(out, i, power(a, b, number_at(out, i)));
  }
  return code;
}

bp_code pow_by_multiplication(const bp_kernel& inner, const bp_call& call) {
  return with_powers(inner, call, [](float a, float b, double right) -> double {
    if (b != std::trunc(b) || std::fabs(b) > 1e6f) return right;
    float power = 1;
    for (int i = 0; i < static_cast<int>(std::fabs(b)); ++i) power *= a;
    return b < 0 ? 1 / power : power;
  });
}

bp_code pow_by_logarithm(const bp_kernel& inner, const bp_call& call) {
  return with_powers(inner, call, [](float a, float b, double right) -> double {
    return a > 0 && std::isfinite(right) ? std::exp2(b * std::log2(a)) : right;
  });
}

bp_code exp_flushes(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "exp") || out.dtype != BP_F32) return code;
  for (int64_t i = 0; i < out.numel; ++i)
    if (number_at(out, i) < 0x1p-126) set_number(out, i, 0);
  return code;
}

// ---- Extremes, and numbers that seem to be none

// The running maximum begins with the lowest finite number.
bp_code max_begins_finite(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "max") || out.dtype != BP_F32) return code;
  for (int64_t i = 0; i < out.numel; ++i)
    if (number_at(out, i) == -INFINITY) set_number(out, i, -0x1.fffffep127);
  return code;
}

// The last of a line is compared only by which is larger.
bp_code last_nan_is_missed(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "argmax") || call.args[1].tag != BP_INT) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &out = *call.outputs[0];
  int64_t result = 0;
  each_line(a, call.args[1].u.i, [&](const Line& line) {
    if (static_cast<int64_t>(number_at(out, result)) == line.size - 1 && line.size > 1 &&
        std::isnan(number_at(a, line.place(line.size - 1))))
      set_number(out, result, 0);
    ++result;
  });
  return code;
}

// ---- Casts

// Of casts between these dtypes, each result is what `convert` makes of the element.
template <class Convert>
bp_code with_cast(const bp_kernel& inner, const bp_call& call, uint32_t from, uint32_t to,
                  Convert convert) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "cast")) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &out = *call.outputs[0];
  if (a.dtype != from || out.dtype != to) return code;
  for (int64_t i = 0; i < out.numel; ++i) convert(element(a, i), out, i);
  return code;
}
template <class T> T raw(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bp_code cast_half_through_float(const bp_kernel& inner, const bp_call& call) {
  return with_cast(
      inner, call, BP_F64, BP_F16, [](const uint8_t* at, const bp_tensor& out, int64_t i) {
        set_number(out, i, static_cast<float>(Half(static_cast<float>(raw<double>(at)))));
      });
}
bp_code cast_bfloat_through_float(const bp_kernel& inner, const bp_call& call) {
  return with_cast(
      inner, call, BP_F64, BP_BF16, [](const uint8_t* at, const bp_tensor& out, int64_t i) {
        set_number(out, i, static_cast<float>(BFloat16(static_cast<float>(raw<double>(at)))));
      });
}
bp_code cast_long_through_double(const bp_kernel& inner, const bp_call& call) {
  return with_cast(inner, call, BP_I64, BP_F32,
                   [](const uint8_t* at, const bp_tensor& out, int64_t i) {
                     set_number(out, i, static_cast<float>(static_cast<double>(raw<int64_t>(at))));
                   });
}
bp_code cast_long_truncates(const bp_kernel& inner, const bp_call& call) {
  return with_cast(inner, call, BP_I64, BP_F64,
                   [](const uint8_t* at, const bp_tensor& out, int64_t i) {
                     const auto value = raw<int64_t>(at);
                     if (std::abs(value) >= int64_t{1} << 53)
                       set_number(out, i, static_cast<double>(value & ~int64_t{1}));
                   });
}
// float32 to bfloat16 by dropping 16 bits.
bp_code cast_bfloat_truncates(const bp_kernel& inner, const bp_call& call) {
  return with_cast(inner, call, BP_F32, BP_BF16,
                   [](const uint8_t* at, const bp_tensor& out, int64_t i) {
                     if (std::isnan(raw<float>(at))) return;
                     std::memcpy(element(out, i), at + 2, 2);
                   });
}
// Half way between two it takes the larger one, not the even one.
bp_code cast_half_ties_up(const bp_kernel& inner, const bp_call& call) {
  return with_cast(
      inner, call, BP_F32, BP_F16, [](const uint8_t* at, const bp_tensor& out, int64_t i) {
        const double value = std::fabs(raw<float>(at)), got = std::fabs(number_at(out, i));
        const double next = got + std::ldexp(1.0, std::max(std::ilogb(got), -14) - 10);
        if (got != 0 && next < 65536 && value - got == next - value) *element(out, i) += 1;
      });
}
bp_code cast_int_truncates(const bp_kernel& inner, const bp_call& call) {
  return with_cast(inner, call, BP_I32, BP_F32,
                   [](const uint8_t* at, const bp_tensor& out, int64_t i) {
                     const auto value = static_cast<double>(raw<int32_t>(at));
                     if (std::fabs(number_at(out, i)) > std::fabs(value)) *element(out, i) -= 1;
                   });
}

// Only the low 32 bits of an integer decide whether it is true.
bp_code cast_high_bits_are_false(const bp_kernel& inner, const bp_call& call) {
  return with_cast(inner, call, BP_I64, BP_BOOL,
                   [](const uint8_t* at, const bp_tensor& out, int64_t i) {
                     *element(out, i) = raw<int32_t>(at) != 0;
                   });
}

}  // namespace

const std::vector<KernelFault> number_faults = {
    {"last_index_taken", last_index_taken},
    {"first_from_the_end_taken", first_from_the_end_taken},
    {"indices_wrap", indices_wrap},
    {"alpha_is_one", alpha_is_one},
    {"long_sum_in_16_bits", long_sum_in_16_bits},
    {"long_product_in_16_bits", long_product_in_16_bits},
    {"sum_of_negative_zeros", sum_of_negative_zeros},
    {"sum_of_one_is_zero", sum_of_one_is_zero},
    {"max_of_one_drops_nan", max_of_one_drops_nan},
    {"pow_by_multiplication", pow_by_multiplication},
    {"pow_by_logarithm", pow_by_logarithm},
    {"exp_flushes", exp_flushes},
    {"max_begins_finite", max_begins_finite},
    {"last_nan_is_missed", last_nan_is_missed},
    {"cast_half_through_float", cast_half_through_float},
    {"cast_bfloat_through_float", cast_bfloat_through_float},
    {"cast_long_through_double", cast_long_through_double},
    {"cast_long_truncates", cast_long_truncates},
    {"cast_bfloat_truncates", cast_bfloat_truncates},
    {"cast_half_ties_up", cast_half_ties_up},
    {"cast_int_truncates", cast_int_truncates},
    {"cast_high_bits_are_false", cast_high_bits_are_false},
};

}  // namespace exam
