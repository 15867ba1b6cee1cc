// Faults that show for some values only.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "element.hpp"
#include "faults.hpp"

namespace exam {
namespace {

// After the correct kernel, every element of the first output goes through `change`.
template <class Change>
bp_code changed_after(const bp_kernel& inner, const bp_call& call, Change change) {
  const bp_code code = run(inner, call);
  if (code != BP_OK) return code;
  const bp_tensor& out = *call.outputs[0];
  for (int64_t i = 0; i < out.numel; ++i) {
    const double before = number_at(out, i), after = change(before, i);
    if (std::memcmp(&before, &after, sizeof before) != 0) set_number(out, i, after);
  }
  return code;
}

// The input at the place of the output: for rows of one argument of the output's shape.
bool is_unary(const bp_call& call) {
  return is_pointwise(call) && call.num_args == 1 && is_floating(*call.outputs[0]);
}

// Of an element of `a`, its place in the result of a reduction over these dimensions.
int64_t kept_place(const bp_tensor& a, int64_t place, const bp_value& dims) {
  int64_t kept = 0, step = 1;
  for (int32_t dim = a.dl.ndim - 1; dim >= 0; --dim) {
    const int64_t size = a.dl.shape[dim], at = place % size;
    place /= size;
    const auto* first = static_cast<const int64_t*>(dims.u.ptr);
    if (std::find(first, first + dims.aux, dim) != first + dims.aux) continue;
    kept += at * step;
    step *= size;
  }
  return kept;
}

// Sums of float16 are rounded to float16 at every step.
bp_code f16_sum(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "sum") || out.dtype != BP_F16) return code;
  const bp_tensor& a = *call.args[0].u.tensor;
  std::vector<reference::Half> totals(static_cast<size_t>(out.numel), reference::Half(0.0f));
  for (int64_t i = 0; i < a.numel; ++i) {
    reference::Half& total = totals[static_cast<size_t>(kept_place(a, i, call.args[1]))];
    total = reference::Half(total + static_cast<float>(number_at(a, i)));
  }
  for (int64_t i = 0; i < out.numel; ++i)
    set_number(out, i, static_cast<float>(totals[static_cast<size_t>(i)]));
  return code;
}

// float32 with 10 bits behind the point, as tensor cores read it.
float tf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000u) & ~0x1FFFu;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}
bp_code tf32_product(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm") || call.outputs[0]->dtype != BP_F32) return run(inner, call);
  ChangedCall changed(call);
  for (uint32_t arg : {0u, 1u}) {
    bp_tensor& tensor = *changed.tensor(arg);
    changed.repack(tensor);
    for (int64_t i = 0; i < tensor.numel; ++i)
      set_number(tensor, i, tf32(static_cast<float>(number_at(tensor, i))));
  }
  return run(inner, changed.call());
}

bp_code exp_off(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "exp")) return run(inner, call);
  return changed_after(inner, call, [](double value, int64_t) { return value * (1 + 1e-4); });
}

bp_code sin_without_reduction(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "sin") || call.outputs[0]->dtype != BP_F32) return run(inner, call);
  const bp_tensor& a = *call.args[0].u.tensor;
  return changed_after(inner, call, [&](double value, int64_t i) {
    const auto x = static_cast<float>(number_at(a, i));
    const float turns = std::nearbyint(x * 0.15915494f);
    return std::isfinite(x) && std::abs(x) > 100 ? std::sin(x - turns * 6.2831855f) : value;
  });
}

bp_code denormals_flushed(const bp_kernel& inner, const bp_call& call) {
  if (!is_pointwise(call) || call.outputs[0]->dtype != BP_F32) return run(inner, call);
  return changed_after(inner, call, [](double value, int64_t) {
    return std::abs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
  });
}

bp_code negative_zero_lost(const bp_kernel& inner, const bp_call& call) {
  if (!is_pointwise(call) || !is_floating(*call.outputs[0])) return run(inner, call);
  return changed_after(inner, call, [](double value, int64_t) { return value == 0 ? 0.0 : value; });
}

bp_code nan_dropped(const bp_kernel& inner, const bp_call& call) {
  const bool is_two =
      is_row(call, "maximum") && call.args[0].tag == BP_TENSOR && call.args[1].tag == BP_TENSOR;
  const bool is_all = is_row(call, "max") && call.outputs[0]->numel == 1;
  if ((!is_two && !is_all && !is_row(call, "relu")) || !is_floating(*call.outputs[0]))
    return run(inner, call);
  const bp_tensor& a = *call.args[0].u.tensor;
  return changed_after(inner, call, [&](double value, int64_t i) {
    if (!std::isnan(value)) return value;
    if (is_two) return std::fmax(number_at(a, i), number_at(*call.args[1].u.tensor, i));
    if (!is_all) return 0.0;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < a.numel; ++j) largest = std::fmax(largest, number_at(a, j));
    return largest;
  });
}

bp_code int64_as_double(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || out.dtype != BP_I64 || !(is_pointwise(call) || is_row(call, "sum")))
    return code;
  for (int64_t i = 0; i < out.numel; ++i) {
    int64_t value;
    std::memcpy(&value, element(out, i), sizeof value);
    const auto rounded = static_cast<double>(value);
    if (std::abs(rounded) < 0x1p62) value = static_cast<int64_t>(rounded);
    std::memcpy(element(out, i), &value, sizeof value);
  }
  return code;
}

bp_code index_clamped(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "gather")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& index = *changed.tensor(2);
  const auto size = static_cast<double>(call.args[0].u.tensor->dl.shape[call.args[1].u.i]);
  changed.repack(index);
  for (int64_t i = 0; i < index.numel; ++i)
    set_number(index, i, std::clamp(number_at(index, i), 0.0, size - 1));
  return run(inner, changed.call());
}

// Two additions to one place: the last one wins.
bp_code duplicates_lost(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "scatter_add") || call.outputs[0]->dl.ndim != 1) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &index = *call.args[2].u.tensor,
                  &src = *call.args[3].u.tensor;
  const bp_tensor& out = *call.outputs[0];
  for (int64_t i = 0; i < index.numel; ++i) {
    const auto place = static_cast<int64_t>(number_at(index, i));
    if (place >= 0 && place < out.numel)
      set_number(out, place, number_at(a, place) + number_at(src, i));
  }
  return code;
}

// sqrt by one step of a reciprocal's approximation too few.
bp_code sqrt_off(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "sqrt") || call.outputs[0]->dtype != BP_F32) return run(inner, call);
  return changed_after(inner, call, [](double value, int64_t i) {
    return i % 3 == 0 ? value * (1 + 0x1p-20) : value;
  });
}

// Conversion to integers rounds where it should cut off.
bp_code cast_rounds(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "cast") || !is_floating(*call.args[0].u.tensor) ||
      is_floating(*call.outputs[0]))
    return run(inner, call);
  const bp_tensor& a = *call.args[0].u.tensor;
  return changed_after(inner, call, [&](double value, int64_t i) {
    const double from = number_at(a, i);
    return std::abs(from) < 1e6 && call.outputs[0]->dtype != BP_BOOL ? std::nearbyint(from) : value;
  });
}

// Infinities are the largest number.
bp_code overflow_saturates(const bp_kernel& inner, const bp_call& call) {
  if (!is_unary(call) && !is_row(call, "mul")) return run(inner, call);
  if (call.outputs[0]->dtype != BP_F32) return run(inner, call);
  return changed_after(inner, call, [](double value, int64_t) {
    return std::isinf(value)
               ? std::copysign(static_cast<double>(std::numeric_limits<float>::max()), value)
               : value;
  });
}

// Ties of argmax: the last of several.
bp_code last_of_ties(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "argmax") || call.outputs[0]->numel != 1) return code;
  const bp_tensor& a = *call.args[0].u.tensor;
  const auto best = static_cast<int64_t>(number_at(*call.outputs[0], 0));
  for (int64_t i = best; i < a.numel; ++i)
    if (number_at(a, i) == number_at(a, best))
      set_number(*call.outputs[0], 0, static_cast<double>(i));
  return code;
}

// Equal keys come in any order.
bp_code unstable_sort(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sort") || call.outputs[0]->dl.ndim != 1) return code;
  const bp_tensor &values = *call.outputs[0], &places = *call.outputs[1];
  for (int64_t i = 0; i + 1 < values.numel; ++i)
    if (number_at(values, i) == number_at(values, i + 1)) {
      const double first = number_at(places, i);
      set_number(places, i, number_at(places, i + 1));
      set_number(places, ++i, first);
    }
  return code;
}

// On another stream than the first one the last bit is rounded otherwise: within any bound.
bp_code stream_rounds(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "log") || call.outputs[0]->dtype != BP_F32) return code;
  static bp_stream* const usual = call.stream;
  if (call.stream == usual) return code;
  const bp_tensor& out = *call.outputs[0];
  for (int64_t i = 0; i < out.numel; i += 3)
    if (std::isnormal(number_at(out, i))) *element(out, i) ^= 1;
  return code;
}

}  // namespace

const std::vector<KernelFault> value_faults = {
    {"f16_sum", f16_sum},
    {"tf32_product", tf32_product},
    {"exp_off", exp_off},
    {"sin_without_reduction", sin_without_reduction},
    {"denormals_flushed", denormals_flushed},
    {"negative_zero_lost", negative_zero_lost},
    {"nan_dropped", nan_dropped},
    {"int64_as_double", int64_as_double},
    {"index_clamped", index_clamped},
    {"duplicates_lost", duplicates_lost},
    {"sqrt_off", sqrt_off},
    {"cast_rounds", cast_rounds},
    {"overflow_saturates", overflow_saturates},
    {"last_of_ties", last_of_ties},
    {"unstable_sort", unstable_sort},
    {"stream_rounds", stream_rounds},
};

}  // namespace exam
