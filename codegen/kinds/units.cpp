#include "kinds/units.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fmt/format.h>

#include "constants.hpp"

namespace bp::codegen {
namespace {

constexpr unsigned bytes_at_once = 16;  // the widest access that the languages have

}  // namespace

Tile tile_of(Language language, std::uint32_t largest, std::uint32_t smallest, std::size_t inputs) {
  Tile tile;
  if (language != Language::c11) {
    tile.width = bytes_at_once >> std::countr_zero(largest);
    // A store of single bytes costs as much as one of four.
    while (tile.width * smallest < 4) tile.width *= 2;
  }
  unsigned bytes = tile.width * largest * static_cast<unsigned>(std::max<std::size_t>(1, inputs));
  while (2 * bytes <= constants::bytes_under_way &&
         2 * tile.unroll * tile.width <= constants::most_elements &&
         tile.unroll < constants::most_unroll) {
    tile.unroll *= 2;
    bytes *= 2;
  }
  return tile;
}

int UnitSpace::rank_class() const {
  for (int known : {2, 3, 4, 8})
    if (rank() <= known) return known;
  return 0;
}

bool UnitSpace::is_narrow() const {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t numel = 1;
  for (std::int64_t each : size) {
    numel *= each;
    if (numel >= most) return false;
  }
  if (numel == 0) return false;
  for (const std::int64_t* stride : strides) {
    std::int64_t reach = 0;
    for (int dim = 0; dim < rank(); ++dim) {
      if (std::llabs(stride[dim]) >= most) return false;
      reach += (size[dim] - 1) * std::llabs(stride[dim]);
    }
    if (reach >= most) return false;
  }
  return true;
}

bool UnitSpace::divides(unsigned width) const {
  if (row_size() % width != 0) return false;
  const int last = rank() - 1;
  for (const std::int64_t* stride : strides) {
    if (stride[last] != 1) continue;
    for (int dim = 0; dim < last; ++dim)
      if (stride[dim] % width != 0) return false;
  }
  return true;
}

void UnitText::add_fields(std::vector<Field>& fields) const {
  const int outer = rank_class - 1;
  for (const char* name : {"units", "per_row", "row_magic"}) fields.push_back({name});
  fields.push_back({"outer_size", false, outer});
  fields.push_back({"outer_magic", false, outer});
  for (const std::string& operand : operands) {
    fields.push_back({operand + "_start"});
    fields.push_back({operand + "_step"});
    fields.push_back({operand + "_stride", false, outer});
  }
}

std::string UnitText::helpers() {
  return "DEVICE u32 quotient(u32 n, i64 magic) {\n"
         "  return ((u32)((u64)n * (u32)magic >> 32) + n) >> (u32)(magic >> 32);\n}\n";
}

std::string UnitText::places() const {
  std::string text = fmt::format(
      "  const u32 first_unit = (u32)item0 / {0}u * {1}u + (u32)item0 % {0}u;\n"
      "  const u32 units = (u32)v.units;\n#define is_unit(u) (first_unit + (u32)(u) * {0}u < "
      "units)\n"
      "  i32 row_at[{2}];\n",
      constants::items_side_by_side, constants::items_side_by_side * tile.unroll, tile.unroll);
  for (const std::string& operand : operands)
    text += fmt::format("  i32 {}_at[{}];\n", operand, tile.unroll);
  text += fmt::format(
      "  UNROLL for (int u = 0; u < {0}; ++u) {{\n"
      "    const u32 unit = is_unit(u) ? first_unit + (u32)u * {1}u : units - 1;\n"
      "    u32 row = quotient(unit, v.row_magic);\n"
      "    row_at[u] = (i32)(unit - row * (u32)v.per_row) * {2};\n",
      tile.unroll, constants::items_side_by_side, tile.width);
  for (const std::string& operand : operands)
    text += fmt::format("    {0}_at[u] = row_at[u] * (i32)v.{0}_step;\n", operand);
  for (int dim = rank_class - 2; dim >= 0; --dim) {
    // Nothing is left to divide for the first dimension.
    text += dim > 0 ? fmt::format(
                          "    {{ const u32 rest = quotient(row, v.outer_magic[{0}]);\n"
                          "      const i32 place = (i32)(row - rest * (u32)v.outer_size[{0}]);\n"
                          "      row = rest;\n",
                          dim)
                    : std::string("    { const i32 place = (i32)row;\n");
    for (const std::string& operand : operands)
      text += fmt::format("      {0}_at[u] += place * (i32)v.{0}_stride[{1}];\n", operand, dim);
    text += "    }\n";
  }
  return text + "  }\n";
}

// Granlund and Montgomery, "Division by invariant integers using multiplication", 1994: the multiplier is
// 2^32 + this one's low half, the shift its high half.
std::int64_t magic_of(std::int64_t divisor) {
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto shift = static_cast<std::uint64_t>(std::bit_width(d - 1));
  const std::uint64_t multiplier = (((std::uint64_t{1} << shift) - d) << 32) / d + 1;
  return static_cast<std::int64_t>(multiplier | shift << 32);
}

std::uint64_t add_unit_values(Values& values, const UnitSpace& space, const Tile& tile,
                              std::span<const std::int64_t> starts) {
  const int rank = space.rank(), outer = space.rank_class() - 1;
  const int missing = outer - (rank - 1);
  const std::int64_t per_row = space.row_size() / tile.width;
  std::int64_t units = per_row;
  for (int dim = 0; dim < rank - 1; ++dim) units *= space.size[static_cast<std::size_t>(dim)];
  values.add(units).add(per_row).add(magic_of(per_row));
  const auto size_of = [&](int dim) {
    return dim < missing ? std::int64_t{1} : space.size[static_cast<std::size_t>(dim - missing)];
  };
  for (int dim = 0; dim < outer; ++dim) values.add(size_of(dim));
  for (int dim = 0; dim < outer; ++dim) values.add(magic_of(size_of(dim)));
  for (std::size_t k = 0; k < space.strides.size(); ++k) {
    values.add(starts[k]).add(space.strides[k][rank - 1]);
    for (int dim = 0; dim < outer; ++dim)
      values.add(dim < missing ? std::int64_t{0} : space.strides[k][dim - missing]);
  }
  return items_of_units(static_cast<std::uint64_t>(units), tile.unroll);
}

}  // namespace bp::codegen
