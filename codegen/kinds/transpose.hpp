// Copies that turn rows into columns: in blocks, so that each line of the memory that is read or written is
// used up before it leaves the cache, or the group.
#pragma once

#include <string>

#include "device/invocation.hpp"

namespace bp::codegen {

// False, with nothing done, unless the output runs along one dimension and the input along another, for
// elements of a size that the device's kernels take and long enough rows.
bool transpose(Invocation& invocation, const std::string& name, const bp_tensor& out,
               const bp_tensor& from);

// The dimensions of such a copy: `rows` is the one along which the input runs, `columns` the output's. The
// others, two at the most, are planes; missing ones have one element. Strides in elements.
struct Turn {
  std::int64_t rows = 0, columns = 0;
  std::int64_t to_stride = 0, from_stride = 0;  // of a row in the output, of a column in the input
  std::int64_t sizes[2] = {1, 1}, to_plane[2] = {}, from_plane[2] = {};
};

// On devices of GPU shape. False, with nothing done, where groups or their memory are too small.
bool transpose_by_tiles(Invocation& invocation, const std::string& name, const bp_tensor& out,
                        const bp_tensor& from, const Turn& turn);

inline constexpr std::uint64_t turn_variant = std::uint64_t{1} << 40;  // no elementwise kernel's

}  // namespace bp::codegen
