// Problems from the names of cases: arguments, their memory, their values.
#include "inputs/problem.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/error.hpp>

#include "inputs/draft_problem.hpp"
#include "inputs/inferred.hpp"
#include "inputs/layouts.hpp"
#include "inputs/values.hpp"
#include "judge/expected.hpp"

namespace bp::conform {
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
    const std::vector<unsigned char> packed = packed_elements(from);
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

void find_outputs(Problem& problem) {
  if (!has_rule(*problem.op) || (problem.op->flags & BP_OP_SHAPE_DATA)) return;
  InferredCall call;
  infer_call(problem, call);
  for (std::size_t i = 0; i < count_results(problem); ++i)
    problem.outputs.push_back(call.inferred.outputs[i]);
}

}  // namespace

Problem Problem::with_tensors(std::vector<Laid> others) const {
  Problem made;
  made.op = op;
  made.arguments = arguments;
  made.tensors = std::move(others);
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

}  // namespace bp::conform
