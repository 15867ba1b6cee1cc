// gather and index_select: out[.., i, ..] = a[.., index[.. i ..], ..]. An index_select is a gather whose
// index stays the same along all dimensions but one.
#include <bit>
#include <fmt/format.h>

#include "kinds/gather_units.hpp"
#include "kinds/kinds.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

struct Variant {
  std::uint32_t itemsize;
  bool wide_index;
  int rank;
  Step out, index, a;

  std::uint64_t number() const {
    return itemsize | static_cast<std::uint64_t>(rank) << 8 |
           static_cast<std::uint64_t>(wide_index) << 16 | static_cast<std::uint64_t>(out) << 18 |
           static_cast<std::uint64_t>(index) << 20 | static_cast<std::uint64_t>(a) << 22;
  }
};

// Every element has an index of its own.
constexpr const char* row_of_elements = R"(
    for (i64 j = 0; j < run; ++j) {
      const i64 place = (i64)index[j * index_step];
      if ((u64)place < (u64)v.size_along)
        out[j * out_step] = a[j * a_step + place * v.along];
      else
        *(GLOBAL u64*)(m3 + v.fault) = 1;
    }
)";

// One index for the whole run.
constexpr const char* row_of_slices = R"(
    const i64 place = (i64)index[0];
    if ((u64)place < (u64)v.size_along) {
      GLOBAL const $T* from = a + place * v.along;
      for (i64 j = 0; j < run; ++j) out[j * out_step] = from[j * a_step];
    } else {
      *(GLOBAL u64*)(m3 + v.fault) = 1;
    }
)";

KernelText gather_text(const Variant& variant) {
  const WalkText walk{variant.rank,
                      {{"out", variant.out}, {"index", variant.index}, {"a", variant.a}}};
  KernelText text;
  text.name = fmt::format("gather_b{}_{}_r{}", variant.itemsize, variant.wide_index ? "i64" : "i32",
                          variant.rank);
  text.num_memory = 4;
  walk.add_fields(text.values);
  for (const char* name : {"along", "size_along", "fault"}) text.values.push_back({name});
  text.helpers = mover_helpers(variant.itemsize);
  const std::string row =
      fill_in(R"(
    GLOBAL $T* out = (GLOBAL $T*)(m0 + v.out_start) + out_at;
    GLOBAL const $I* index = (GLOBAL const $I*)(m1 + v.index_start) + index_at;
    GLOBAL const $T* a = (GLOBAL const $T*)(m2 + v.a_start) + a_at;
)" + std::string(variant.index == Step::none ? row_of_slices : row_of_elements),
              {{"T", mover_type(variant.itemsize)}, {"I", variant.wide_index ? "i64" : "i32"}});
  text.body = walk.loop(row);
  return text;
}

class Gather final : public GeneratedKernel {
 public:
  void run(Invocation& invocation) const override {
    const bp_tensor& a = invocation.tensor(0);
    const bp_tensor& index = invocation.tensor(2);
    const bp_tensor& out = invocation.output();
    const std::int64_t dim = invocation.arg(1).u.i;
    Walk walk(shape_of(out));
    walk.add(out.dl.strides).add(index_strides(index, out, dim).data());
    walk.add(strides_without(a, dim).data()).simplify();

    const std::int64_t along = a.dl.ndim == 0 ? 0 : a.dl.strides[dim];
    const std::int64_t size_along = a.dl.ndim == 0 ? 1 : a.dl.shape[dim];
    if (!invocation.for_cpu() && gather_by_units(invocation, walk, along, size_along)) return;
    const Variant variant = variant_of(walk, a.itemsize, index.dtype == BP_I64);
    bp_function* function =
        invocation.function(variant.number(), [&] { return gather_text(variant); });
    const Division division = divide(invocation, walk.count());
    Values values;
    add_walk_values(values, walk, division, {offset_of(out), offset_of(index), offset_of(a)});
    values.add(along).add(size_along);
    const bp_region& fault = *invocation.call.fault;
    values.add(static_cast<std::int64_t>(fault.offset));
    invocation.launch(function, {{division.items, 1, 1}},
                      {handle_of(out), handle_of(index), handle_of(a), fault.handle}, values);
  }

  bool is_select = false;

 private:
  std::array<std::int64_t, BP_MAX_RANK> index_strides(const bp_tensor& index, const bp_tensor& out,
                                                      std::int64_t dim) const {
    if (!is_select) return strides_without(index, BP_MAX_RANK);
    std::array<std::int64_t, BP_MAX_RANK> strides{};
    if (index.dl.ndim == 1 && out.dl.ndim > 0) strides[dim] = index.dl.strides[0];
    return strides;
  }

  // Steps are in the text where that makes the compiler's vectors: whole slices, and picking from a
  // line or a column.
  static Variant variant_of(const Walk& walk, std::uint32_t itemsize, bool wide_index) {
    Variant variant{itemsize, wide_index, walk.rank_class(), Step::any, Step::any, Step::any};
    const Step index = walk.step_class(1);
    if (walk.step_class(0) != Step::one || index == Step::any) return variant;
    if (walk.step_class(2) != (index == Step::one ? Step::none : Step::one)) return variant;
    variant.out = Step::one;
    variant.index = index;
    variant.a = walk.step_class(2);
    return variant;
  }
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_gather(const Operator& op) {
  const std::string_view name = op.name();
  if (name != "gather" && name != "index_select") return nullptr;
  auto kernel = std::make_unique<Gather>();
  kernel->places = strided_places(op, all_dtypes);
  kernel->places[2] = tensor_place(set_of(Dtype::i32, Dtype::i64));
  kernel->flags |= BP_KERNEL_MAY_FAULT;
  kernel->is_select = name == "index_select";
  return kernel;
}

}  // namespace bp::codegen
