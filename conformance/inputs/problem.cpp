#include "inputs/problem.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include <backplane/abi.h>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/samples/row_facts.hpp>

#include "inputs/values.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

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
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Row-major, as if a dimension had another size.
Sizes strides_with(Sizes shape, std::size_t dim, std::int64_t size) {
  shape[dim] = size;
  return row_major_strides(shape);
}

Sizes strides_for(const Sizes& shape, std::string_view layout, Dtype dtype) {
  const std::size_t rank = shape.size();
  Sizes order = usual_order(rank);
  if (layout == "transpose" && rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  if (layout == "permute") std::ranges::reverse(order);
  if (layout == "channels_last" && rank >= 4)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  Sizes strides = strides_in_order(shape, order);
  if (layout == "step2")
    for (std::int64_t& stride : strides) stride *= 2;
  if (layout == "padded" && rank >= 2) strides = strides_with(shape, rank - 1, shape.back() + 3);
  if (layout == "expand" && rank >= 1) {
    strides = strides_with(shape, 0, 1);
    strides[0] = 0;
  }
  if (layout == "inner" && rank >= 1) {
    strides = strides_with(shape, rank - 1, 1);
    strides.back() = 0;
  }
  if (layout == "overlap" && rank >= 2) {
    Sizes halves = shape;
    for (std::int64_t& size : halves) size = (size + 1) / 2;
    strides = row_major_strides(halves);
  }
  if (layout == "far" && rank >= 1) strides[0] = far_apart / itemsize(dtype);
  return strides;
}

}  // namespace

std::int64_t reach_of(const Sizes& shape, const Sizes& strides) {
  std::int64_t reach = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    reach += std::max<std::int64_t>(shape[i] - 1, 0) * strides[i];
  return reach;
}

bool is_layout_name(std::string_view name) {
  return std::ranges::find(names_of_layouts, name) != names_of_layouts.end();
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

void describe_tensor(Dtype dtype, const Sizes& shape, const Sizes& strides,
                     std::uint64_t byte_offset, TensorImpl& impl) {
  std::ranges::copy(shape, impl.shape);
  std::ranges::copy(strides, impl.strides);
  bp_tensor& abi = impl.abi;
  abi.size = sizeof(bp_tensor);
  abi.dl.ndim = static_cast<std::int32_t>(shape.size());
  abi.dl.dtype = dl_dtype(dtype);
  abi.dl.shape = impl.shape;
  abi.dl.strides = impl.strides;
  abi.dl.byte_offset = byte_offset;
  abi.device = 1;
  abi.dtype = index(dtype);
  abi.itemsize = itemsize(dtype);
  update_layout(impl);
}

std::uint32_t layout_flags(const Laid& laid) {
  TensorImpl impl{};
  describe_tensor(laid.dtype, laid.shape, laid.strides, 0, impl);
  return impl.abi.flags;
}

void for_each_place(IntList shape, IntList strides,
                    const std::function<void(std::int64_t place)>& visit) {
  std::int64_t at[max_rank] = {}, place = 0;
  if (std::ranges::find(shape, 0) != shape.end()) return;
  for (std::size_t d = 1; d != 0;) {
    visit(place);
    for (d = shape.size(); d != 0; --d) {
      place += strides[d - 1];
      if (++at[d - 1] < shape[d - 1]) break;
      place -= strides[d - 1] * std::exchange(at[d - 1], 0);
    }
  }
}

namespace {

// Calls `visit` for each element in row-major order with its number and its place, in elements.
template <class Visit> void walk_elements(const Laid& laid, Visit&& visit) {
  for_each_place(laid.shape, laid.strides, [&, i = std::int64_t{0}](std::int64_t place) mutable {
    visit(i++, laid.offset + place);
  });
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

Bytes packed_elements(const Laid& laid) {
  const std::size_t size = itemsize(laid.dtype);
  const std::size_t bytes = static_cast<std::size_t>(numel_of(laid.shape)) * size;
  if (laid.sparse_bytes == 0 && laid.strides == row_major_strides(laid.shape)) {
    const auto first = laid.storage.begin() + laid.offset * static_cast<std::int64_t>(size);
    return {first, first + static_cast<std::int64_t>(bytes)};
  }
  Bytes packed(bytes);
  for_each_element(const_cast<Laid&>(laid), [&](std::int64_t i, unsigned char* at) {
    std::memcpy(packed.data() + static_cast<std::size_t>(i) * size, at, size);
  });
  return packed;
}

namespace {

std::string_view layout_of(const std::vector<std::string>& layouts, std::size_t tensor) {
  return layouts[std::min(tensor, layouts.size() - 1)];
}

// Rows whose elements come out as they went in, or one by one: special numbers may be many.
bool works_by_element(const Operator& op) {
  return op.kind == BP_KIND_POINTWISE || op.kind == BP_KIND_COPY || op.kind == BP_KIND_GATHER ||
         op.kind == BP_KIND_VIEW || op.kind == BP_KIND_SORT;
}

// Of its numbers, in what a row that adds up makes on the way.
int power_of(const Operator& op) {
  const RowFacts* facts = find_row_facts(op.name());
  return facts && (facts->is(Trait::powers) || facts->is(Trait::gradient)) ? 4 : 2;
}

class TensorMaker {
 public:
  TensorMaker(const Case& one, PlannedProblem& plan, std::uint64_t draw)
      : one_(one), plan_(plan), layouts_(split_text(one.layouts, '.')),
        // Not of layouts and form: the same values in another one shall give the same result.
        seed_(mix(one.seed, hash_text(one.op + "/" + one.shape + "/" + one.values) + draw)) {
    for (const std::string& layout : layouts_)
      if (!is_layout_name(layout)) refuse_case(one, "there is no layout '" + layout + "'");
    if (!is_values_name(one.values)) refuse_case(one, "there are no values '" + one.values + "'");
  }

  Laid make(std::size_t place) {
    const PlannedTensor& planned = plan_.tensors[place];
    const Laid* sample =
        place < plan_.problem.tensors.size() ? &plan_.problem.tensors[place] : nullptr;
    const bool has_own = sample && (planned.keeps_values || one_.values == "own");
    const std::string_view layout = layout_of(layouts_, place);
    Laid laid =
        sample && layout == "own" ? *sample : lay_out(planned.dtype, planned.shape, layout, seed_);
    if (has_own && layout == "own") return laid;
    if (has_own)
      copy_elements(*sample, laid);
    else if (planned.index_end >= 0)
      fill_indices(planned.index_end, laid);
    else
      fill_numbers(place, laid);
    return laid;
  }

 private:
  static void copy_elements(const Laid& from, Laid& to) {
    const Bytes packed = packed_elements(from);
    const std::size_t size = itemsize(from.dtype);
    for_each_element(to, [&](std::int64_t i, unsigned char* at) {
      std::memcpy(at, packed.data() + static_cast<std::size_t>(i) * size, size);
    });
  }

  void fill_indices(std::int64_t end, Laid& laid) const {
    const std::int64_t count = numel_of(laid.shape);
    for_each_element(laid, [&](std::int64_t i, unsigned char* at) {
      store_element(Number::of_whole(index_at(one_.values, seed_, i, count, end)), laid.dtype, at);
    });
  }

  void fill_numbers(std::size_t place, Laid& laid) const {
    Filling filling;
    filling.values = values_named(one_.values);
    filling.dtype = laid.dtype;
    filling.seed = seed_;
    filling.tensor = static_cast<int>(place);
    filling.count = numel_of(laid.shape);
    filling.meets_all = works_by_element(*plan_.problem.op);
    filling.power = filling.meets_all ? 1 : power_of(*plan_.problem.op);
    filling.multiplies_all = has_trait(plan_.problem.op->name(), Trait::factors);
    filling.meets_many = numel_of(laid.shape) == 1 && plan_.tensors.size() > 1;
    const bool takes_codes = filling.values == Values::every16 && itemsize(laid.dtype) == 2;
    for_each_element(laid, [&](std::int64_t i, unsigned char* at) {
      if (!takes_codes) return store_element(number_at(filling, i), laid.dtype, at);
      const auto code = static_cast<std::uint16_t>(i);
      std::memcpy(at, &code, sizeof code);
    });
  }

  const Case& one_;
  const PlannedProblem& plan_;
  std::vector<std::string> layouts_;
  std::uint64_t seed_;
};

// "aliased": the second tensor is the first one.
void alias_first(Problem& problem) {
  int first = -1;
  for (Argument& argument : problem.arguments) {
    if (argument.value.tag != BP_TENSOR) continue;
    if (first < 0) {
      first = argument.tensors[0];
      continue;
    }
    const Laid& a = problem.tensors[static_cast<std::size_t>(first)];
    const Laid& b = problem.tensors[static_cast<std::size_t>(argument.tensors[0])];
    if (a.dtype == b.dtype && a.shape == b.shape) argument.tensors = {first};
  }
}

// Tensors that no argument names any more are taken out.
void drop_unused(Problem& problem) {
  std::vector<int> number(problem.tensors.size(), -1);
  for (const Argument& argument : problem.arguments)
    for (const int tensor : argument.tensors) number[static_cast<std::size_t>(tensor)] = 0;
  std::vector<Laid> kept;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(problem.tensors[i]));
  }
  problem.tensors = std::move(kept);
  for (Argument& argument : problem.arguments)
    for (int& tensor : argument.tensors) tensor = number[static_cast<std::size_t>(tensor)];
}

}  // namespace

void find_outputs(Problem& problem) {
  if (!problem.op->infer || (problem.op->flags & BP_OP_SHAPE_DATA)) return;
  InferredCall call;
  infer_call(problem, call);
  for (std::size_t i = 0; i < count_results(problem); ++i)
    problem.outputs.push_back(call.inferred.outputs[i]);
}

std::vector<int> listed(const Argument& argument) {
  std::vector<int> all = argument.tensors;
  for (const std::size_t hole : argument.holes)
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(hole), -1);
  return all;
}

bp_value Problem::kept(bp_value value) {
  const auto keep = [&]<class T>(const T* from) {
    const auto copy = std::make_shared<std::vector<T>>(from, from + value.aux);
    copy->push_back({});  // what a string ends with
    value.u.ptr = copy->data();
    kept_.push_back(copy);
  };
  if (value.tag == BP_INT_LIST) keep(static_cast<const std::int64_t*>(value.u.ptr));
  if (value.tag == BP_STRING) keep(static_cast<const char*>(value.u.ptr));
  return value;
}

void Problem::add_argument(const bp_value& value,
                           const std::function<int(const bp_tensor*)>& place_of) {
  Argument& made = arguments.emplace_back();
  made.value = kept(value);
  if (value.tag == BP_TENSOR) made.tensors = {place_of(value.u.tensor)};
  if (value.tag != BP_TENSOR_LIST) return;
  const auto* const elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t i = 0; i < value.aux; ++i)
    if (elements[i])
      made.tensors.push_back(place_of(elements[i]));
    else
      made.holes.push_back(i);
}

Problem Problem::with_tensors(std::vector<Laid> others) const {
  Problem made = *this;
  made.tensors = std::move(others);
  made.outputs.clear();
  return made;
}

Problem make_problem(const Case& one, std::uint64_t draw) {
  ensure_operators();
  PlannedProblem plan;
  plan.problem.op = find_operator(one.op);
  if (!plan.problem.op) refuse_case(one, "there is no row '" + one.op + "'");
  if (one.shape.starts_with("sample:"))
    plan_from_sample(one, draw, plan);
  else
    plan_from_text(one, plan);
  TensorMaker maker(one, plan, draw);
  std::vector<Laid> tensors;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) tensors.push_back(maker.make(i));
  Problem problem = std::move(plan.problem);
  problem.tensors = std::move(tensors);
  if (one.form == "aliased") alias_first(problem);
  drop_unused(problem);
  // A call that must be refused has no results.
  if (one.form != "error") find_outputs(problem);
  return problem;
}

bool names_something(const Problem& problem, std::size_t tensor) {
  return tensor != 0 && has_trait(problem.op->name(), Trait::names);
}

Tensor values_of(const Laid& laid, Device on) {
  Tensor tensor = empty_tensor(laid.shape, laid.dtype, on);
  if (tensor.numel() != 0) copy_from_host_memory(tensor, packed_elements(laid).data());
  return tensor;
}

// ---- A call as a kernel gets it

namespace {

// Would the core cast one of the arguments first?
bool needs_a_cast(const InferredCall& call, const Operator& op) {
  if (!call.inferred.converts) return false;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (!(op.promoted >> i & 1u)) continue;
    const bp_value& value = call.args[i];
    if (value.tag == BP_TENSOR && value.u.tensor->dtype != index(call.inferred.compute_dtype))
      return true;
    if (value.tag != BP_TENSOR_LIST) continue;
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t k = 0; k < value.aux; ++k)
      if (elements[k] && elements[k]->dtype != index(call.inferred.compute_dtype)) return true;
  }
  return false;
}

bool gives_nothing(const InferredCall& call, std::size_t num_outputs) {
  for (std::size_t i = 0; i < num_outputs; ++i) {
    const Dims& shape = call.inferred.outputs[i].shape;
    if (std::ranges::find(shape, 0) == shape.end()) return false;
  }
  return true;
}

Laid expanded(const Laid& laid, const Dims& shape) {
  Laid wide = laid;
  const std::size_t more = shape.size() - laid.shape.size();
  wide.shape.assign(shape.begin(), shape.end());
  wide.strides.assign(shape.size(), 0);
  for (std::size_t i = 0; i < laid.shape.size(); ++i)
    if (laid.shape[i] == shape[more + i]) wide.strides[more + i] = laid.strides[i];
  return wide;
}

// Of results whose shape only the values tell.
void take_shapes_from_values(const Problem& problem, Problem& out) {
  const std::vector<Tensor> results = call_as_given(problem, 1);
  for (std::size_t i = 0; i < out.outputs.size(); ++i) {
    out.outputs[i] = {results[i].dtype(), {}};
    for (const std::int64_t size : results[i].shape()) out.outputs[i].shape.push_back(size);
  }
}

}  // namespace

bool canonical(const Problem& problem, Problem& out) {
  const Operator& op = *problem.op;
  // Nobody but the core tells what a kernel wrote into its arguments from what it must not touch.
  if (!op.infer || op.is_view() || op.mutates) return false;
  const bool reads_values = (op.flags & BP_OP_SHAPE_DATA) != 0;
  InferredCall call;
  infer_call(problem, call);
  const std::size_t num_outputs = count_results(problem);
  if (call.inferred.fills || needs_a_cast(call, op)) return false;
  if (!reads_values && gives_nothing(call, num_outputs)) return false;
  out = Problem();
  out.op = problem.op;
  for (const Laid& laid : problem.tensors)
    out.tensors.push_back(call.inferred.broadcasts ? expanded(laid, call.inferred.outputs[0].shape)
                                                   : laid);
  for (const bp_value& value : call.args)
    out.add_argument(value, [&](const bp_tensor* tensor) { return call.position_of(tensor); });
  for (std::size_t i = 0; i < num_outputs; ++i) out.outputs.push_back(call.inferred.outputs[i]);
  if (reads_values) take_shapes_from_values(problem, out);
  return true;
}

}  // namespace bp::conform
