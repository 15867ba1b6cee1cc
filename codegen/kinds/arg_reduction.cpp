// Rows that give where the largest or smallest element is: the first of equal ones; NaN counts as beyond
// all others.
//
// Few outputs of many elements are found part by part: value and index of each part go to scratch.
#include <algorithm>
#include <string_view>

#include "constants.hpp"
#include "kinds/arg_reduction_text.hpp"
#include "kinds/kinds.hpp"
#include "kinds/reduction_space.hpp"
#include "kinds/reduction_text.hpp"

namespace bp::codegen {
namespace {

struct Work {
  ArgText text;
  std::int64_t units = 1, parts = 1;
  std::int64_t piece = 0, groups = 0;  // where text.groups is set
};

Work choose_groups(const Invocation& invocation, const ReductionPlan& plan, Dtype dtype) {
  const GroupSharing sharing =
      share_among_groups(invocation, plan, dtype, offset_of(invocation.tensor(0)));
  Work work;
  work.text.dtype = dtype;
  work.text.groups = sharing.text;
  work.text.to_parts = sharing.parts > 1;
  work.units = sharing.units;
  work.parts = sharing.parts;
  work.piece = sharing.piece;
  work.groups = sharing.groups;
  return work;
}

Work join_of_parts(const Invocation& invocation, const ReductionPlan& plan, const Work& of) {
  Work join;
  join.text.dtype = of.text.dtype;
  join.text.form = ArgForm::join_parts;
  join.units = plan.kept.numel;
  if (!has_groups(invocation)) return join;
  join.text.groups.emplace();
  join.text.groups->team = power_of_two(of.parts, usual_group);
  join.text.groups->small = plan.is_small();
  const std::int64_t rows_of_group = usual_group / join.text.groups->team;
  join.groups = (join.units + rows_of_group - 1) / rows_of_group;
  return join;
}

Work choose(const Invocation& invocation, const ReductionPlan& plan, Dtype dtype) {
  if (has_groups(invocation)) return choose_groups(invocation, plan, dtype);
  const ReductionSpace &kept = plan.kept, &reduced = plan.reduced;
  Work work;
  work.text.dtype = dtype;
  work.units = kept.numel;
  std::int64_t of_unit = reduced.numel;
  const bool is_cpu = invocation.for_cpu();
  if (!is_cpu) {
    work.text.form = ArgForm::items;
  } else if (reduced.inner_stride(0) == 1) {
    work.text.lanes = lanes_for(invocation, accumulator_of(dtype));
  } else if (kept.inner_stride(0) == 1 && kept.inner() > 1) {
    work.text.form = ArgForm::columns;
    const unsigned lanes = lanes_for(invocation, accumulator_of(dtype));
    if (kept.inner() >= lanes) work.text.lanes = lanes;
    const std::int64_t width = constants::argmax_vectors * work.text.lanes;
    work.units = kept.numel / kept.inner() * ((kept.inner() + width - 1) / width);
    of_unit *= std::min(width, kept.inner());
  } else {
    work.text.form = ArgForm::strided_rows;
  }
  const std::int64_t most =
      (is_cpu ? constants::cpu_comparisons : constants::gpu_comparisons) / work.units;
  const std::int64_t worth = of_unit / (is_cpu ? constants::cpu_compared : constants::gpu_compared);
  work.parts = std::max<std::int64_t>(1, std::min({most, worth, reduced.numel}));
  work.text.to_parts = work.parts > 1;
  return work;
}

class ArgReduction final : public GeneratedKernel {
 public:
  explicit ArgReduction(const Operator& op) : op_(op) {
    places = strided_places(op, op.dtypes);
    places.back() = tensor_place(1u << BP_I64);
    uses_scratch = true;
  }

  void run(Invocation& invocation) const override {
    const bp_tensor &in = invocation.tensor(0), &out = invocation.output();
    const auto dtype = static_cast<Dtype>(in.dtype);
    invocation.require(dtype);
    const ReductionPlan plan(in, out, invocation.arg(1), true);
    const Work work = choose(invocation, plan, dtype);
    if (work.parts == 1)
      return launch(invocation, plan, work, {offset_of(in), offset_of(out), work.units, 1}, 0,
                    handle_of(in), handle_of(out));
    const std::int64_t results = plan.kept.numel * work.parts;
    const std::int64_t bytes = results * static_cast<std::int64_t>(itemsize(accumulator_of(dtype)));
    const std::int64_t numbers = (bytes + 7) / 8 * 8;
    const bp_region scratch = invocation.scratch(static_cast<std::uint64_t>(numbers + 8 * results));
    const auto start = static_cast<std::int64_t>(scratch.offset);
    launch(invocation, plan, work, {offset_of(in), start, work.units, work.parts}, start + numbers,
           handle_of(in), scratch.handle);
    const Work join = join_of_parts(invocation, plan, work);
    launch(invocation, plan, join, {start, offset_of(out), 1, work.parts}, start + numbers,
           scratch.handle, handle_of(out));
  }

 private:
  void launch(Invocation& invocation, const ReductionPlan& plan, const Work& work,
              const PlanLaunch& places_of, std::int64_t numbers, bp_handle from,
              bp_handle to) const {
    bp_function* function = invocation.function(
        work.text.variant(), [&] { return arg_reduction_text(op_, work.text, invocation); });
    Values values = plan_values(plan, places_of);
    values.add(numbers);
    Grid grid;
    if (work.text.groups) {
      values.add(work.piece);
      grid = grid_of_groups(work.groups, usual_group);
    } else {
      grid.items[0] =
          work_items(invocation, work.units * work.parts, plan.kept.numel * plan.reduced.numel);
    }
    invocation.launch(function, grid, {from, to}, values);
  }

  const Operator& op_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_arg_reduction(const Operator& op) {
  const std::string_view name = op.name();
  if (name != "argmax" && name != "argmin") return nullptr;
  return std::make_unique<ArgReduction>(op);
}

}  // namespace bp::codegen
