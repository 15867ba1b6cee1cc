// The loops over elements for devices of GPU shape: neighbouring work-items take neighbouring units.
#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/elementwise.hpp"

namespace bp::codegen {
namespace {

// Statements of a kernel about its operands; operand k lies at the address pk.
class Tiles {
 public:
  Tiles(const ElementwiseText& of, const Tile& tile) : of_(of), tile_(tile) {}

  std::string take() { return std::move(body_); }
  void line(std::string_view code) { body_.append("  ").append(code).append("\n"); }

  template <class Do> void for_each_tensor(Do&& each) {
    for (std::size_t k = 0; k < of_.operands.size(); ++k)
      if (!of_.operands[k].is_number) each(k);
  }
  void declare_numbers(std::vector<Field>& values) {
    for (std::size_t k = 1; k < of_.operands.size(); ++k) {
      if (!of_.operands[k].is_number) continue;
      const Dtype dtype = of_.operands[k].dtype;
      const std::string name = fmt::format("n{}", k);
      values.push_back(number_field(name, dtype));
      line(fmt::format("const {} {} = {};", compute_type(dtype), name,
                       number_text("v." + name, dtype)));
    }
  }

  // Whether every address allows accesses as wide as a unit.
  void declare_aligned() {
    std::string bits;
    for_each_tensor([&](std::size_t k) {
      const std::size_t bytes =
          std::min(std::size_t{16}, std::size_t{tile_.width} * itemsize(of_.operands[k].dtype));
      bits += fmt::format("{}(u64)p{} % {}", bits.empty() ? "" : " | ", k, bytes);
    });
    line(fmt::format("const int aligned = ({}) == 0;", bits));
  }

  // Arrays of what the work-item's units hold of each input.
  void declare_inputs() {
    for_each_tensor([&](std::size_t k) {
      if (k > 0)
        line(fmt::format("{} x{}[{}][{}];", compute_type(of_.operands[k].dtype), k, tile_.unroll,
                         tile_.width));
    });
  }

  std::string load(std::size_t k, std::string_view place) const {
    return fmt::format("load_{}(p{}, {})", suffix(of_.operands[k].dtype), k, place);
  }
  // A whole unit, which is aligned, to or from the array `values`.
  std::string move(bool loads, std::size_t k, std::string_view place,
                   std::string_view values) const {
    const std::string_view dtype = suffix(of_.operands[k].dtype);
    if (tile_.width > 1)
      return fmt::format("{}_{}_{}(p{}, {}, {});", loads ? "loads" : "stores", dtype, tile_.width,
                         k, place, values);
    return loads ? fmt::format("{}[0] = load_{}(p{}, {});", values, dtype, k, place)
                 : fmt::format("store_{}(p{}, {}, {}[0]);", dtype, k, place, values);
  }

  // The step for one element; `input` gives the text of an operand that is a tensor.
  template <class Input> std::string step(Input&& input) {
    return of_.step(
        1,
        [&](std::size_t k) { return of_.operands[k].is_number ? fmt::format("n{}", k) : input(k); },
        body_);
  }
  // Declares y, the results of unit u.
  void results() {
    line(fmt::format("{} y[{}];", compute_type(of_.operands[0].dtype), tile_.width));
    line(fmt::format("UNROLL for (int k = 0; k < {}; ++k) {{", tile_.width));
    line(
        fmt::format("y[k] = {};", step([](std::size_t k) { return fmt::format("x{}[u][k]", k); })));
    line("}");
  }

 private:
  const ElementwiseText& of_;
  const Tile tile_;
  std::string body_;
};

Tile tile_of_text(const ElementwiseText& text) {
  std::uint32_t largest = 1, smallest = 16;
  std::size_t tensors = 0;
  for (const Operand& operand : text.operands) {
    if (operand.is_number) continue;
    largest = std::max(largest, static_cast<std::uint32_t>(itemsize(operand.dtype)));
    smallest = std::min(smallest, static_cast<std::uint32_t>(itemsize(operand.dtype)));
    ++tensors;
  }
  Tile tile = tile_of(text.language, largest, smallest, tensors - 1);
  if (text.form.reach == Reach::strided && !text.form.has_wide_units) tile.width = 1;
  return tile;
}

}  // namespace

// A tile that is whole and aligned moves by units; others, the last one and those of odd addresses, by
// elements.
std::string flat_tiles(const ElementwiseText& text) {
  const Tile tile = tile_of_text(text);
  Tiles tiles(text, tile);
  tiles.declare_aligned();
  tiles.line(fmt::format("const i64 tile = (i64)((u64)item0 / {0}) * {1};",
                         constants::items_side_by_side,
                         constants::items_side_by_side * tile.unroll * tile.width));
  tiles.line(
      fmt::format("const i64 place = (i64)((u64)item0 % {});", constants::items_side_by_side));
  const auto all = constants::items_side_by_side * tile.unroll * tile.width;
  tiles.line(fmt::format("if (aligned && tile + {} <= n) {{", all));
  tiles.line(fmt::format("const i64 first = tile + place * {};", tile.width));
  const std::string unit =
      fmt::format("first + u * {}", constants::items_side_by_side * tile.width);
  const std::string units = fmt::format("UNROLL for (int u = 0; u < {}; ++u) {{", tile.unroll);
  tiles.declare_inputs();
  tiles.line(units);
  tiles.for_each_tensor([&](std::size_t k) {
    if (k > 0) tiles.line(tiles.move(true, k, unit, fmt::format("x{}[u]", k)));
  });
  tiles.line("}");
  tiles.line(units);
  tiles.results();
  tiles.line(tiles.move(false, 0, unit, "y"));
  tiles.line("}");
  tiles.line("return;");
  tiles.line("}");
  tiles.line(fmt::format("const i64 end = tile + {0} < n ? tile + {0} : n;", all));
  tiles.line(fmt::format("for (i64 i = tile + place; i < end; i += {}) {{",
                         constants::items_side_by_side));
  const std::string result = tiles.step([&](std::size_t k) { return tiles.load(k, "i"); });
  tiles.line(fmt::format("store_{}(p0, i, {});", suffix(text.operands[0].dtype), result));
  tiles.line("}");
  return tiles.take();
}

KernelText strided_units(const ElementwiseText& text) {
  const Tile tile = tile_of_text(text);
  UnitText walk{text.form.rank_class, tile, {}};
  Tiles tiles(text, tile);
  KernelText kernel;
  kernel.name = function_name(text.name + "_strided");
  tiles.for_each_tensor([&](std::size_t k) {
    walk.operands.push_back(fmt::format("t{}", k));
    tiles.line(fmt::format("GLOBAL u8* const p{0} = m{1} + v.t{0}_start;", k, kernel.num_memory++));
  });
  walk.add_fields(kernel.values);
  tiles.declare_numbers(kernel.values);
  kernel.helpers = UnitText::helpers();
  const bool is_wide = tile.width > 1;
  if (is_wide) tiles.declare_aligned();
  tiles.line(walk.places());
  tiles.declare_inputs();
  const std::string units = fmt::format("UNROLL for (int u = 0; u < {}; ++u) {{", tile.unroll);
  const std::string each = fmt::format("UNROLL for (int k = 0; k < {}; ++k) ", tile.width);
  tiles.line(units);
  tiles.for_each_tensor([&](std::size_t k) {
    if (k == 0) return;
    const std::string at = fmt::format("t{}_at[u]", k), to = fmt::format("x{}[u]", k);
    if (!is_wide) return tiles.line(tiles.move(true, k, at, to));
    tiles.line(fmt::format("if (v.t{}_step && aligned) {{", k));
    tiles.line(tiles.move(true, k, at, to));
    tiles.line("} else {");
    tiles.line(each + fmt::format("{}[k] = {};", to,
                                  tiles.load(k, fmt::format("{} + k * v.t{}_step", at, k))));
    tiles.line("}");
  });
  tiles.line("}");
  tiles.line(units);
  tiles.line("if (!is_unit(u)) break;");
  tiles.results();
  if (is_wide) tiles.line("if (aligned) {");
  tiles.line(tiles.move(false, 0, "t0_at[u]", "y"));
  if (is_wide) {
    tiles.line("} else {");
    tiles.line(each +
               fmt::format("store_{}(p0, t0_at[u] + k, y[k]);", suffix(text.operands[0].dtype)));
    tiles.line("}");
  }
  tiles.line("}");
  kernel.body = tiles.take();
  return kernel;
}

}  // namespace bp::codegen
