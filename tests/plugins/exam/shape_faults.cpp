// Faults that show in some shapes, layouts and forms only.
#include <cmath>
#include <cstring>

#include "faults.hpp"

namespace exam {
namespace {

// As a kernel of 8 lanes does that forgets what is left over.
bp_code leave_tail(const bp_kernel& inner, const bp_call& call, int64_t from) {
  bp_tensor& out = *call.outputs[0];
  const int64_t tail = out.numel % 8;
  if (!is_pointwise(call) || out.numel <= from || tail == 0) return run(inner, call);
  std::vector<uint8_t> kept;
  for (int64_t i = out.numel - tail; i < out.numel; ++i)
    kept.insert(kept.end(), element(out, i), element(out, i) + out.itemsize);
  const bp_code code = run(inner, call);
  for (int64_t i = 0; i < tail; ++i)
    std::memcpy(element(out, out.numel - tail + i), kept.data() + i * out.itemsize, out.itemsize);
  return code;
}
bp_code vector_tail(const bp_kernel& inner, const bp_call& call) {
  return leave_tail(inner, call, 0);
}
bp_code vector_tail_large(const bp_kernel& inner, const bp_call& call) {
  return leave_tail(inner, call, 256);
}

// How many elements lie behind a tensor that strides of 0 make larger; 0 if none do.
int64_t behind_broadcast(const bp_tensor& tensor) {
  int64_t period = 1;
  bool expands = false;
  for (int32_t dim = 0; dim < tensor.dl.ndim; ++dim) {
    if (tensor.dl.strides[dim] != 0)
      period *= tensor.dl.shape[dim];
    else
      expands |= tensor.dl.shape[dim] > 1;
  }
  return expands ? period : 0;
}

// Right for a row over a matrix, wrong for a column.
bp_code broadcast_flat(const bp_kernel& inner, const bp_call& call) {
  if (!is_pointwise(call)) return run(inner, call);
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg)
    if (bp_tensor* tensor = changed.tensor(arg))
      if (const int64_t period = behind_broadcast(*tensor)) changed.repeat_flat(*tensor, period);
  return run(inner, changed.call());
}

// In place, where another argument has strides of 0, the result is read for it.
bp_code in_place_broadcast(const bp_kernel& inner, const bp_call& call) {
  ChangedCall changed(call);
  bool in_place = false;
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg)
    if (const bp_tensor* tensor = changed.tensor(arg))
      in_place |= data_of(*tensor) == data_of(*call.outputs[0]);
  if (!is_pointwise(call) || !in_place) return run(inner, call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg) {
    bp_tensor* tensor = changed.tensor(arg);
    if (tensor && data_of(*tensor) != data_of(*call.outputs[0]) && behind_broadcast(*tensor) != 0)
      changed.repeat_flat(*tensor, behind_broadcast(*tensor));
  }
  return run(inner, changed.call());
}

// Every input that is dense in another order is taken for row-major.
bp_code strides_ignored(const bp_kernel& inner, const bp_call& call) {
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg) {
    bp_tensor* tensor = changed.tensor(arg);
    const bool is_permuted = tensor && (tensor->flags & BP_LAYOUT_DENSE) != 0 &&
                             (tensor->flags & BP_LAYOUT_CONTIGUOUS) == 0;
    if (is_permuted) changed.repeat_flat(*tensor, tensor->numel);
  }
  return run(inner, changed.call());
}

bp_code offset_ignored(const bp_kernel& inner, const bp_call& call) {
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg)
    if (bp_tensor* tensor = changed.tensor(arg)) tensor->dl.byte_offset &= ~uint64_t{63};
  return run(inner, changed.call());
}

// Offsets of elements are kept in 31 bits.
bp_code index_overflow(const bp_kernel& inner, const bp_call& call) {
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg)
    if (bp_tensor* tensor = changed.tensor(arg))
      for (int32_t dim = 0; dim < tensor->dl.ndim; ++dim)
        if ((tensor->dl.shape[dim] - 1) * tensor->dl.strides[dim] > INT32_MAX)
          tensor->dl.strides[dim] &= INT32_MAX;
  return run(inner, changed.call());
}

// Rows of several dimensions lose the last one's odd element.
bp_code odd_row_end(const bp_kernel& inner, const bp_call& call) {
  bp_tensor& out = *call.outputs[0];
  const int32_t rank = out.dl.ndim;
  if (!is_pointwise(call) || rank < 2 || out.dl.shape[rank - 1] % 2 == 0) return run(inner, call);
  const bp_code code = run(inner, call);
  const int64_t width = out.dl.shape[rank - 1];
  for (int64_t i = width - 1; i < out.numel; i += width)
    if (width > 1) std::memcpy(element(out, i), element(out, i - 1), out.itemsize);
  return code;
}

// From rank 6 on, dimension 0 is lost.
bp_code rank_limit(const bp_kernel& inner, const bp_call& call) {
  ChangedCall changed(call);
  for (uint32_t arg = 0; arg < changed.num_args(); ++arg)
    if (bp_tensor* tensor = changed.tensor(arg))
      if (tensor->dl.ndim >= 6) tensor->dl.strides[0] = 0;
  return run(inner, changed.call());
}

// Of a matrix product whose left factor is transposed, the right one is read so too where it is square.
bp_code both_transposed(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor &a = *changed.tensor(0), &b = *changed.tensor(1);
  if (a.dl.strides[1] < a.dl.strides[2] && b.dl.shape[1] == b.dl.shape[2])
    std::swap(b.dl.strides[1], b.dl.strides[2]);
  return run(inner, changed.call());
}

bp_code k_tail(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor &a = *changed.tensor(0), &b = *changed.tensor(1);
  if (const int64_t k = a.dl.shape[2] / 4 * 4; k > 0) a.dl.shape[2] = b.dl.shape[1] = k;
  return run(inner, changed.call());
}

// The second batch and later ones read the first one's right factor.
bp_code batch_ignored(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm")) return run(inner, call);
  ChangedCall changed(call);
  changed.tensor(1)->dl.strides[0] = 0;
  return run(inner, changed.call());
}

// Of a product's right factor whose rows lie apart, though each is dense: as wide as they are.
bp_code row_stride_ignored(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "bmm")) return run(inner, call);
  ChangedCall changed(call);
  bp_tensor& b = *changed.tensor(1);
  if (b.dl.strides[2] == 1 && b.dl.strides[1] > b.dl.shape[2]) b.dl.strides[1] = b.dl.shape[2];
  return run(inner, changed.call());
}

}  // namespace

const std::vector<KernelFault> shape_faults = {
    {"vector_tail", vector_tail},
    {"vector_tail_large", vector_tail_large},
    {"broadcast_flat", broadcast_flat},
    {"in_place_broadcast", in_place_broadcast},
    {"strides_ignored", strides_ignored},
    {"offset_ignored", offset_ignored},
    {"index_overflow", index_overflow},
    {"odd_row_end", odd_row_end},
    {"rank_limit", rank_limit},
    {"both_transposed", both_transposed},
    {"k_tail", k_tail},
    {"batch_ignored", batch_ignored},
    {"row_stride_ignored", row_stride_ignored},
};

}  // namespace exam
