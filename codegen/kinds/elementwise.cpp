#include "kinds/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

namespace bp::codegen {
namespace {

// Every device takes so much as arguments of a kernel, the handles among them.
constexpr std::uint32_t most_bytes_of_values = 900;

void require_room(const Invocation& invocation, std::size_t words, const StridedSpace& space) {
  if (8 * words <= most_bytes_of_values) return;
  throw_error(ErrorClass::unsupported,
              fmt::format("{}: {} tensors of {} dimensions that do not join are too much for one "
                          "kernel; make them contiguous",
                          invocation.call.op->name, space.num_operands, space.rank));
}

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
  form.streams = is_streamed(invocation, *tensors_[0]) && !is_in_place();
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
  if (invocation.for_cpu()) {
    const std::uint64_t items = share(invocation, numel, grain, unit_of_share).items;
    form.has_one_block = form.is_narrow && items == 1 && lie_in_one_block();
    return items;
  }
  const Tile each = tile(invocation);
  const auto units =
      (static_cast<std::uint64_t>(numel) + each.width - 1) >> std::countr_zero(each.width);
  return items_of_units(units, each.unroll);
}

bool ElementwiseCall::lie_in_one_block() const {
  for (std::size_t k = 1; k < count_; ++k)
    if (handle_of(*tensors_[k]) != handle_of(*tensors_[0])) return false;
  return count_ > 1;
}

std::uint64_t ElementwiseCall::strided(const Invocation& invocation, std::int64_t grain,
                                       Values& values, Form& form) const {
  StridedSpace space(*tensors_[0]);
  for (std::size_t k = 1; k < count_; ++k) space.add(*tensors_[k]);
  space.join();
  if (space.is_flat()) return flat(invocation, grain, values, form);
  form.reach = Reach::strided;
  if (!invocation.for_cpu())
    if (const std::uint64_t items = units(invocation, space, values, form)) return items;
  form.rank_class = std::max(2, space.rank_class());
  bool by_vectors = space.inner_stride(0) == 1;
  for (int k = 1; k < space.num_operands; ++k)
    by_vectors &= space.inner_stride(k) == 0 || space.inner_stride(k) == 1;
  const RowSharing sharing =
      share_rows(invocation, space.rows(), space.inner(), grain, unit_of_share);
  const int last = space.rank - 1, outer = form.rank_class - 1;
  const std::size_t words = 7 + static_cast<std::size_t>(outer) + count_ * (2 + outer);
  require_room(invocation, words, space);
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

// 0: it takes numbers of more than 31 bits, or has too many dimensions.
std::uint64_t ElementwiseCall::units(const Invocation& invocation, const StridedSpace& space,
                                     Values& values, Form& form) const {
  std::array<const std::int64_t*, StridedSpace::max_operands> strides;
  std::array<std::int64_t, StridedSpace::max_operands> starts;
  for (std::size_t k = 0; k < count_; ++k) {
    strides[k] = space.strides[k];
    starts[k] = offset_of(*tensors_[k]);
  }
  const UnitSpace units{{space.shape.data(), static_cast<std::size_t>(space.rank)},
                        {strides.data(), count_}};
  if (units.rank_class() == 0 || !units.is_narrow()) return 0;
  form.rank_class = units.rank_class();
  form.is_narrow = true;
  const auto outer = static_cast<std::size_t>(form.rank_class - 1);
  require_room(invocation, 3 + 2 * outer + count_ * (2 + outer), space);
  Tile each = tile(invocation);
  bool by_vectors = space.inner_stride(0) == 1;
  for (int k = 1; k < space.num_operands; ++k)
    by_vectors &= space.inner_stride(k) == 0 || space.inner_stride(k) == 1;
  form.has_wide_units = each.width > 1 && by_vectors && units.divides(each.width);
  if (!form.has_wide_units) each.width = 1;
  return add_unit_values(values, units, each, {starts.data(), count_});
}

}  // namespace bp::codegen
