#include "inputs/layouts.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <backplane/abi.h>

#include "inputs/element.hpp"

namespace bp::conform {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::array<std::string_view, 12> names_of_layouts = {
    "plain",  "offset", "transpose", "permute", "step2",         "padded",
    "expand", "inner",  "overlap",   "far",     "channels_last", "own"};
constexpr std::int64_t far_apart = (std::int64_t{1} << 31) + 64;  // bytes

// Row-major strides when memory has the dimensions in this order, the last one being the closest.
Sizes strides_in_order(const Sizes& shape, const Sizes& order) {
  Sizes strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<std::size_t>(order[i]);
    strides[dim] = step;
    step *= std::max<std::int64_t>(shape[dim], 1);
  }
  return strides;
}

Sizes usual_order(std::size_t rank) {
  Sizes order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  return order;
}

Sizes overlapping_strides(const Sizes& shape) {
  Sizes strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>((shape[i] + 1) / 2, 1);
  }
  return strides;
}

Sizes strides_for(const Sizes& shape, std::string_view layout, Dtype dtype) {
  const std::size_t rank = shape.size();
  Sizes order = usual_order(rank);
  if (layout == "transpose" && rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  if (layout == "permute") std::reverse(order.begin(), order.end());
  if (layout == "channels_last" && rank >= 4)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  Sizes strides = strides_in_order(shape, order);
  if (layout == "step2")
    for (std::int64_t& stride : strides) stride *= 2;
  if (layout == "padded" && rank >= 2) {
    Sizes wider = shape;
    wider.back() += 3;
    strides = row_major_strides(wider);
  }
  if (layout == "expand" && rank >= 1) {
    Sizes row = shape;
    row[0] = 1;
    strides = row_major_strides(row);
    strides[0] = 0;
  }
  if (layout == "inner" && rank >= 1) {
    Sizes column = shape;
    column.back() = 1;
    strides = row_major_strides(column);
    strides.back() = 0;
  }
  if (layout == "overlap" && rank >= 2) return overlapping_strides(shape);
  if (layout == "far" && rank >= 1) strides[0] = far_apart / itemsize(dtype);
  return strides;
}

// One past the last element that is touched, relative to the first.
std::int64_t reach_of(const Sizes& shape, const Sizes& strides) {
  std::int64_t reach = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    reach += std::max<std::int64_t>(shape[i] - 1, 0) * strides[i];
  return reach;
}

}  // namespace

bool is_layout_name(std::string_view name) {
  return std::find(names_of_layouts.begin(), names_of_layouts.end(), name) !=
         names_of_layouts.end();
}

bool is_read_only_layout(std::string_view name) {
  return name == "expand" || name == "inner" || name == "overlap";
}

std::int64_t numel_of(const Sizes& shape) {
  std::int64_t numel = 1;
  for (const std::int64_t size : shape) numel *= size;
  return numel;
}

Sizes row_major_strides(const Sizes& shape) {
  return strides_in_order(shape, usual_order(shape.size()));
}

Laid lay_out(Dtype dtype, const Sizes& shape, std::string_view layout, std::uint64_t seed) {
  Laid laid;
  laid.dtype = dtype;
  laid.shape = shape;
  laid.strides = strides_for(shape, layout, dtype);
  laid.offset = layout == "offset" || layout == "step2" ? 1 : 0;
  const std::int64_t elements = laid.offset + reach_of(shape, laid.strides);
  if (layout == "far" && !shape.empty()) {
    laid.sparse_bytes = static_cast<std::uint64_t>(elements) * itemsize(dtype);
    laid.storage.resize(static_cast<std::size_t>(numel_of(shape)) * itemsize(dtype));
    return laid;
  }
  laid.storage.resize(static_cast<std::size_t>(elements) * itemsize(dtype));
  // A bool's gap is a valid bool; whatever else lies there may be anything.
  for (std::size_t i = 0; i < laid.storage.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word =
        dtype == boolean ? 0x0100010001000100 : mix(seed, i) | 0x4040404040404040;
    std::memcpy(&laid.storage[i], &word, std::min(sizeof word, laid.storage.size() - i));
  }
  return laid;
}

std::uint32_t layout_flags(const Laid& laid) {
  const auto lies_as = [&](const Sizes& order) {
    const Sizes strides = strides_in_order(laid.shape, order);
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (laid.shape[i] != 1 && strides[i] != laid.strides[i]) return false;
    return true;
  };
  const std::size_t rank = laid.shape.size();
  std::uint32_t flags = BP_LAYOUT_STRIDED;
  Sizes order = usual_order(rank);
  if (numel_of(laid.shape) == 0 || lies_as(order)) flags |= BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE;
  if (rank == 4 && lies_as({0, 2, 3, 1})) flags |= BP_LAYOUT_CHANNELS_LAST | BP_LAYOUT_DENSE;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const auto stride = [&](std::int64_t dim) {
      return laid.shape[static_cast<std::size_t>(dim)] == 1
                 ? INT64_MAX
                 : laid.strides[static_cast<std::size_t>(dim)];
    };
    return stride(a) > stride(b);
  });
  if (lies_as(order)) flags |= BP_LAYOUT_DENSE;
  return flags;
}

namespace {

// Calls `visit` for each element in row-major order with its number and its place, in elements.
template <class Visit> void walk_elements(const Laid& laid, Visit&& visit) {
  const std::int64_t count = numel_of(laid.shape);
  Sizes at(laid.shape.size(), 0);
  std::int64_t place = laid.offset;
  for (std::int64_t i = 0; i < count; ++i) {
    visit(i, place);
    for (std::size_t d = at.size(); d-- > 0;) {
      place += laid.strides[d];
      if (++at[d] < laid.shape[d]) break;
      place -= laid.strides[d] * laid.shape[d];
      at[d] = 0;
    }
  }
}

}  // namespace

void for_each_element(Laid& laid, const std::function<void(std::int64_t, unsigned char*)>& make) {
  const std::int64_t size = itemsize(laid.dtype);
  walk_elements(laid, [&](std::int64_t i, std::int64_t place) {
    make(i, laid.storage.data() + (laid.sparse_bytes ? i : place) * size);
  });
}

std::vector<std::uint64_t> sparse_offsets(const Laid& laid) {
  std::vector<std::uint64_t> offsets;
  walk_elements(laid, [&](std::int64_t, std::int64_t place) {
    offsets.push_back(static_cast<std::uint64_t>(place) * itemsize(laid.dtype));
  });
  return offsets;
}

std::vector<unsigned char> packed_elements(const Laid& laid) {
  const std::size_t size = itemsize(laid.dtype);
  const std::size_t bytes = static_cast<std::size_t>(numel_of(laid.shape)) * size;
  if (laid.sparse_bytes == 0 && laid.strides == row_major_strides(laid.shape)) {
    const auto first = laid.storage.begin() + laid.offset * static_cast<std::int64_t>(size);
    return {first, first + static_cast<std::int64_t>(bytes)};
  }
  std::vector<unsigned char> packed(bytes);
  for_each_element(const_cast<Laid&>(laid), [&](std::int64_t i, unsigned char* at) {
    std::memcpy(packed.data() + static_cast<std::size_t>(i) * size, at, size);
  });
  return packed;
}

}  // namespace bp::conform
