// alone: its texts and their parts have the names that other kinds give to theirs
#include "kinds/gather_units.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/units.hpp"

namespace bp::codegen {
namespace {

struct Variant {
  Language language;
  std::uint32_t itemsize;
  bool wide_index, by_slices;
  int rank;
  Tile tile;

  std::uint64_t number() const {
    return (std::uint64_t{1} << 32) | itemsize | std::uint64_t{wide_index} << 8 |
           std::uint64_t{by_slices} << 9 | static_cast<std::uint64_t>(rank) << 10 |
           std::uint64_t{tile.width} << 16 | std::uint64_t{tile.unroll} << 24;
  }
};

// One index for the whole unit. What a bad one would read is the first slice.
constexpr const char* slices = R"(
  UNROLL for (int u = 0; u < $unroll; ++u) {
    const i64 place = load_$I(p1, index_at[u]);
    const int fits = (u64)place < (u64)v.size_along;
    if (!fits) *(GLOBAL u64*)(m3 + v.fault) = 1;
    const i64 at = a_at[u] + (fits ? place : 0) * v.along;
    $load
  }
)";

// Every element has an index of its own.
constexpr const char* elements = R"(
  $X places[$unroll][$width];
  UNROLL for (int u = 0; u < $unroll; ++u) {
    $load
  }
  UNROLL for (int u = 0; u < $unroll; ++u) UNROLL for (int k = 0; k < $width; ++k) {
    const i64 place = (i64)places[u][k];
    const int fits = (u64)place < (u64)v.size_along;
    if (!fits) *(GLOBAL u64*)(m3 + v.fault) = 1;
    x[u][k] = load_$D(p2, a_at[u] + (i64)k * v.a_step + (fits ? place : 0) * v.along);
  }
)";

// A unit of `array`, by one access where it is aligned.
std::string move_unit(const Variant& variant, const char* verb, std::string_view dtype,
                      std::string_view ptr, std::string_view place, std::string_view array,
                      std::string_view step) {
  const bool loads = std::string_view(verb) == "load";
  const std::string single =
      loads ? fmt::format("{}[k] = load_{}({}, {} + (i64)k * {});", array, dtype, ptr, place, step)
            : fmt::format("store_{}({}, {} + (i64)k * {}, {}[k]);", dtype, ptr, place, step, array);
  std::string singly =
      fmt::format("UNROLL for (int k = 0; k < {}; ++k) {}", variant.tile.width, single);
  if (variant.tile.width == 1) return singly;
  return fmt::format("if (aligned) {{ {}s_{}_{}({}, {}, {}); }} else {{ {} }}", verb, dtype,
                     variant.tile.width, ptr, place, array, singly);
}

KernelText gather_text(const Variant& variant) {
  const UnitText walk{variant.rank, variant.tile, {"out", "index", "a"}};
  const std::string_view dtype = suffix(mover_dtype(variant.itemsize));
  const char* index = variant.wide_index ? "i64" : "i32";
  KernelText text;
  text.name = fmt::format("gather_b{}_{}_r{}_{}{}", variant.itemsize, index, variant.rank,
                          variant.by_slices ? "slices" : "elements", variant.tile.width);
  text.num_memory = 4;
  walk.add_fields(text.values);
  for (const char* name : {"along", "size_along", "fault"}) text.values.push_back({name});
  text.helpers = UnitText::helpers();
  text.body = R"(
  if (v.size_along == 0) {
    *(GLOBAL u64*)(m3 + v.fault) = 1;
    return;
  }
  GLOBAL u8* const p0 = m0 + v.out_start;
  GLOBAL u8* const p1 = m1 + v.index_start;
  GLOBAL u8* const p2 = m2 + v.a_start;
)";
  if (variant.tile.width > 1)
    text.body += fmt::format("  const int aligned = ((u64)p0 | (u64){}) % 16 == 0;\n",
                             variant.by_slices ? "p2" : "p1");
  text.body += walk.places();
  const std::string width = std::to_string(variant.tile.width),
                    unroll = std::to_string(variant.tile.unroll);
  text.body +=
      fmt::format("  {} x[{}][{}];\n", compute_type(mover_dtype(variant.itemsize)), unroll, width);
  const std::string load =
      variant.by_slices
          ? move_unit(variant, "load", dtype, "p2", "at", "x[u]", "v.a_step")
          : move_unit(variant, "load", index, "p1", "index_at[u]", "places[u]", "v.index_step");
  text.body += fill_in(variant.by_slices ? slices : elements, {{"unroll", unroll},
                                                               {"width", width},
                                                               {"I", index},
                                                               {"X", index},
                                                               {"D", dtype},
                                                               {"load", load}});
  text.body += fmt::format(
      "  UNROLL for (int u = 0; u < {}; ++u) {{\n    if (!is_unit(u)) break;\n    {}\n  }}\n",
      unroll, move_unit(variant, "store", dtype, "p0", "out_at[u]", "x[u]", "v.out_step"));
  return text;
}

// Slices move by 16 bytes; single elements by four of them, since their indices are long.
Variant variant_of(const Invocation& invocation, const Walk& walk, const UnitSpace& space,
                   std::int64_t along) {
  const std::uint32_t itemsize = invocation.output().itemsize;
  const bool wide_index = invocation.tensor(2).dtype == BP_I64;
  const bool by_slices = walk.step(1) == 0;
  Variant variant{invocation.device.language(), itemsize, wide_index, by_slices,
                  space.rank_class(),           {}};
  if (variant.language == Language::c11) return variant;
  unsigned width = 16 / itemsize;
  if (!by_slices) width = std::min(width, constants::gathered_elements);
  const bool by_vectors = walk.step(0) == 1 && walk.step(by_slices ? 2 : 1) == 1 &&
                          (!by_slices || along % width == 0) && space.divides(width);
  variant.tile.width = by_vectors ? width : 1;
  variant.tile.unroll =
      by_slices || width == 1 ? constants::gather_loads : constants::gather_loads_of_packs;
  return variant;
}

}  // namespace

bool gather_by_units(Invocation& invocation, const Walk& walk, std::int64_t along,
                     std::int64_t size_along) {
  const std::int64_t* strides[] = {walk.stride[0].data(), walk.stride[1].data(),
                                   walk.stride[2].data()};
  const UnitSpace space{{walk.size.data(), static_cast<std::size_t>(walk.rank)}, strides};
  if (space.rank_class() == 0 || !space.is_narrow()) return false;
  const Variant variant = variant_of(invocation, walk, space, along);
  bp_function* function =
      invocation.function(variant.number(), [&] { return gather_text(variant); });
  const bp_tensor &out = invocation.output(), &index = invocation.tensor(2),
                  &a = invocation.tensor(0);
  const std::int64_t starts[] = {offset_of(out), offset_of(index), offset_of(a)};
  Values values;
  const std::uint64_t items = add_unit_values(values, space, variant.tile, starts);
  const bp_region& fault = *invocation.call.fault;
  values.add(along).add(size_along).add(static_cast<std::int64_t>(fault.offset));
  invocation.launch(function, {{items, 1, 1}},
                    {handle_of(out), handle_of(index), handle_of(a), fault.handle}, values);
  return true;
}

}  // namespace bp::codegen
