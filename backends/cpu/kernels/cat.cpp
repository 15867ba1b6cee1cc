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

void copy_rows(const bp_tensor& from, char* to, uint64_t to_row_bytes, int64_t dim) {
  const uint64_t row_bytes = inner_size(from, dim) * from.itemsize;
  const int64_t rows = outer_size(from, dim);
  const char* const source = address(from);
  if (rows == 1) return copy_bytes(to, source, row_bytes);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / static_cast<int64_t>(row_bytes));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      std::memcpy(to + row * to_row_bytes, source + row * row_bytes, row_bytes);
  });
}

bp_code cat(void*, const bp_call* call) noexcept {
  return guarded("cat", [&]() -> bp_code {
    const auto* const* tensors = static_cast<const bp_tensor* const*>(call->args[0].u.ptr);
    const uint32_t count = call->args[0].aux;
    const int64_t dim = int_arg(call, 1);
    const bp_tensor& out = *call->outputs[0];
    const uint64_t row_bytes = inner_size(out, dim) * out.itemsize;
    const uint64_t step_bytes = inner_size(out, dim + 1) * out.itemsize;
    char* to = address(out);
    for (uint32_t i = 0; i < count; ++i) {
      const bp_tensor& from = *tensors[i];
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
    return BP_OK;
  });
}

}  // namespace

void add_cat_kernels(const bp_host& host, KernelList& list) {
  list.add(host, "cat",
           {tensor_place(all_dtypes), any_place(), tensor_place(all_dtypes, BP_LAYOUT_CONTIGUOUS)},
           cat);
}

}  // namespace bp::cpu
