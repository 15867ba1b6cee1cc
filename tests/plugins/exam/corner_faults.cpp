// Faults that show where two sizes meet, or a size and a dtype: of tiles that are full, of corners, of many long lines.
#include <algorithm>
#include <cstring>

#include "faults.hpp"
#include "lines.hpp"

namespace exam {
namespace {

void clear_last(const bp_tensor& out) {
  if (out.numel != 0) std::memset(element(out, out.numel - 1), 0, out.itemsize);
}

struct ProductSizes {
  int64_t rows, inner, columns;
};
ProductSizes sizes_of(const bp_call& call) {
  const bp_tensor &a = *call.args[0].u.tensor, &b = *call.args[1].u.tensor;
  return {a.dl.shape[1], a.dl.shape[2], b.dl.shape[2]};
}
template <class When>
bp_code product_loses_inner(const bp_kernel& inner, const bp_call& call, When when) {
  if (!is_row(call, "bmm") || !when(sizes_of(call))) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor &a = *changed.tensor(0), &b = *changed.tensor(1);
  a.dl.shape[2] = b.dl.shape[1] = a.dl.shape[2] - 4;
  return run(inner, changed.call());
}

// The way for tiles that are all full.
bp_code full_tiles_end_early(const bp_kernel& inner, const bp_call& call) {
  return product_loses_inner(inner, call, [](const ProductSizes& sizes) {
    return sizes.inner > 4 && sizes.rows % 64 == 0 && sizes.inner % 64 == 0 &&
           sizes.columns % 64 == 0;
  });
}
bp_code full_rows_end_early(const bp_kernel& inner, const bp_call& call) {
  return product_loses_inner(inner, call, [](const ProductSizes& sizes) {
    return sizes.inner > 4 && sizes.rows > 64 && sizes.rows % 64 == 0 && sizes.columns > 64 &&
           sizes.columns % 64 != 0;
  });
}
bp_code even_inner_is_split(const bp_kernel& inner, const bp_call& call) {
  return product_loses_inner(inner, call, [](const ProductSizes& sizes) {
    return sizes.inner > 4096 && sizes.inner % 4 == 0;
  });
}
bp_code corner_past_256(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "bmm")) return code;
  const ProductSizes sizes = sizes_of(call);
  if (sizes.rows > 256 && sizes.columns > 256) clear_last(*call.outputs[0]);
  return code;
}

// ---- Reductions, sorts, lists

bp_code tall_and_wide_sum(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sum")) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &out = *call.outputs[0];
  if (out.numel > 32 && a.numel / out.numel > 4096) clear_last(out);
  return code;
}

// Over dimensions that do not lie next to each other.
bp_code dims_apart(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sum") || call.args[1].aux != 2) return code;
  const auto* dims = static_cast<const int64_t*>(call.args[1].u.ptr);
  if (std::abs(dims[1] - dims[0]) > 1) clear_last(*call.outputs[0]);
  return code;
}

bp_code long_lines_of_a_sort(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sort")) return code;
  const bp_tensor& out = *call.outputs[0];
  each_line(out, call.args[1].u.i, [&](const Line& line) {
    if (line.size > 1024 && out.numel / line.size > 2) clear_last(out);
  });
  return code;
}

bp_code seventeenth_of_a_list(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code == BP_OK && is_row(call, "cat") && call.args[0].aux > 16) clear_last(*call.outputs[0]);
  return code;
}

bp_code transposed_bytes(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "copy")) return code;
  const bp_tensor& a = *call.args[0].u.tensor;
  const bool is_turned = a.itemsize == 1 && a.dl.ndim == 2 && a.dl.strides[0] == 1;
  if (is_turned && a.dl.shape[0] > 64 && a.dl.shape[1] > 64) clear_last(*call.outputs[0]);
  return code;
}

}  // namespace

const std::vector<KernelFault> corner_faults = {
    {"full_tiles_end_early", full_tiles_end_early},
    {"full_rows_end_early", full_rows_end_early},
    {"even_inner_is_split", even_inner_is_split},
    {"corner_past_256", corner_past_256},
    {"tall_and_wide_sum", tall_and_wide_sum},
    {"dims_apart", dims_apart},
    {"long_lines_of_a_sort", long_lines_of_a_sort},
    {"seventeenth_of_a_list", seventeenth_of_a_list},
    {"transposed_bytes", transposed_bytes},
};

}  // namespace exam
