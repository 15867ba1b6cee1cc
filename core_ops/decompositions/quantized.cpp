#include "decompositions/quantized.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/windows.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr DtypeSet octets = set_of(u8, i8), step_dtypes = set_of(u8, i8, u16, i16);

void check_zero_dtype(const char* op, const char* what, const Tensor& zero_point, Dtype dtype) {
  BP_CHECK(zero_point.dtype() == dtype, "{}: {} is {}, and needs to be {}; cast it", op, what,
           name(zero_point.dtype()), name(dtype));
}

void check_scale(const char* op, const char* what, const Tensor& scale) {
  BP_CHECK(is_floating(scale.dtype()), "{}: {} is {}; cast it to float32", op, what,
           name(scale.dtype()));
}

void check_octets(const char* op, const char* what, const Tensor& input) {
  BP_CHECK(contains(octets, input.dtype()), "{}: {} is {}; pass uint8 or int8", op, what,
           name(input.dtype()));
}

bool holds_one_number(const Tensor& numbers) {
  return numbers.ndim() == 0 || (numbers.ndim() == 1 && numbers.numel() == 1);
}

// One number, one for each place along an axis, or one for each block there, so that it broadcasts.
Tensor spread_along(const char* op, const char* what, const Tensor& numbers, const Tensor& input,
                    std::int64_t axis, std::int64_t block_size) {
  if (holds_one_number(numbers)) return reshape(numbers, {});
  const std::int64_t at = wrap_dim(op, axis, input.ndim());
  const std::int64_t size = input.ndim() == 0 ? 1 : input.size(at);
  if (block_size == 0) {
    BP_CHECK(numbers.ndim() == 1 && numbers.numel() == size,
             "{}: {} has shape {}; pass one number, or {} for axis {} of shape {}", op, what,
             to_string(numbers.shape()), size, axis, to_string(input.shape()));
    return along_dim(numbers, at, input.ndim());
  }
  BP_CHECK(block_size > 0, "{}: the block_size is {}; pass 1 or more, or 0 for none", op,
           block_size);
  Dims shape(input.shape());
  if (!shape.empty()) shape[at] = size / block_size + (size % block_size != 0);
  BP_CHECK(numbers.shape() == shape,
           "{}: {} has shape {}; blocks of {} along axis {} of shape {} need {}", op, what,
           to_string(numbers.shape()), block_size, axis, to_string(input.shape()),
           to_string(shape));
  // Blocks that end outside are cut off.
  return narrow(
      repeat_interleave(numbers, std::min(block_size, std::max<std::int64_t>(size, 1)), at), at, 0,
      size);
}

// One number, or one for each row, of a matrix or of each of a batch.
Tensor by_row(const char* op, const char* what, const Tensor& numbers, const Tensor& matrix) {
  if (holds_one_number(numbers)) return reshape(numbers, {});
  const std::int64_t rows = matrix.ndim() >= 2 ? matrix.size(-2) : 1;
  if (numbers.ndim() == 1 && numbers.numel() == rows) return reshape(numbers, {rows, 1});
  BP_CHECK(numbers.ndim() >= 2 && numbers.ndim() == matrix.ndim() && numbers.size(-1) == 1 &&
               numbers.size(-2) == rows,
           "{}: {} has shape {}; pass one number, or {}, one for each row", op, what,
           to_string(numbers.shape()), rows);
  return numbers;
}

Tensor by_column(const char* op, const char* what, const Tensor& numbers, const Tensor& matrix) {
  if (holds_one_number(numbers)) return reshape(numbers, {});
  const std::int64_t columns = matrix.ndim() >= 2 ? matrix.size(-1) : 1;
  BP_CHECK(numbers.size(-1) == columns &&
               (numbers.ndim() == 1 || (numbers.ndim() == matrix.ndim() && numbers.size(-2) == 1)),
           "{}: {} has shape {}; pass one number, or {}, one for each column", op, what,
           to_string(numbers.shape()), columns);
  return numbers;
}

// One number, or one for each channel of the result, which has `behind` dimensions behind it.
Tensor by_channel(const char* op, const char* what, const Tensor& numbers, std::int64_t channels,
                  std::int64_t behind) {
  if (holds_one_number(numbers)) return reshape(numbers, {});
  BP_CHECK(numbers.ndim() == 1 && numbers.numel() == channels,
           "{}: {} has shape {}; pass one number, or {}, one for each channel", op, what,
           to_string(numbers.shape()), channels);
  return along_dim(numbers, 0, behind + 1);
}

Tensor one_number(const char* op, const char* what, const Tensor& numbers) {
  BP_CHECK(holds_one_number(numbers), "{}: {} has shape {}; pass one number", op, what,
           to_string(numbers.shape()));
  return reshape(numbers, {});
}

// Rounds, moves by the zero point, which may be undefined, and stays in the range of `dtype`.
Tensor saturated(const Tensor& steps, const Tensor& zero_point, Dtype dtype) {
  const Tensor rounded = widened(round(steps));
  Tensor moved = where(eq(rounded, rounded), rounded, 0);  // NaN has no place
  if (zero_point.defined()) moved = add(moved, cast(zero_point, moved.dtype()));
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  const bool is_signed = dtype == i8 || dtype == i16;
  const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  return cast(clamp(moved, low, low + (std::int64_t{1} << bits) - 1), dtype);
}

Tensor moved_by_zero(const Tensor& input, const Tensor& zero_point) {
  const Tensor whole = cast(input, i32);
  return zero_point.defined() ? sub(whole, cast(zero_point, i32)) : whole;
}

// In float32, or float64 where a scale is that.
Tensor rescaled(const Tensor& sums, const Tensor& left, const Tensor& right, const Tensor& scale) {
  const Tensor factor = div(mul(widened(left), widened(right)), widened(scale));
  return mul(cast(sums, factor.dtype()), factor);
}

void check_windows_fit(const char* op, const Tensor& input, const Tensor& weight, IntList stride,
                       IntList padding, IntList dilation, std::int64_t groups) {
  const std::int64_t rank = input.ndim() - 2;
  BP_CHECK(rank >= 1 && rank <= 3 && weight.ndim() == input.ndim(),
           "{}: input has shape {} and weight {}; pass [batch, channels, size...] and "
           "[to, channels / groups, size...] of one to three dimensions",
           op, to_string(input.shape()), to_string(weight.shape()));
  BP_CHECK(groups >= 1 && groups <= input.size(1) && input.size(1) / groups == weight.size(1) &&
               input.size(1) % groups == 0 && weight.size(0) % groups == 0,
           "{}: {} channels, weight of shape {}, and {} groups; make weight "
           "[a multiple of the groups, channels / groups, size...]",
           op, input.size(1), to_string(weight.shape()), groups);
  const auto check = [&](const char* what, IntList list, std::int64_t least) {
    BP_CHECK(list.size() == 1 || static_cast<std::int64_t>(list.size()) == rank,
             "{}: {} {} has {} elements for {} dimensions; give one, or one for each", op, what,
             to_string(list), list.size(), rank);
    for (const std::int64_t value : list)
      BP_CHECK(value >= least && value <= rules::most_of_windows,
               "{}: {} {} has {}; it must be at least {} and at most 2^31", op, what,
               to_string(list), value, least);
  };
  check("stride", stride, 1);
  check("padding", padding, 0);
  check("dilation", dilation, 1);
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t room = input.size(d + 2) + 2 * of_dim(padding, at);
    const std::int64_t kernel = weight.size(d + 2);
    BP_CHECK(kernel >= 1 && kernel <= rules::most_of_windows &&
                 of_dim(dilation, at) * (kernel - 1) + 1 <= room,
             "{}: weight of shape {} with dilation {} over {} elements, padding counted; make it "
             "smaller",
             op, to_string(weight.shape()), to_string(dilation), room);
  }
}

}  // namespace

Tensor rounded_to_steps(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                        std::int64_t axis, std::int64_t block_size, std::optional<Dtype> dtype) {
  constexpr const char* op = "quantize_linear";
  BP_CHECK(is_floating(input.dtype()) || input.dtype() == i32,
           "{}: input is {}; cast it to float32", op, name(input.dtype()));
  check_scale(op, "scale", scale);
  const Dtype target = dtype ? *dtype : zero_point.defined() ? zero_point.dtype() : u8;
  BP_CHECK(contains(step_dtypes, target),
           "{}: the result would be {}; choose uint8, int8, uint16 or int16", op, name(target));
  const Tensor steps = div(in_dtype(input, scale.dtype()),
                           spread_along(op, "scale", scale, input, axis, block_size));
  if (!zero_point.defined()) return saturated(steps, {}, target);
  check_zero_dtype(op, "zero_point", zero_point, target);
  const Tensor zero = spread_along(op, "zero_point", zero_point, input, axis, block_size);
  return saturated(steps, zero, target);
}

Tensor steps_to_numbers(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                        std::int64_t axis, std::int64_t block_size, std::optional<Dtype> dtype) {
  constexpr const char* op = "dequantize_linear";
  BP_CHECK(contains(step_dtypes, input.dtype()) || input.dtype() == i32,
           "{}: input is {}; pass uint8, int8, uint16, int16 or int32", op, name(input.dtype()));
  check_scale(op, "scale", scale);
  const Dtype target = dtype.value_or(scale.dtype());
  BP_CHECK(is_floating(target), "{}: the result would be {}; choose a floating dtype", op,
           name(target));
  const Tensor factor = widened(spread_along(op, "scale", scale, input, axis, block_size));
  Tensor steps = cast(input, factor.dtype());
  if (zero_point.defined()) {
    check_zero_dtype(op, "zero_point", zero_point, input.dtype());
    steps = sub(steps, cast(spread_along(op, "zero_point", zero_point, input, axis, block_size),
                            factor.dtype()));
  }
  return in_dtype(mul(steps, factor), target);
}

DynamicQuantizeLinearResult rounded_to_own_steps(const Tensor& input) {
  BP_CHECK(is_floating(input.dtype()), "dynamic_quantize_linear: input is {}; cast it to float32",
           name(input.dtype()));
  const Tensor wide = widened(input);
  const bool is_empty = input.numel() == 0;
  const Tensor none = full({}, 0, wide.dtype(), input.device());
  const Tensor low = is_empty ? none : clamp_max(min(wide), 0);
  const Tensor high = is_empty ? none : clamp_min(max(wide), 0);
  const Tensor spread = div(sub(high, low), 255);
  const Tensor scale = where(eq(spread, 0), 1, spread);
  const Tensor zero_point = saturated(div(neg(low), scale), {}, u8);
  return {quantize_linear(wide, scale, zero_point), scale, zero_point};
}

Tensor product_of_steps(const Tensor& input, const Tensor& other, const Tensor& input_zero_point,
                        const Tensor& other_zero_point) {
  constexpr const char* op = "matmul_integer";
  check_octets(op, "input", input);
  check_octets(op, "other", other);
  Tensor of_input, of_other;
  if (input_zero_point.defined()) {
    check_zero_dtype(op, "input_zero_point", input_zero_point, input.dtype());
    of_input = by_row(op, "input_zero_point", input_zero_point, input);
  }
  if (other_zero_point.defined()) {
    check_zero_dtype(op, "other_zero_point", other_zero_point, other.dtype());
    of_other = by_column(op, "other_zero_point", other_zero_point, other);
  }
  return matmul(moved_by_zero(input, of_input), moved_by_zero(other, of_other));
}

Tensor convolution_of_steps(const Tensor& input, const Tensor& weight,
                            const Tensor& input_zero_point, const Tensor& weight_zero_point,
                            IntList stride, IntList padding, IntList dilation,
                            std::int64_t groups) {
  constexpr const char* op = "conv_integer";
  check_octets(op, "input", input);
  check_octets(op, "weight", weight);
  check_windows_fit(op, input, weight, stride, padding, dilation, groups);
  Tensor of_input, of_weight;
  if (input_zero_point.defined()) {
    check_zero_dtype(op, "input_zero_point", input_zero_point, input.dtype());
    of_input = one_number(op, "input_zero_point", input_zero_point);
  }
  if (weight_zero_point.defined()) {
    check_zero_dtype(op, "weight_zero_point", weight_zero_point, weight.dtype());
    of_weight =
        by_channel(op, "weight_zero_point", weight_zero_point, weight.size(0), weight.ndim() - 1);
  }
  return convolution_by_windows(moved_by_zero(input, of_input), moved_by_zero(weight, of_weight),
                                {}, stride, padding, dilation, false, {0}, groups);
}

Tensor product_in_steps(const Tensor& input, const Tensor& input_scale,
                        const Tensor& input_zero_point, const Tensor& other,
                        const Tensor& other_scale, const Tensor& other_zero_point,
                        const Tensor& scale, const Tensor& zero_point) {
  constexpr const char* op = "qlinear_matmul";
  check_octets(op, "zero_point", zero_point);
  check_scale(op, "input_scale", input_scale);
  check_scale(op, "other_scale", other_scale);
  check_scale(op, "scale", scale);
  const Tensor sums = matmul_integer(input, other, input_zero_point, other_zero_point);
  const Tensor steps =
      rescaled(sums, by_row(op, "input_scale", input_scale, input),
               by_column(op, "other_scale", other_scale, other), by_row(op, "scale", scale, sums));
  return saturated(steps, by_row(op, "zero_point", zero_point, sums), zero_point.dtype());
}

Tensor convolution_in_steps(const Tensor& input, const Tensor& input_scale,
                            const Tensor& input_zero_point, const Tensor& weight,
                            const Tensor& weight_scale, const Tensor& weight_zero_point,
                            const Tensor& scale, const Tensor& zero_point, const Tensor& bias,
                            IntList stride, IntList padding, IntList dilation,
                            std::int64_t groups) {
  constexpr const char* op = "qlinear_conv";
  check_octets(op, "zero_point", zero_point);
  check_scale(op, "input_scale", input_scale);
  check_scale(op, "weight_scale", weight_scale);
  check_scale(op, "scale", scale);
  Tensor sums = conv_integer(input, weight, input_zero_point, weight_zero_point, stride, padding,
                             dilation, groups);
  const std::int64_t channels = weight.size(0), behind = weight.ndim() - 2;
  if (bias.defined()) {
    BP_CHECK(bias.dtype() == i32 && bias.ndim() == 1 && bias.numel() == channels,
             "{}: bias is {} of shape {}; pass {} numbers as int32", op, name(bias.dtype()),
             to_string(bias.shape()), channels);
    sums = add(sums, along_dim(bias, 0, behind + 1));
  }
  const Tensor steps = rescaled(sums, one_number(op, "input_scale", input_scale),
                                by_channel(op, "weight_scale", weight_scale, channels, behind),
                                one_number(op, "scale", scale));
  return saturated(steps, one_number(op, "zero_point", zero_point), zero_point.dtype());
}

}  // namespace bp
