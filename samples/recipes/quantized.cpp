// Samples of quantized numbers. Scales are powers of two, so that a division rounds alike on every device.
#include <string_view>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/core_ops/generated/movement.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/core_ops/generated/view.hpp>

#include "draft.hpp"

namespace bp {
namespace {

Tensor scales(Draft& draft, IntList shape, Dtype dtype) {
  return cast(mul(add(cast(draft.sides(shape), f32), 3), 0.0625), dtype);  // 1/8 and 1/4
}

Tensor zeros_at(Draft& draft, IntList shape, Dtype dtype) {
  return cast(draft.indices(shape, 9), dtype);
}

void draft_steps(Draft& draft, bool is_back) {
  const bool has_none = draft.is("without_zero"), is_by_axis = draft.is("per_axis");
  const bool is_negative = draft.is("negative_axis"), is_block = draft.is("blocks");
  const bool is_narrow = draft.is("narrow_blocks");
  const bool is_signed = !is_back && draft.is("signed"), is_wide = !is_back && draft.is("wide");
  const bool is_half = is_back && draft.is("half");
  const bool has_usual_shape = has_none || is_by_axis || is_negative || is_block || is_narrow ||
                               is_signed || is_wide || is_half || draft.is("same");
  const Dims shape = is_block || is_narrow ? Dims{3, 7, 2}
                     : has_usual_shape     ? Dims{4, 6}
                                           : draft.shape();
  const Dtype steps = is_back ? draft.dtype() : is_signed ? i8 : is_wide ? u16 : u8;
  const Dtype numbers = !is_back ? draft.dtype() : is_half ? f16 : f32;
  const Dims parts = is_block      ? Dims{3, 3, 2}
                     : is_narrow   ? Dims{3, 7, 1}
                     : is_by_axis  ? Dims{6}
                     : is_negative ? Dims{4}
                                   : Dims{};
  draft.add(draft.tensor(shape));
  draft.add(scales(draft, parts, numbers));
  has_none ? draft.add_none() : draft.add(zeros_at(draft, parts, steps));
  if (!is_block && !is_narrow && !is_negative) return;
  draft.add_value(is_negative ? std::int64_t{-2} : is_block ? std::int64_t{1} : std::int64_t{2});
  if (!is_negative) draft.add_value(is_block ? std::int64_t{3} : std::int64_t{5});
}

void draft_dynamic(Draft& draft) {
  const bool is_positive = draft.is("all_positive"), is_negative = draft.is("all_negative");
  const bool is_zero = draft.is("all_zero");
  const bool has_usual_shape = is_positive || is_negative || is_zero || draft.is("same");
  const Tensor input = draft.tensor(has_usual_shape ? Dims{4, 6} : draft.shape());
  draft.add(is_positive   ? add(abs(input), 0.5)
            : is_negative ? sub(-0.5, abs(input))
            : is_zero     ? mul(input, 0)
                          : input);
}

Dtype other_octet(const Draft& draft) {
  return draft.dtype() == u8 ? i8 : u8;
}

void draft_product(Draft& draft, bool is_scaled) {
  const bool has_none = !is_scaled && draft.is("without_zeros");
  const bool is_other = draft.is("other_dtype"), is_by_row = draft.is("per_row");
  const bool is_long = draft.is("several_tiles"), is_batch = draft.is("batched");
  const bool saturates = is_scaled && draft.is("saturating");
  draft.is("same", "non_contiguous", "transposed");
  const std::int64_t rows = draft.is("zero_size") ? 0 : is_long ? 33 : 4, inner = is_long ? 65 : 5;
  const std::int64_t columns = is_long ? 31 : 3;
  const Dtype dtype = is_other ? other_octet(draft) : draft.dtype();
  const Dims of_rows = is_by_row ? Dims{rows} : Dims{};
  const Dims of_columns = is_by_row ? Dims{columns} : Dims{1};
  draft.add(draft.tensor(is_batch ? Dims{2, rows, inner} : Dims{rows, inner}));
  const Tensor other = draft.tensor({inner, columns}, dtype);
  if (!is_scaled) {
    draft.add(other);
    if (has_none) return;
    draft.add(zeros_at(draft, of_rows, draft.dtype()));
    return draft.add(zeros_at(draft, of_columns, dtype));
  }
  draft.add(scales(draft, of_rows, f32));
  draft.add(zeros_at(draft, of_rows, draft.dtype()));
  draft.add(other);
  draft.add(scales(draft, of_columns, f32));
  draft.add(zeros_at(draft, of_columns, dtype));
  draft.add(mul(scales(draft, of_rows, f32), saturates ? 0.0625 : 4.0));
  draft.add(zeros_at(draft, of_rows, draft.dtype()));
}

void draft_windowed(Draft& draft, bool is_scaled) {
  const bool has_none = !is_scaled && draft.is("without_zeros");
  const bool has_bias = is_scaled && draft.is("with_bias");
  const bool is_other = draft.is("other_dtype"), is_by_channel = draft.is("per_channel");
  const bool is_strided = draft.is("strided"), is_padded = draft.is("padded");
  const bool is_dilated = draft.is("dilated"), is_grouped = draft.is("grouped");
  const bool is_long = draft.is("several_tiles");
  draft.is("same", "non_contiguous");
  const std::int64_t groups = is_grouped ? 2 : 1, size = is_long ? 23 : 5;
  const Dtype dtype = is_other ? other_octet(draft) : draft.dtype();
  const Dims channels = is_by_channel ? Dims{4} : Dims{};
  draft.add(draft.tensor({draft.is("zero_size") ? 0 : 2, 2, size, size}));
  const Tensor weight = draft.tensor({4, 2 / groups, 3, 2}, dtype);
  const Tensor of_input = zeros_at(draft, {}, draft.dtype());
  const Tensor of_weight = zeros_at(draft, channels, dtype);
  if (is_scaled) {
    draft.add(scales(draft, {}, f32));
    draft.add(of_input);
    draft.add(weight);
    draft.add(scales(draft, channels, f32));
    draft.add(of_weight);
    draft.add(mul(scales(draft, {1}, f32), 2));
    draft.add(zeros_at(draft, {}, draft.dtype()));
    has_bias ? draft.add(cast(draft.indices({4}, 50), i32)) : draft.add_none();
  } else {
    draft.add(weight);
    has_none ? draft.add_none() : draft.add(of_input);
    has_none ? draft.add_none() : draft.add(of_weight);
  }
  draft.add_list({is_strided ? 2 : 1});
  draft.add_list({is_padded ? 1 : 0});
  draft.add_list(is_dilated ? IntList{2, 3} : IntList{1});
  draft.add_value(groups);
}

// Whole numbers, whose products and sums are exact.
Tensor eight_bits(Draft& draft, IntList shape, Dtype dtype) {
  return cast(sub(draft.indices(shape, 9), 4), dtype);
}

void draft_scaled_mm(Draft& draft) {
  const bool is_other = draft.is("other_dtype"), is_by_row = draft.is("per_row");
  const bool has_bias = draft.is("with_bias"), is_transposed = draft.is("transposed");
  const bool is_long = draft.is("several_tiles"), is_one = draft.is("size_one");
  const bool is_short_result = draft.is("short_result"), saturates = draft.is("saturating");
  const bool is_scaled = draft.is("scaled_result");
  draft.is("same");
  const Dtype dtype = draft.dtype() == f8_e5m2 ? f8_e5m2 : f8_e4m3fn;
  const Dtype other = !is_other ? dtype : dtype == f8_e5m2 ? f8_e4m3fn : f8_e5m2;
  const std::int64_t rows = draft.is("zero_size") ? 0 : is_one ? 1 : is_long ? 33 : 4;
  const std::int64_t inner = is_one ? 1 : is_long ? 65 : 5, columns = is_one ? 1 : is_long ? 31 : 3;
  draft.add(is_transposed ? transpose(eight_bits(draft, {inner, rows}, dtype), 0, 1)
                          : eight_bits(draft, {rows, inner}, dtype));
  draft.add(is_transposed ? transpose(eight_bits(draft, {columns, inner}, other), 0, 1)
                          : eight_bits(draft, {inner, columns}, other));
  draft.add(mul(scales(draft, is_by_row ? Dims{rows, 1} : Dims{}, f32), saturates ? 4096.0 : 1.0));
  draft.add(scales(draft, is_by_row ? Dims{1, columns} : Dims{1}, f32));
  has_bias ? draft.add(cast(draft.indices({columns}, 9), bf16)) : draft.add_none();
  is_scaled ? draft.add(scales(draft, {}, f32)) : draft.add_none();
  if (!saturates && !is_scaled) draft.add_value(is_short_result ? bf16 : f32);
}

}  // namespace

void draft_quantized(Draft& draft) {
  if (std::string_view(draft.op().name()) == "_scaled_mm") return draft_scaled_mm(draft);
  const std::string_view name = draft.op().name();
  if (name == "dynamic_quantize_linear") return draft_dynamic(draft);
  if (name.ends_with("quantize_linear")) return draft_steps(draft, name.starts_with("de"));
  const bool is_scaled = name.starts_with("qlinear");
  if (name.find("conv") != name.npos) return draft_windowed(draft, is_scaled);
  draft_product(draft, is_scaled);
}

}  // namespace bp
