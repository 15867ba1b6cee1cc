// The axis of layouts: how a tensor of a shape lies in its memory, by a name.
#pragma once

#include <functional>
#include <string_view>

#include "inputs/problem.hpp"

namespace bp::conform {

// The names that there are. One that a shape has no room for (transpose of a vector) gives the plain layout.
//   plain       row-major, without gaps                    offset   the same, one element behind the start
//   transpose   the last two dimensions swapped in memory  permute  all dimensions the other way round
//   step2       every other element of the last dimension  padded   rows with three elements between them
//   expand      stride 0 in the first dimension            inner    stride 0 in the last one
//   overlap     windows that share elements (read only)    channels_last  of rank 4 and 5
//   far         two elements 2^31 + 64 bytes apart         own      the sample's own
bool is_layout_name(std::string_view name);
bool is_read_only_layout(std::string_view name);  // several elements share a place

// Without values: the storage has its size and is filled with the gap pattern of the seed.
Laid lay_out(Dtype dtype, const std::vector<std::int64_t>& shape, std::string_view layout,
             std::uint64_t seed);

// The BP_LAYOUT_* that hold.
std::uint32_t layout_flags(const Laid& laid);

std::int64_t numel_of(const std::vector<std::int64_t>& shape);
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape);

// Calls `make` for each element in row-major order with its number and its address; of several that share a
// place the last one stays. Of a sparse tensor the storage holds the elements alone.
void for_each_element(Laid& laid, const std::function<void(std::int64_t, unsigned char*)>& make);
// Of a sparse tensor: each element's offset in bytes in the memory that it stands for.
std::vector<std::uint64_t> sparse_offsets(const Laid& laid);
// The elements' bytes, row-major.
std::vector<unsigned char> packed_elements(const Laid& laid);

}  // namespace bp::conform
