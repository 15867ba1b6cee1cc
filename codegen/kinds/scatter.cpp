// Rows that scatter: scatter_add by the row's `combine`, and one_hot. No two work-items write to one
// element, and each adds in the order of the index: no atomics, the same bits every time.
#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "constants.hpp"
#include "dialect/expression_text.hpp"
#include "kinds/kinds.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

// As many lanes as there are lines, and for each the ranges of the output that different work-items
// own. A work-item reads the indices of its lines and keeps to its range.
constexpr const char* scatter_row = R"(
    const i64 low = item1 * v.range;
    const i64 high = low + v.range < v.size_along ? low + v.range : v.size_along;
    GLOBAL const $I* index = (GLOBAL const $I*)(m1 + v.index_start) + index_at;
    for (i64 done = 0; done < run; done += v.lines_at_once) {
      const i64 until = done + v.lines_at_once < run ? done + v.lines_at_once : run;
      for (i64 i = 0; i < v.length; ++i) {
        for (i64 j = done; j < until; ++j) {
          const i64 place = (i64)index[i * v.index_along + j * index_step];
          if ((u64)place >= (u64)v.size_along) *(GLOBAL u64*)(m3 + v.fault) = 1;
          if (place < low || place >= high) continue;
          const i64 target = out_at + place * v.out_along + j * out_step;
          const $T sum = load_$D(m0 + v.out_start, target);
          const $T element = load_$D(m2 + v.src_start, src_at + i * v.src_along + j * src_step);
$combine
          store_$D(m0 + v.out_start, target, $result);
        }
      }
    }
)";

KernelText scatter_text(std::span<const bp_expr_node> nodes, Dtype dtype, bool wide_index,
                        int rank) {
  const WalkText walk{rank, {{"out"}, {"index"}, {"src"}}};
  KernelText text;
  text.name = fmt::format("scatter_{}_{}_r{}", suffix(dtype), wide_index ? "i64" : "i32", rank);
  text.num_memory = 4;
  walk.add_fields(text.values);
  for (const char* name : {"out_along", "index_along", "src_along", "size_along", "length", "range",
                           "lines_at_once", "fault"})
    text.values.push_back({name});
  std::string combine;
  const Operands operands{[](std::uint32_t) { return std::string("element"); }, "sum"};
  const std::string result = emit_expression(nodes, dtype, 1, operands, combine);
  text.body = walk.loop(fill_in(scatter_row, {{"I", wide_index ? "i64" : "i32"},
                                              {"T", compute_type(dtype)},
                                              {"D", suffix(dtype)},
                                              {"combine", combine},
                                              {"result", result}}));
  return text;
}

// The dimension that indices count, of a tensor of any rank.
std::int64_t size_along(const bp_tensor& tensor, std::int64_t dim) {
  return tensor.dl.ndim == 0 ? 1 : tensor.dl.shape[dim];
}
std::int64_t stride_along(const bp_tensor& tensor, std::int64_t dim) {
  return tensor.dl.ndim == 0 ? 0 : tensor.dl.strides[dim];
}

class Scatter final : public GeneratedKernel {
 public:
  explicit Scatter(const Operator& op) : op_(op) {}

  void run(Invocation& invocation) const override {
    const bp_tensor& a = invocation.tensor(0);
    const bp_tensor& out = invocation.output();
    invocation.require(static_cast<Dtype>(a.dtype));
    launch_move(invocation, shape_of(out), out.itemsize,
                {handle_of(out), offset_of(out), out.dl.strides},
                {handle_of(a), offset_of(a), a.dl.strides});
    if (invocation.tensor(2).numel != 0) add(invocation);
  }

 private:
  void add(Invocation& invocation) const {
    const bp_tensor& index = invocation.tensor(2);
    const bp_tensor& src = invocation.tensor(3);
    const bp_tensor& out = invocation.output();
    const std::int64_t dim = invocation.arg(1).u.i;
    const Walk lines = lines_of(index, src, out, dim);
    const Dtype dtype = static_cast<Dtype>(out.dtype);
    const bool wide_index = index.dtype == BP_I64;
    const int rank = lines.rank_class();
    const std::uint64_t variant = out.dtype | static_cast<std::uint64_t>(rank) << 8 |
                                  static_cast<std::uint64_t>(wide_index) << 16;
    bp_function* function = invocation.function(variant, [&] {
      return scatter_text({op_.nodes, op_.num_nodes}, dtype, wide_index, rank);
    });

    const std::int64_t length = size_along(index, dim);
    const Division division =
        divide(invocation, lines.count(),
               std::max<std::int64_t>(1, constants::scattered_elements / length));
    const std::int64_t size = size_along(out, dim);
    const std::int64_t ranges = num_ranges(invocation, division.items, size, length);
    const std::int64_t range = (size + ranges - 1) / ranges;
    Values values;
    add_walk_values(values, lines, division, {offset_of(out), offset_of(index), offset_of(src)});
    values.add(stride_along(out, dim)).add(stride_along(index, dim)).add(stride_along(src, dim));
    values.add(size).add(length).add(range).add(lines_at_once(lines, index, dim));
    const bp_region& fault = *invocation.call.fault;
    values.add(static_cast<std::int64_t>(fault.offset));
    invocation.launch(function, grid(invocation, division.items, ranges),
                      {handle_of(out), handle_of(index), handle_of(src), fault.handle}, values);
  }

  static Walk lines_of(const bp_tensor& index, const bp_tensor& src, const bp_tensor& out,
                       std::int64_t dim) {
    std::array<std::int64_t, BP_MAX_RANK> shape{};
    std::copy_n(index.dl.shape, index.dl.ndim, shape.begin());
    if (index.dl.ndim > 0) shape[dim] = 1;
    Walk lines({shape.data(), static_cast<std::size_t>(index.dl.ndim)});
    for (const bp_tensor* each : {&out, &index, &src})
      lines.add(strides_without(*each, dim).data());
    lines.simplify();
    return lines;
  }

  // More than one when there are too few lines to keep the device busy: each range costs another look
  // at all indices, which pays on processors from several cores on.
  static std::int64_t num_ranges(const Invocation& invocation, std::uint64_t lanes,
                                 std::int64_t size, std::int64_t length) {
    const std::int64_t wanted = invocation.for_cpu()
                                    ? invocation.info().compute_units / constants::scatter_cores
                                    : constants::scatter_of_gpu;
    if (length < constants::least_scatter_line) return 1;
    return std::clamp<std::int64_t>(wanted / static_cast<std::int64_t>(lanes), 1,
                                    std::min<std::int64_t>(size, constants::most_scatter_ranges));
  }

  // Lines that lie side by side are gone through together; others one by one, along their memory.
  static std::int64_t lines_at_once(const Walk& lines, const bp_tensor& index, std::int64_t dim) {
    const std::int64_t along = stride_along(index, dim);
    return std::abs(lines.step(1)) < std::abs(along) ? constants::scatter_lines : 1;
  }

  static Grid grid(const Invocation& invocation, std::uint64_t lanes, std::int64_t ranges) {
    Grid grid{{lanes, static_cast<std::uint64_t>(ranges), 1}, {1, 1, 1}};
    if (invocation.for_cpu()) return grid;
    const bp_compiler_info& info = invocation.info();
    const std::uint64_t most =
        std::min<std::uint64_t>(constants::usual_group, info.max_group_items);
    grid.group[0] = std::min({std::bit_ceil(lanes), most, info.max_group[0]});
    grid.group[1] = std::clamp<std::uint64_t>(most / grid.group[0], 1, info.max_group[1]);
    return grid;
  }

  const Operator& op_;
};

KernelText one_hot_text(bool wide_index, int rank) {
  const WalkText walk{rank, {{"out"}, {"a"}}};
  KernelText text;
  text.name = fmt::format("one_hot_{}_r{}", wide_index ? "i64" : "i32", rank);
  text.num_memory = 3;
  walk.add_fields(text.values);
  for (const char* name : {"num_classes", "fault"}) text.values.push_back({name});
  text.body = walk.loop(fill_in(R"(
    GLOBAL i64* out = (GLOBAL i64*)(m0 + v.out_start) + out_at;
    const i64 label = (i64)((GLOBAL const $I*)(m1 + v.a_start))[a_at];
    if ((u64)label >= (u64)v.num_classes) *(GLOBAL u64*)(m2 + v.fault) = 1;
    for (i64 j = 0; j < run; ++j) out[j * out_step] = first + j == label;
)",
                                {{"I", wide_index ? "i64" : "i32"}}));
  return text;
}

class OneHot final : public GeneratedKernel {
 public:
  void run(Invocation& invocation) const override {
    const bp_tensor& a = invocation.tensor(0);
    const bp_tensor& out = invocation.output();
    // Along the classes, the label stays the same.
    std::array<std::int64_t, BP_MAX_RANK> labels{};
    std::copy_n(a.dl.strides, a.dl.ndim, labels.begin());
    Walk walk(shape_of(out));
    walk.add(out.dl.strides).add(labels.data()).simplify(true);
    const bool wide_index = a.dtype == BP_I64;
    const int rank = walk.rank_class();
    bp_function* function = invocation.function(static_cast<std::uint64_t>(rank) << 8 | wide_index,
                                                [&] { return one_hot_text(wide_index, rank); });
    const Division division = divide(invocation, walk.count());
    Values values;
    add_walk_values(values, walk, division, {offset_of(out), offset_of(a)});
    values.add(walk.row_size());
    const bp_region& fault = *invocation.call.fault;
    values.add(static_cast<std::int64_t>(fault.offset));
    invocation.launch(function, {{division.items, 1, 1}},
                      {handle_of(out), handle_of(a), fault.handle}, values);
  }
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_scatter(const Operator& op) {
  std::unique_ptr<GeneratedKernel> kernel;
  if (op.num_nodes) {
    kernel = std::make_unique<Scatter>(op);
    kernel->places = strided_places(op, op.dtypes);
    kernel->places[2] = tensor_place(set_of(Dtype::i32, Dtype::i64));
  } else if (std::string_view(op.name()) == "one_hot") {
    kernel = std::make_unique<OneHot>();
    kernel->places = strided_places(op, set_of(Dtype::i32, Dtype::i64));
  } else {
    return nullptr;
  }
  kernel->flags |= BP_KERNEL_MAY_FAULT;
  return kernel;
}

}  // namespace bp::codegen
