// How kernels for devices of GPU shape go over elements by strides: in units of neighbours along the last
// dimension, a few to each work-item, with 32-bit numbers and without a division.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constants.hpp"
#include "device/invocation.hpp"
#include "dialect/dialect.hpp"

namespace bp::codegen {

// What a work-item moves at once: `width` neighbours, at the most 16 bytes of each operand, and `unroll`
// times that, so that several loads are on their way. Powers of two.
struct Tile {
  unsigned width = 1, unroll = 1;
};
// For elements of so many bytes, output included, and so many inputs.
Tile tile_of(Language language, std::uint32_t largest, std::uint32_t smallest, std::size_t inputs);

// The work-items for so many units.
inline std::uint64_t items_of_units(std::uint64_t units, unsigned unroll) {
  // No division: they are powers of two.
  const std::uint64_t tile = constants::items_side_by_side * unroll;
  return std::max<std::uint64_t>(1, (units + tile - 1) >> std::countr_zero(tile)) *
         constants::items_side_by_side;
}

// A shape and the strides of its operands, in elements.
struct UnitSpace {
  std::span<const std::int64_t> size;
  std::span<const std::int64_t* const> strides;

  int rank() const { return static_cast<int>(size.size()); }
  std::int64_t row_size() const { return size.back(); }
  // Kernels are made for so many dimensions; 0: there is none for so many.
  int rank_class() const;
  // Are there elements, and are all places and distances numbers of 31 bits?
  bool is_narrow() const;
  // Do units of `width` fill the rows, and lie at multiples of it in every operand that has a step of 1?
  // Those with another are looked at no further.
  bool divides(unsigned width) const;
};

// The part of a text that finds a work-item's units. Operand `out`: `v.out_start` is its first byte,
// `v.out_step` the way to the next element.
struct UnitText {
  int rank_class;
  Tile tile;
  std::vector<std::string> operands;

  void add_fields(std::vector<Field>& fields) const;
  // Declares `out_at`, an array of the element where each of the work-item's units begins, and `row_at`, the
  // place of it in its row; the last unit stands for those beyond the end. `is_unit(u)` tells them apart.
  std::string places() const;
  static std::string helpers();
};
// What add_fields declares, in the same order; returns the number of work-items. `starts`: in bytes.
std::uint64_t add_unit_values(Values& values, const UnitSpace& space, const Tile& tile,
                              std::span<const std::int64_t> starts);

// For `quotient` of the helpers: n / divisor, of n below 2^31, by a multiplication.
std::int64_t magic_of(std::int64_t divisor);

}  // namespace bp::codegen
