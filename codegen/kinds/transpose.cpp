#include "kinds/transpose.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "kinds/sharing.hpp"
#include "kinds/strides.hpp"

namespace bp::codegen {
namespace {

constexpr int block = 8;        // turned in registers (16 by 16 take twice as long on PoCL)
constexpr int tile = 256;       // rows and columns that share the cache's lines and pages
constexpr int least_rows = 16;  // below it there is nothing to win
constexpr int max_planes_rank = 2;

// Rows and columns that are done before others, so that lines of the cache are used up while they are near.
int line_of_size(std::uint32_t itemsize) {
  return std::clamp(64 / static_cast<int>(itemsize), block, tile);
}

const char* bits_of_size(std::uint32_t itemsize) {
  return itemsize == 1 ? "u8" : itemsize == 2 ? "u16" : itemsize == 4 ? "u32" : "u64";
}

// Vectors of the input become columns.
std::string vector_block(const char* bits) {
  std::string body;
  for (int i = 0; i < block; ++i)
    body +=
        fmt::format("      const {0}x{2} c{1} = load_{0}x{2}(p1, from + {1} * v.from_stride);\n",
                    bits, i, block);
  for (int i = 0; i < block; ++i) {
    std::string elements;
    for (int k = 0; k < block; ++k) elements += fmt::format("{}c{}.s{}", k ? ", " : "", k, i);
    body += fmt::format("      store_{0}x{3}(p0, to + {1} * v.to_stride, ({0}x{3})({2}));\n", bits,
                        i, elements, block);
  }
  return body;
}

std::string scalar_block(const char* bits, const char* rows, const char* columns) {
  return fmt::format(
      "      for (i64 i = 0; i < {1}; ++i)\n        for (i64 k = 0; k < {2}; ++k)\n"
      "          store_{0}(p0, to + i * v.to_stride + k, load_{0}(p1, from + k * v.from_stride + "
      "i));\n",
      bits, rows, columns);
}

KernelText make_text(const std::string& name, std::uint32_t itemsize, bool by_vectors) {
  const char* bits = bits_of_size(itemsize);
  KernelText text;
  text.name = fmt::format("{}_{}_turned", name, bits);
  text.num_memory = 2;
  text.values = {{"start0"},
                 {"start1"},
                 {"rows"},
                 {"columns"},
                 {"to_stride"},
                 {"from_stride"},
                 {"down"},
                 {"across"},
                 {"tiles"},
                 {"share"},
                 {"size"},
                 {"to_plane", false, 2},
                 {"from_plane", false, 2}};
  text.body = fmt::format(R"(  GLOBAL u8* const p0 = m0 + v.start0;
  GLOBAL u8* const p1 = m1 + v.start1;
  const i64 last = (item0 + 1) * v.share < v.tiles ? (item0 + 1) * v.share : v.tiles;
  for (i64 t = item0 * v.share; t < last; ++t) {{
    const i64 plane = t / (v.down * v.across), in_plane = t - plane * (v.down * v.across);
    const i64 outer = plane / v.size, inner = plane - outer * v.size;
    const i64 row0 = in_plane % v.down * {0}, column0 = in_plane / v.down * {0};
    const i64 row1 = row0 + {0} < v.rows ? row0 + {0} : v.rows;
    const i64 column1 = column0 + {0} < v.columns ? column0 + {0} : v.columns;
    const i64 to0 = outer * v.to_plane[0] + inner * v.to_plane[1];
    const i64 from0 = outer * v.from_plane[0] + inner * v.from_plane[1];
    for (i64 line_row = row0; line_row < row1; line_row += {2})
    for (i64 line_column = column0; line_column < column1; line_column += {2})
    for (i64 column = line_column; column < line_column + {2} && column < column1; column += {1})
    for (i64 row = line_row; row < line_row + {2} && row < row1; row += {1}) {{
      const i64 to = to0 + row * v.to_stride + column, from = from0 + column * v.from_stride + row;
      const i64 rows = row1 - row < {1} ? row1 - row : {1};
      const i64 columns = column1 - column < {1} ? column1 - column : {1};
)",
                          tile, block, line_of_size(itemsize));
  if (by_vectors)
    text.body +=
        fmt::format("      if (rows == {0} && columns == {0}) {{\n{1}      continue;\n      }}\n",
                    block, vector_block(bits));
  text.body += scalar_block(bits, "rows", "columns") + "    }\n  }\n";
  return text;
}

// The dimension along which the input runs, if it is another than the output's; else -1.
int turned_dim(const StridedSpace& space) {
  const int last = space.rank - 1;
  if (space.rank < 2 || space.rank > 2 + max_planes_rank) return -1;
  if (space.strides[0][last] != 1 || space.strides[1][last] == 1) return -1;
  if (space.shape[last] < least_rows) return -1;
  for (int dim = 0; dim < last; ++dim)
    if (space.strides[1][dim] == 1 && space.shape[dim] >= least_rows) return dim;
  return -1;
}

}  // namespace

bool transpose(Invocation& invocation, const std::string& name, const bp_tensor& out,
               const bp_tensor& from) {
  if (out.itemsize > 8) return false;
  StridedSpace space(out);
  space.add(from);
  space.join();
  const int turned = turned_dim(space);
  if (turned < 0) return false;
  const int last = space.rank - 1;
  const std::int64_t rows = space.shape[turned], columns = space.shape[last];
  const std::int64_t down = (rows + tile - 1) / tile, across = (columns + tile - 1) / tile;
  // The other dimensions, two at the most, are planes; missing ones have one element.
  std::int64_t sizes[2] = {1, 1}, to_plane[2] = {}, from_plane[2] = {};
  int plane = 1;
  for (int dim = last - 1; dim >= 0; --dim) {
    if (dim == turned) continue;
    sizes[plane] = space.shape[dim];
    to_plane[plane] = space.strides[0][dim];
    from_plane[plane] = space.strides[1][dim];
    --plane;
  }
  const std::int64_t tiles = sizes[0] * sizes[1] * down * across;
  const Sharing sharing = share(invocation, tiles, 1, 1);
  Values values;
  values.add(offset_of(out)).add(offset_of(from)).add(rows).add(columns);
  values.add(space.strides[0][turned]).add(space.strides[1][last]);
  values.add(down).add(across).add(tiles).add(sharing.each).add(sizes[1]);
  values.add_all(to_plane).add_all(from_plane);
  constexpr std::uint64_t this_kind = std::uint64_t{1} << 40;  // no elementwise kernel's variant
  bp_function* function = invocation.function(this_kind | out.itemsize, [&] {
    return make_text(name, out.itemsize, invocation.device.language() == Language::opencl_c);
  });
  Grid grid;
  grid.items[0] = sharing.items;
  invocation.launch(function, grid, {handle_of(out), handle_of(from)}, values);
  return true;
}

}  // namespace bp::codegen
