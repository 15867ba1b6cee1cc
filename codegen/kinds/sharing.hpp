// How many work-items share a job. On processors a few per core, each with a run of neighbours, and one
// alone for what is soon done; elsewhere one per element, up to what fills any device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "constants.hpp"
#include "device/invocation.hpp"

namespace bp::codegen {

struct Sharing {
  std::uint64_t items;
  std::int64_t each;  // elements of a work-item; on processors
};

constexpr int line_bytes = 64;  // of a processor's caches

// Does a processor write the result past the caches, where nobody would find it?
inline bool is_streamed(const Invocation& invocation, const bp_tensor& out) {
  return out.numel * out.itemsize >= constants::streamed_bytes && invocation.for_cpu() &&
         invocation.device.language() == Language::opencl_c;
}

// `grain`: elements that are worth a work-item. `each` is a multiple of `unit`.
inline Sharing share(const Invocation& invocation, std::int64_t count, std::int64_t grain,
                     std::int64_t unit) {
  if (count <= grain && invocation.for_cpu()) return {1, count};
  if (!invocation.for_cpu())
    return {std::clamp<std::uint64_t>(static_cast<std::uint64_t>(count), 1, constants::most_items),
            1};
  const auto most = std::max<std::int64_t>(
      1, std::int64_t{invocation.info().compute_units} * constants::items_per_core);
  const std::int64_t wanted = std::min(most, (count + grain - 1) / grain);
  const std::int64_t each = ((count + wanted - 1) / wanted + unit - 1) / unit * unit;
  return {static_cast<std::uint64_t>((count + each - 1) / each), each};
}

// The same for rows of `inner` elements: long ones are cut into `pieces` of `piece` elements.
struct RowSharing {
  std::uint64_t items;
  std::int64_t pieces, piece;
  std::int64_t each;  // pieces of a work-item
};

inline RowSharing share_rows(const Invocation& invocation, std::int64_t rows, std::int64_t inner,
                             std::int64_t grain, std::int64_t unit) {
  const Sharing all = share(invocation, rows * inner, grain, unit);
  const auto items = static_cast<std::int64_t>(all.items);
  RowSharing sharing{all.items, 1, inner, 1};
  if (!invocation.for_cpu()) return sharing;
  if (rows < constants::pieces_per_item * items && items > 1) {
    const std::int64_t pieces = (constants::pieces_per_item * items + rows - 1) / rows;
    sharing.piece = ((inner + pieces - 1) / pieces + unit - 1) / unit * unit;
    sharing.pieces = (inner + sharing.piece - 1) / sharing.piece;
  }
  const std::int64_t units = rows * sharing.pieces;
  sharing.each = (units + items - 1) / items;
  sharing.items = static_cast<std::uint64_t>((units + sharing.each - 1) / sharing.each);
  return sharing;
}

}  // namespace bp::codegen
