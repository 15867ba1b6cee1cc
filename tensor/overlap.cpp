// Which bytes tensors touch, and whether they share some.
#include <backplane/tensor/tensor.hpp>

namespace bp {
namespace {

IntList shape_of(const TensorImpl& impl) {
  return {impl.shape, static_cast<std::size_t>(impl.abi.dl.ndim)};
}

// The bytes from the first to the last that one tensor touches, its dimensions whose stride is a
// multiple of `period` left out.
std::int64_t extent_within(const TensorImpl& impl, std::int64_t period) {
  std::int64_t extent = impl.abi.itemsize;
  for (int dim = 0; dim < impl.abi.dl.ndim; ++dim) {
    const std::int64_t stride = impl.strides[dim] * impl.abi.itemsize;
    if (impl.shape[dim] > 1 && stride % period != 0) extent += (impl.shape[dim] - 1) * stride;
  }
  return extent;
}

// Seen modulo `period` bytes, each tensor lies in one interval; columns of one matrix are told
// apart by its row stride.
bool is_apart_modulo(const TensorImpl& a, const TensorImpl& b, std::int64_t distance,
                     std::int64_t period) {
  const std::int64_t start = ((distance % period) + period) % period;  // of b, as seen from a
  return start >= extent_within(a, period) && start + extent_within(b, period) <= period;
}

bool is_apart_by_strides(const TensorImpl& a, const TensorImpl& b, std::int64_t distance) {
  for (int dim = 0; dim < a.abi.dl.ndim; ++dim) {
    const std::int64_t period = a.strides[dim] * a.abi.itemsize;
    if (a.shape[dim] > 1 && period > 0 && is_apart_modulo(a, b, distance, period)) return true;
  }
  return false;
}

}  // namespace

ByteSpan touched_bytes(const TensorImpl& impl) {
  const std::uint64_t begin = impl.abi.dl.byte_offset;
  if (impl.abi.numel == 0) return {begin, begin};
  std::uint64_t last = 0;
  for (int dim = 0; dim < impl.abi.dl.ndim; ++dim)
    last += static_cast<std::uint64_t>((impl.shape[dim] - 1) * impl.strides[dim]);
  return {begin, begin + (last + 1) * impl.abi.itemsize};
}

bool may_overlap(const TensorImpl& a, const TensorImpl& b) {
  if (!a.storage || !b.storage || a.abi.numel == 0 || b.abi.numel == 0) return false;
  ByteSpan of_a = touched_bytes(a);
  ByteSpan of_b = touched_bytes(b);
  if (a.storage->handle != b.storage->handle || a.storage->device != b.storage->device) {
    // Two storages may have been made over the same host memory; other handles are opaque.
    if (!a.storage->host_readable || !b.storage->host_readable) return false;
    of_a = {of_a.begin + a.storage->handle, of_a.end + a.storage->handle};
    of_b = {of_b.begin + b.storage->handle, of_b.end + b.storage->handle};
  }
  if (of_a.end <= of_b.begin || of_b.end <= of_a.begin) return false;
  const auto distance = static_cast<std::int64_t>(of_b.begin - of_a.begin);
  return !is_apart_by_strides(a, b, distance) && !is_apart_by_strides(b, a, -distance);
}

bool is_exact_alias(const TensorImpl& a, const TensorImpl& b) {
  if (&a == &b) return true;
  if (!a.storage || a.storage != b.storage || a.abi.dl.byte_offset != b.abi.dl.byte_offset ||
      a.abi.dtype != b.abi.dtype || shape_of(a) != shape_of(b))
    return false;
  for (int dim = 0; dim < a.abi.dl.ndim; ++dim)
    if (a.shape[dim] > 1 && a.strides[dim] != b.strides[dim]) return false;
  return true;
}

bool has_internal_overlap(const TensorImpl& impl) {
  if (impl.abi.numel == 0) return false;
  for (int dim = 0; dim < impl.abi.dl.ndim; ++dim)
    if (impl.shape[dim] > 1 && impl.strides[dim] == 0) return true;
  return false;
}

}  // namespace bp
