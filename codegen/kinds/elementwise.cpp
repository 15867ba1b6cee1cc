#include "kinds/elementwise.hpp"

#include <algorithm>

#include <backplane/tensor/error.hpp>

namespace bp::codegen {
namespace {

// Every device takes so much as arguments of a kernel, the handles among them.
constexpr std::uint32_t most_bytes_of_values = 900;

}  // namespace

unsigned vector_width(const Invocation& invocation, unsigned bytes) {
  if (invocation.device.language() != Language::opencl_c || !invocation.for_cpu()) return 1;
  return std::min(16u, 64u / bytes);
}

std::uint64_t ElementwiseCall::flat(const Invocation& invocation, std::int64_t grain,
                                    Values& values, Form& form) const {
  const std::int64_t numel = tensors_[0]->numel;
  std::uint64_t all = static_cast<std::uint64_t>(numel);
  for (std::size_t k = 0; k < count_; ++k) all |= tensors_[k]->dl.byte_offset;
  form.is_narrow = all >> 32 == 0;
  if (form.is_narrow) {
    std::int64_t low = numel;
    for (std::size_t k = 0; k < count_; ++k) {
      if (k % 2 == 0)
        values.add(low | offset_of(*tensors_[k]) << 32);
      else
        low = offset_of(*tensors_[k]);
    }
    if (count_ % 2 == 0) values.add(low);
  } else {
    values.add(numel);
    for (std::size_t k = 0; k < count_; ++k) values.add(offset_of(*tensors_[k]));
  }
  return share(invocation, numel, grain, unit_of_share).items;
}

std::uint64_t ElementwiseCall::strided(const Invocation& invocation, std::int64_t grain,
                                       Values& values, Form& form) const {
  StridedSpace space(*tensors_[0]);
  for (std::size_t k = 1; k < count_; ++k) space.add(*tensors_[k]);
  space.join();
  if (space.is_flat()) return flat(invocation, grain, values, form);
  form.reach = Reach::strided;
  form.rank_class = std::max(2, space.rank_class());
  bool by_vectors = space.inner_stride(0) == 1;
  for (int k = 1; k < space.num_operands; ++k)
    by_vectors &= space.inner_stride(k) == 0 || space.inner_stride(k) == 1;
  const RowSharing sharing =
      share_rows(invocation, space.rows(), space.inner(), grain, unit_of_share);
  const int last = space.rank - 1, outer = form.rank_class - 1;
  const std::size_t words = 7 + static_cast<std::size_t>(outer) + count_ * (2 + outer);
  if (8 * words > most_bytes_of_values)
    throw_error(ErrorClass::unsupported,
                fmt::format("{}: {} tensors of {} dimensions that do not join are too much for one "
                            "kernel; make them contiguous",
                            invocation.call.op->name, count_, space.rank));
  values.add(space.rows()).add(space.inner()).add(sharing.pieces).add(sharing.piece);
  values.add(sharing.each).add(std::int64_t{last}).add(std::int64_t{by_vectors});
  for (int dim = 0; dim < outer; ++dim) values.add(dim < last ? space.shape[dim] : std::int64_t{1});
  for (std::size_t k = 0; k < count_; ++k) {
    values.add(offset_of(*tensors_[k])).add(space.strides[k][last]);
    for (int dim = 0; dim < outer; ++dim)
      values.add(dim < last ? space.strides[k][dim] : std::int64_t{0});
  }
  return sharing.items;
}

}  // namespace bp::codegen
