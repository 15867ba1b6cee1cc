// Faults that show past some size only: of a tile, a block, a grid, a counter.
#include <algorithm>
#include <cstring>

#include "faults.hpp"
#include "lines.hpp"

namespace exam {
namespace {

void clear(const bp_tensor& out, int64_t place) {
  std::memset(element(out, place), 0, out.itemsize);
}
void copy_element(const bp_tensor& out, int64_t to, int64_t from) {
  std::memcpy(element(out, to), element(out, from), out.itemsize);
}

// After the correct kernel of this row: `spoil` changes its first output.
template <class Spoil>
bp_code spoiled(const bp_kernel& inner, const bp_call& call, const char* row, Spoil spoil) {
  const bp_code code = run(inner, call);
  if (code == BP_OK && is_row(call, row)) spoil(*call.outputs[0]);
  return code;
}
template <class Spoil>
bp_code spoiled_pointwise(const bp_kernel& inner, const bp_call& call, Spoil spoil) {
  const bp_code code = run(inner, call);
  if (code == BP_OK && is_pointwise(call)) spoil(*call.outputs[0]);
  return code;
}

// ---- Products

bp_code product_k_cut(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor &a = *changed.tensor(0), &b = *changed.tensor(1);
  a.dl.shape[2] = b.dl.shape[1] = std::min<int64_t>(a.dl.shape[2], 300);
  return run(inner, changed.call());
}

bp_code product_columns_cut(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "bmm", [](const bp_tensor& out) {
    const int64_t columns = out.dl.shape[2];
    for (int64_t i = 0; i < out.numel; ++i)
      if (i % columns >= 1024) clear(out, i);
  });
}

bp_code product_rows_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "bmm", [](const bp_tensor& out) {
    const int64_t rows = out.dl.shape[1], columns = out.dl.shape[2];
    for (int64_t i = 0; i < out.numel; ++i)
      if (i / columns % rows >= 65535) clear(out, i);
  });
}

// The second tile of K starts again where there are several tiles of rows and of columns.
bp_code product_tile_forgets(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor &a = *changed.tensor(0), &b = *changed.tensor(1);
  const int64_t k = a.dl.shape[2];
  if (a.dl.shape[1] > 128 && b.dl.shape[2] > 128 && k > 128) {
    const int64_t first = (k - 1) / 128 * 128;
    a.dl.byte_offset += static_cast<uint64_t>(first * a.dl.strides[2] * a.itemsize);
    b.dl.byte_offset += static_cast<uint64_t>(first * b.dl.strides[1] * b.itemsize);
    a.dl.shape[2] = b.dl.shape[1] = k - first;
  }
  return run(inner, changed.call());
}

bp_code batches_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "bmm", [](const bp_tensor& out) {
    const int64_t matrix = out.dl.shape[1] * out.dl.shape[2];
    for (int64_t i = 65535 * matrix; i < out.numel; ++i) clear(out, i);
  });
}

// ---- Elementwise

bp_code exp_past_4096(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "exp", [](const bp_tensor& out) {
    for (int64_t i = 4096; i < out.numel; ++i) clear(out, i);
  });
}

// The number of elements is kept in 16 bits.
bp_code count_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  return spoiled_pointwise(inner, call, [](const bp_tensor& out) {
    for (int64_t i = out.numel & 0xFFFF; out.numel > 0xFFFF && i < out.numel; ++i) clear(out, i);
  });
}

bp_code grid_rows_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled_pointwise(inner, call, [](const bp_tensor& out) {
    if (out.dl.ndim < 2) return;
    const int64_t width = out.dl.shape[out.dl.ndim - 1];
    for (int64_t i = 65535 * width; i < out.numel; ++i) clear(out, i);
  });
}

// The second turn of a loop over the grid is one element behind.
bp_code grid_turn_behind(const bp_kernel& inner, const bp_call& call) {
  return spoiled_pointwise(inner, call, [](const bp_tensor& out) {
    for (int64_t i = out.numel - 1; i >= 32768; --i) copy_element(out, i, i - 1);
  });
}

// What is broadcast over rows is staged in pieces of 1,024, of which the first is used for all.
bp_code staged_row_repeats(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "add") && !is_row(call, "mul")) return run(inner, call);
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < 2; ++arg) {
    bp_tensor* tensor = changed.tensor(arg);
    if (!tensor || tensor->dl.ndim != 2 || tensor->dl.strides[0] != 0) continue;
    if (tensor->dl.strides[1] == 1 && tensor->dl.shape[1] > 1024)
      changed.repeat_flat(*tensor, 1024);
  }
  return run(inner, changed.call());
}

// Ranks from 12 on lose dimension 0.
bp_code rank_limit_12(const bp_kernel& inner, const bp_call& call) {
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg)
    if (bp_tensor* tensor = changed.tensor(arg))
      if (tensor->dl.ndim >= 12) tensor->dl.strides[0] = 0;
  return run(inner, changed.call());
}

// ---- Copies

// Of a matrix that a copy transposes, the tiles past the first 128 rows and columns are a column behind.
bp_code transposed_tiles(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "copy") || call.outputs[0]->dl.ndim != 2) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &out = *call.outputs[0];
  const int64_t rows = a.dl.shape[0], columns = a.dl.shape[1];
  const bool transposes =
      a.dl.strides[0] < a.dl.strides[1] && out.dl.strides[0] > out.dl.strides[1];
  for (int64_t r = 128; transposes && r < rows; ++r)
    for (int64_t c = columns - 1; c >= 128; --c)
      copy_element(out, r * columns + c, r * columns + c - 1);
  return code;
}

// Of a matrix whose rows lie apart, those past 255 are counted in 8 bits.
bp_code strided_rows_in_8_bits(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "copy") || call.outputs[0]->dl.ndim != 2) return code;
  const bp_tensor &a = *call.args[0].u.tensor, &out = *call.outputs[0];
  if ((a.flags & BP_LAYOUT_CONTIGUOUS) != 0) return code;
  const int64_t columns = a.dl.shape[1];
  for (int64_t i = 256 * columns; i < out.numel; ++i)
    copy_element(out, i, i / columns % 256 * columns + i % columns);
  return code;
}

bp_code cast_block_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "cast", [](const bp_tensor& out) {
    for (int64_t i = out.numel / 512 * 512; out.numel > 2048 && i < out.numel; ++i) clear(out, i);
  });
}

bp_code cat_place_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "cat", [](const bp_tensor& out) {
    for (int64_t i = 65536; i < out.numel; ++i) copy_element(out, i, i & 0xFFFF);
  });
}

bp_code full_cut(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "full", [](const bp_tensor& out) {
    for (int64_t i = 16384; i < out.numel; ++i) clear(out, i);
  });
}

bp_code arange_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "arange", [](const bp_tensor& out) {
    for (int64_t i = 65536; i < out.numel; ++i) copy_element(out, i, i & 0xFFFF);
  });
}

bp_code random_words_repeat(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "philox", [](const bp_tensor& out) {
    for (int64_t i = 32768; i < out.numel; ++i) copy_element(out, i, i - 32768);
  });
}

// ---- Reductions, scans, sorts

// The sum of the first `count(size)` elements of each line.
template <class Count>
bp_code sum_of_some(const bp_kernel& inner, const bp_call& call, bool inner_dim_only, Count count) {
  if (!is_row(call, "sum") || call.args[1].aux != 1) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& a = *changed.tensor(0);
  const int64_t dim = *static_cast<const int64_t*>(call.args[1].u.ptr);
  const bool is_inner = dim + 1 == a.dl.ndim;
  if (is_inner == inner_dim_only) {
    const int64_t size = a.dl.shape[dim], kept = count(size);
    a.numel = size == 0 ? a.numel : a.numel / size * kept;
    a.dl.shape[dim] = kept;
  }
  return run(inner, changed.call());
}

bp_code sum_block_lost(const bp_kernel& inner, const bp_call& call) {
  return sum_of_some(inner, call, true,
                     [](int64_t size) { return size > 16384 ? size / 256 * 256 : size; });
}
bp_code column_sum_cut(const bp_kernel& inner, const bp_call& call) {
  return sum_of_some(inner, call, false,
                     [](int64_t size) { return std::min<int64_t>(size, 1024); });
}

bp_code sum_rows_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "sum", [](const bp_tensor& out) {
    for (int64_t i = 65535; i < out.numel; ++i) clear(out, i);
  });
}

bp_code max_cut(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "max") || call.args[1].aux != 1) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& a = *changed.tensor(0);
  int64_t& size = a.dl.shape[*static_cast<const int64_t*>(call.args[1].u.ptr)];
  if (size > 32768) a.numel = a.numel / size * 32768, size = 32768;
  return run(inner, changed.call());
}

bp_code argmax_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "argmax", [](const bp_tensor& out) {
    for (int64_t i = 0; i < out.numel; ++i)
      set_number(out, i, static_cast<double>(static_cast<int64_t>(number_at(out, i)) & 0xFFFF));
  });
}

bp_code scan_carry_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "cumsum", [&](const bp_tensor& out) {
    each_line(out, call.args[1].u.i, [&](const Line& line) {
      if (line.size <= 16384) return;
      const double carry = number_at(out, line.place(16383));
      for (int64_t k = 16384; k < line.size; ++k)
        set_number(out, line.place(k), number_at(out, line.place(k)) - carry);
    });
  });
}

bp_code sort_past_4096(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sort")) return code;
  each_line(*call.outputs[0], call.args[1].u.i, [&](const Line& line) {
    if (line.size <= 4098) return;
    for (uint32_t i = 0; i < 2; ++i) {
      const bp_tensor& out = *call.outputs[i];
      const double first = number_at(out, line.place(4096));
      copy_element(out, line.place(4096), line.place(4097));
      set_number(out, line.place(4097), first);
    }
  });
  return code;
}

bp_code sort_lines_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "sort", [](const bp_tensor& out) {
    if (out.dl.ndim != 2 || out.dl.shape[0] <= 65535) return;
    for (int64_t i = 65535 * out.dl.shape[1]; i < out.numel; ++i) clear(out, i);
  });
}

bp_code softmax_cut(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "softmax", [&](const bp_tensor& out) {
    each_line(out, call.args[1].u.i, [&](const Line& line) {
      if (line.size <= 2048) return;
      double seen = 0;
      for (int64_t k = 0; k < 2048; ++k) seen += number_at(out, line.place(k));
      for (int64_t k = 0; k < line.size; ++k)
        set_number(out, line.place(k), number_at(out, line.place(k)) / seen);
    });
  });
}

bp_code variance_cut(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "var") || call.args[1].aux != 1) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& a = *changed.tensor(0);
  int64_t& size = a.dl.shape[*static_cast<const int64_t*>(call.args[1].u.ptr)];
  if (size > 8192) a.numel = a.numel / size * 8192, size = 8192;
  return run(inner, changed.call());
}

// ---- Indices

bp_code index_in_16_bits(const bp_kernel& inner, const bp_call& call, const char* row) {
  if (!is_row(call, row)) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& index = *changed.tensor(2);
  changed.repack(index);
  for (int64_t i = 0; i < index.numel; ++i)
    if (const double place = number_at(index, i); place > 65535)
      set_number(index, i, static_cast<double>(static_cast<int64_t>(place) & 0xFFFF));
  return run(inner, changed.call());
}
bp_code gather_index_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  return index_in_16_bits(inner, call, "gather");
}
bp_code scatter_index_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  return index_in_16_bits(inner, call, "scatter_add");
}

bp_code gather_rows_lost(const bp_kernel& inner, const bp_call& call) {
  return spoiled(inner, call, "gather", [](const bp_tensor& out) {
    for (int64_t i = 40960; i < out.numel; ++i) copy_element(out, i, i % 40960);
  });
}

bp_code nonzero_in_16_bits(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "nonzero")) return code;
  const bp_tensor& out = *call.outputs[0];
  for (int64_t i = 0; i < out.numel; ++i)
    if (const double place = number_at(out, i); place > 65535)
      set_number(out, i, static_cast<double>(static_cast<int64_t>(place) & 0xFFFF));
  return code;
}

}  // namespace

const std::vector<KernelFault> size_faults = {
    {"product_k_cut", product_k_cut},
    {"product_columns_cut", product_columns_cut},
    {"product_rows_lost", product_rows_lost},
    {"product_tile_forgets", product_tile_forgets},
    {"batches_lost", batches_lost},
    {"exp_past_4096", exp_past_4096},
    {"count_in_16_bits", count_in_16_bits},
    {"grid_rows_lost", grid_rows_lost},
    {"grid_turn_behind", grid_turn_behind},
    {"staged_row_repeats", staged_row_repeats},
    {"rank_limit_12", rank_limit_12},
    {"transposed_tiles", transposed_tiles},
    {"strided_rows_in_8_bits", strided_rows_in_8_bits},
    {"cast_block_lost", cast_block_lost},
    {"cat_place_in_16_bits", cat_place_in_16_bits},
    {"full_cut", full_cut},
    {"arange_in_16_bits", arange_in_16_bits},
    {"random_words_repeat", random_words_repeat},
    {"sum_block_lost", sum_block_lost},
    {"column_sum_cut", column_sum_cut},
    {"sum_rows_lost", sum_rows_lost},
    {"max_cut", max_cut},
    {"argmax_in_16_bits", argmax_in_16_bits},
    {"scan_carry_lost", scan_carry_lost},
    {"sort_past_4096", sort_past_4096},
    {"sort_lines_lost", sort_lines_lost},
    {"softmax_cut", softmax_cut},
    {"variance_cut", variance_cut},
    {"gather_index_in_16_bits", gather_index_in_16_bits},
    {"scatter_index_in_16_bits", scatter_index_in_16_bits},
    {"gather_rows_lost", gather_rows_lost},
    {"nonzero_in_16_bits", nonzero_in_16_bits},
};

}  // namespace exam
