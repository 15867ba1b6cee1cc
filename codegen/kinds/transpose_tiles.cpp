// Transposing copies on devices of GPU shape: a group reads the rows of a square tile, turns it in local
// memory, and writes the rows of the result, both in whole lines of the memory.
#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/transpose.hpp"
#include "kinds/units.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

constexpr unsigned group = constants::usual_group;

// What one tile is, for elements of a size.
struct Square {
  Dtype dtype;     // to move them as
  unsigned side;   // rows and columns: 128 bytes of each at least, and at the most 16 KiB in all
  unsigned width;  // elements of an access
  unsigned pitch;  // of a row in local memory: rows begin in different banks
};

Square square_of(std::uint32_t itemsize) {
  switch (itemsize) {
    case 1: return {Dtype::u8, 128, 16, 132};
    case 2: return {Dtype::u16, 64, 8, 66};
    case 4: return {Dtype::u32, 64, 4, 65};
    case 8: return {Dtype::u64, 32, 2, 33};
    default: return {Dtype::complex128, 32, 1, 33};
  }
}

// $row and $column are those of the tile, to read or to write: $lines of them at once, by $across accesses.
constexpr const char* turning = R"(
  LOCAL $T turned[$side * $pitch];
  GLOBAL u8* const p0 = m0 + v.start0;
  GLOBAL u8* const p1 = m1 + v.start1;
  const u32 t = (u32)group0;
  const u32 rest = quotient(t, v.down_magic), down = t - rest * (u32)v.down;
  const u32 plane = quotient(rest, v.across_magic), across = rest - plane * (u32)v.across;
  const u32 outer = quotient(plane, v.size_magic), inner = plane - outer * (u32)v.size;
  const i64 to0 = (i64)outer * v.to_plane[0] + (i64)inner * v.to_plane[1];
  const i64 from0 = (i64)outer * v.from_plane[0] + (i64)inner * v.from_plane[1];
  const i64 row0 = (i64)down * $side, column0 = (i64)across * $side;
  const i64 to = to0 + row0 * v.to_stride + column0, from = from0 + column0 * v.from_stride + row0;
  const i64 rows = v.rows - row0 < $side ? v.rows - row0 : $side;
  const i64 columns = v.columns - column0 < $side ? v.columns - column0 : $side;
  const int is_whole = rows == $side && columns == $side;
  const int line = lane / $across, place = lane % $across * $width;
  if (is_whole && ((u64)p1 % 16 | (u64)(from % $width | v.from_stride % $width)) == 0) {
    $T x[$passes][$width];
    UNROLL for (int i = 0; i < $passes; ++i)
      $loads(p1, from + (i64)(line + i * $lines) * v.from_stride + place, $x);
    UNROLL for (int i = 0; i < $passes; ++i)
      UNROLL for (int k = 0; k < $width; ++k)
        turned[(place + k) * $pitch + line + i * $lines] = x[i][k];
  } else {
    for (int i = lane; i < $side * $side; i += $group) {
      const int column = i / $side, row = i % $side;
      if (row < rows && column < columns)
        turned[row * $pitch + column] = load_$D(p1, from + column * v.from_stride + row);
    }
  }
  BARRIER
  if (is_whole && ((u64)p0 % 16 | (u64)(to % $width | v.to_stride % $width)) == 0) {
    $T y[$passes][$width];
    UNROLL for (int i = 0; i < $passes; ++i)
      UNROLL for (int k = 0; k < $width; ++k)
        y[i][k] = turned[(line + i * $lines) * $pitch + place + k];
    UNROLL for (int i = 0; i < $passes; ++i)
      $stores(p0, to + (i64)(line + i * $lines) * v.to_stride + place, $y);
  } else {
    for (int i = lane; i < $side * $side; i += $group) {
      const int row = i / $side, column = i % $side;
      if (row < rows && column < columns)
        store_$D(p0, to + row * v.to_stride + column, turned[row * $pitch + column]);
    }
  }
)";

KernelText make_text(const std::string& name, std::uint32_t itemsize) {
  const Square square = square_of(itemsize);
  const std::string_view dtype = suffix(square.dtype);
  const unsigned across = square.side / square.width, lines = group / across;
  KernelText text;
  text.name = fmt::format("{}_{}_turned", name, dtype);
  text.num_memory = 2;
  text.group_size = group;
  for (const char* field : {"start0", "start1", "rows", "columns", "to_stride", "from_stride",
                            "down", "down_magic", "across", "across_magic", "size", "size_magic"})
    text.values.push_back({field});
  text.values.push_back({"to_plane", false, 2});
  text.values.push_back({"from_plane", false, 2});
  text.helpers = UnitText::helpers();
  const auto words = [&](const char* verb) {
    return fmt::format("{}_{}_{}", verb, dtype, square.width);
  };
  text.body = fill_in(turning, {{"T", compute_type(square.dtype)},
                                {"D", dtype},
                                {"side", std::to_string(square.side)},
                                {"pitch", std::to_string(square.pitch)},
                                {"width", std::to_string(square.width)},
                                {"across", std::to_string(across)},
                                {"lines", std::to_string(lines)},
                                {"passes", std::to_string(square.side / lines)},
                                {"group", std::to_string(group)},
                                {"loads", words("loads")},
                                {"stores", words("stores")},
                                {"x", "x[i]"},
                                {"y", "y[i]"}});
  return text;
}

}  // namespace

bool transpose_by_tiles(Invocation& invocation, const std::string& name, const bp_tensor& out,
                        const bp_tensor& from, const Turn& turn) {
  const Square square = square_of(out.itemsize);
  if (invocation.device.language() == Language::c11) return false;  // no groups there
  const bp_compiler_info& info = invocation.info();
  const std::uint64_t bytes = std::uint64_t{square.side} * square.pitch * out.itemsize;
  if (info.local_memory < bytes || info.max_group_items < group || info.max_group[0] < group)
    return false;
  const std::int64_t side = square.side;
  const std::int64_t down = (turn.rows + side - 1) / side,
                     across = (turn.columns + side - 1) / side;
  const std::int64_t tiles = turn.sizes[0] * turn.sizes[1] * down * across;
  if (tiles >= std::int64_t{1} << 31) return false;
  Values values;
  values.add(offset_of(out)).add(offset_of(from)).add(turn.rows).add(turn.columns);
  values.add(turn.to_stride).add(turn.from_stride);
  for (std::int64_t each : {down, across, turn.sizes[1]}) values.add(each).add(magic_of(each));
  values.add_all(turn.to_plane).add_all(turn.from_plane);
  bp_function* function = invocation.function(turn_variant | out.itemsize,
                                              [&] { return make_text(name, out.itemsize); });
  Grid grid;
  grid.items[0] = static_cast<std::uint64_t>(tiles) * group;
  grid.group[0] = group;
  invocation.launch(function, grid, {handle_of(out), handle_of(from)}, values);
  return true;
}

}  // namespace bp::codegen
