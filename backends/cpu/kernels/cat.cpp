// cat: each tensor goes into its part of the output, as a few long copies where memory allows.
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "kernels.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

// Of all that comes before or after `dim`.
int64_t outer_size(const bp_tensor& tensor, int64_t dim) {
  return product(shape_of(tensor).first(dim));
}
int64_t inner_size(const bp_tensor& tensor, int64_t dim) {
  return product(shape_of(tensor).subspan(dim));
}

// A call for each row takes longer than to copy a few bytes.
template <uint64_t row_bytes>
void copy_short_rows(char* to, uint64_t to_row_bytes, const char* from, int64_t begin,
                     int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    std::memcpy(to + row * to_row_bytes, from + row * row_bytes, row_bytes);
}

void copy_rows(const bp_tensor& from, char* to, uint64_t to_row_bytes, int64_t dim) {
  const uint64_t row_bytes = inner_size(from, dim) * from.itemsize;
  const int64_t rows = outer_size(from, dim);
  const char* const source = address(from);
  if (rows == 1) return copy_bytes(to, source, row_bytes);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / static_cast<int64_t>(row_bytes));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    switch (row_bytes) {
      case 4: return copy_short_rows<4>(to, to_row_bytes, source, begin, end);
      case 8: return copy_short_rows<8>(to, to_row_bytes, source, begin, end);
      case 16: return copy_short_rows<16>(to, to_row_bytes, source, begin, end);
      default: break;
    }
    for (int64_t row = begin; row < end; ++row)
      std::memcpy(to + row * to_row_bytes, source + row * row_bytes, row_bytes);
  });
}

Status cat(Stream, InList tensors, int64_t dim, Out result) {
  const bp_tensor& out = result.abi();
  const uint64_t row_bytes = inner_size(out, dim) * out.itemsize;
  const uint64_t step_bytes = inner_size(out, dim + 1) * out.itemsize;
  char* to = address(out);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bp_tensor& from = tensors[i].abi();
    if (from.numel == 0) continue;
    if (is_contiguous(from)) {
      copy_rows(from, to, row_bytes, dim);
    } else {
      visit_itemsize(from.itemsize, [&]<class T>(Tag<T>) {
        copy_strided(shape_of(from), reinterpret_cast<T*>(to), out.dl.strides, data_of<T>(from),
                     from.dl.strides);
      });
    }
    to += from.dl.shape[dim] * step_bytes;
  }
  return ok;
}

}  // namespace

void add_cat_kernels(Kernels& k) {
  k.add<op::cat>(cat)
      .dtypes(all)
      .dtypes(op::cat::place::out, all)
      .layouts(strided)
      .layouts(op::cat::place::out, contiguous)
      .deterministic();
}

}  // namespace bp::cpu
