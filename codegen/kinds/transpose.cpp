#include "kinds/transpose.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "constants.hpp"
#include "kinds/sharing.hpp"
#include "kinds/strides.hpp"

namespace bp::codegen {
namespace {

constexpr int tile = constants::turned_tile;
constexpr int max_planes_rank = 2;

// Rows and columns that are turned in registers.
int block_of_size(std::uint32_t itemsize) {
  return itemsize == 8 ? 8 : 16;
}

// Those that are done before others, so that lines of the cache are used up while they are near.
int line_of_size(std::uint32_t itemsize) {
  return std::max(line_bytes / static_cast<int>(itemsize), block_of_size(itemsize));
}

const char* bits_of_size(std::uint32_t itemsize) {
  return itemsize == 1 ? "u8" : itemsize == 2 ? "u16" : itemsize == 4 ? "u32" : "u64";
}

// Elements of x and y in turns, `first` .. of each: the words of an initializer, or the numbers of a shuffle.
std::string in_turns(int block, int first, bool as_words) {
  std::string list;
  for (int k = first; k < first + block / 2; ++k)
    list += as_words ? fmt::format("{0}(x).s{1:x}, (y).s{1:x}", k == first ? "" : ", ", k)
                     : fmt::format(", {}, {}", k, k + block);
  return list;
}

// Compilers that are made of clang fold shuffles that are written as single elements, round after round, into
// many worse ones: half the speed on PoCL 3.1.
std::string turning_words(const char* bits, int block) {
  const auto shuffle = [&](const char* name, int first) {
    return fmt::format("#define {}(x, y) __builtin_shufflevector(x, y{})\n", name,
                       in_turns(block, first, false));
  };
  const auto elements = [&](const char* name, int first) {
    return fmt::format("#define {}(x, y) (({}x{})({}))\n", name, bits, block,
                       in_turns(block, first, true));
  };
  return fmt::format(
      "#ifdef __clang__\n{0}{1}#define STREAM(x, p) __builtin_nontemporal_store(x, (GLOBAL "
      "{2}x{3}*)(p))\n#else\n{4}{5}#define STREAM(x, p) *(GLOBAL {2}x{3}*)(p) = x\n#endif\n",
      shuffle("LOWER", 0), shuffle("UPPER", block / 2), bits, block, elements("LOWER", 0),
      elements("UPPER", block / 2));
}

// Vectors of the input become columns: interleaving each vector with its partner half a block away moves one
// bit of the column's number into the row's, so that log2(block) rounds exchange them.
std::string vector_block(const char* bits, int block, bool may_stream) {
  std::string body;
  for (int i = 0; i < block; ++i)
    body +=
        fmt::format("      const {0}x{2} c0_{1} = load_{0}x{2}(p1, from + {1} * v.from_stride);\n",
                    bits, i, block);
  int round = 0;
  for (int size = 1; size < block; size *= 2, ++round)
    for (int i = 0; i < block / 2; ++i)
      body += fmt::format(
          "      const {0}x{1} c{2}_{3} = LOWER(c{4}_{5}, c{4}_{6}), c{2}_{7} = UPPER(c{4}_{5}, "
          "c{4}_{6});\n",
          bits, block, round + 1, 2 * i, round, i, i + block / 2, 2 * i + 1);
  if (may_stream) {
    body += "      if (aligned) {\n";
    for (int i = 0; i < block; ++i)
      body += fmt::format("        STREAM(c{0}_{1}, p0 + {2} * (to + {1} * v.to_stride));\n", round,
                          i, line_bytes / block);
    body += "        continue;\n      }\n";
  }
  for (int i = 0; i < block; ++i)
    body += fmt::format("      store_{0}x{1}(p0, to + {2} * v.to_stride, c{3}_{2});\n", bits, block,
                        i, round);
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
  const int block = block_of_size(itemsize);
  const bool may_stream = block * static_cast<int>(itemsize) == line_bytes;
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
                 {"streams"},
                 {"to_plane", false, 2},
                 {"from_plane", false, 2}};
  text.body = fmt::format(R"(  GLOBAL u8* const p0 = m0 + v.start0;
  GLOBAL u8* const p1 = m1 + v.start1;
  const int streams = v.streams && ((size_t)p0 | (size_t)(v.to_stride * {3})) % {4} == 0;
  (void)streams;
  const i64 last = (item0 + 1) * v.share < v.tiles ? (item0 + 1) * v.share : v.tiles;
  for (i64 t = item0 * v.share; t < last; ++t) {{
    const i64 plane = t / (v.down * v.across), in_plane = t - plane * (v.down * v.across);
    const i64 outer = plane / v.size, inner = plane - outer * v.size;
    const i64 row0 = in_plane % v.down * {0}, column0 = in_plane / v.down * {0};
    const i64 row1 = row0 + {0} < v.rows ? row0 + {0} : v.rows;
    const i64 column1 = column0 + {0} < v.columns ? column0 + {0} : v.columns;
    const i64 to0 = outer * v.to_plane[0] + inner * v.to_plane[1];
    const i64 from0 = outer * v.from_plane[0] + inner * v.from_plane[1];
    const int aligned = streams && to0 * {3} % {4} == 0;
    (void)aligned;
    for (i64 line_column = column0; line_column < column1; line_column += {2})
    for (i64 line_row = row0; line_row < row1; line_row += {2})
    for (i64 column = line_column; column < line_column + {2} && column < column1; column += {1})
    for (i64 row = line_row; row < line_row + {2} && row < row1; row += {1}) {{
      const i64 to = to0 + row * v.to_stride + column, from = from0 + column * v.from_stride + row;
      const i64 rows = row1 - row < {1} ? row1 - row : {1};
      const i64 columns = column1 - column < {1} ? column1 - column : {1};
)",
                          tile, block, line_of_size(itemsize), itemsize, line_bytes);
  if (by_vectors) {
    text.helpers = turning_words(bits, block);
    text.body +=
        fmt::format("      if (rows == {0} && columns == {0}) {{\n{1}      continue;\n      }}\n",
                    block, vector_block(bits, block, may_stream));
  }
  text.body += scalar_block(bits, "rows", "columns") + "    }\n  }\n";
  return text;
}

// The dimension along which the input runs, if it is another than the output's; else -1.
int turned_dim(const StridedSpace& space) {
  const int last = space.rank - 1;
  if (space.rank < 2 || space.rank > 2 + max_planes_rank) return -1;
  if (space.strides[0][last] != 1 || space.strides[1][last] == 1) return -1;
  if (space.shape[last] < constants::least_turned) return -1;
  for (int dim = 0; dim < last; ++dim)
    if (space.strides[1][dim] == 1 && space.shape[dim] >= constants::least_turned) return dim;
  return -1;
}

// Nothing unless the copy turns rows into columns.
std::optional<Turn> turn_of(const StridedSpace& space) {
  const int turned = turned_dim(space);
  if (turned < 0) return {};
  const int last = space.rank - 1;
  Turn turn;
  turn.rows = space.shape[turned];
  turn.columns = space.shape[last];
  turn.to_stride = space.strides[0][turned];
  turn.from_stride = space.strides[1][last];
  int plane = 1;
  for (int dim = last - 1; dim >= 0; --dim) {
    if (dim == turned) continue;
    turn.sizes[plane] = space.shape[dim];
    turn.to_plane[plane] = space.strides[0][dim];
    turn.from_plane[plane] = space.strides[1][dim];
    --plane;
  }
  return turn;
}

}  // namespace

bool transpose(Invocation& invocation, const std::string& name, const bp_tensor& out,
               const bp_tensor& from) {
  if (invocation.for_cpu() && out.itemsize > 8) return false;
  StridedSpace space(out);
  space.add(from);
  space.join();
  const std::optional<Turn> found = turn_of(space);
  if (!found) return false;
  const Turn& turn = *found;
  if (!invocation.for_cpu()) return transpose_by_tiles(invocation, name, out, from, turn);
  const std::int64_t down = (turn.rows + tile - 1) / tile,
                     across = (turn.columns + tile - 1) / tile;
  const std::int64_t tiles = turn.sizes[0] * turn.sizes[1] * down * across;
  const Sharing sharing = share(invocation, tiles, 1, 1);
  Values values;
  values.add(offset_of(out)).add(offset_of(from)).add(turn.rows).add(turn.columns);
  values.add(turn.to_stride).add(turn.from_stride);
  values.add(down).add(across).add(tiles).add(sharing.each).add(turn.sizes[1]);
  values.add(std::int64_t{is_streamed(invocation, out)});
  values.add_all(turn.to_plane).add_all(turn.from_plane);
  bp_function* function = invocation.function(turn_variant | out.itemsize, [&] {
    return make_text(name, out.itemsize, invocation.device.language() == Language::opencl_c);
  });
  Grid grid;
  grid.items[0] = sharing.items;
  invocation.launch(function, grid, {handle_of(out), handle_of(from)}, values);
  return true;
}

}  // namespace bp::codegen
