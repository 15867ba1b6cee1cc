// Rows that reduce by an expression, over any axes.
//
// A result depends on the shape alone: where there are few outputs, the reduced elements are cut into
// parts whose number follows from the sizes, and the partial results, in scratch, are reduced as well.
#include <algorithm>

#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "kinds/kinds.hpp"
#include "kinds/reduction_kernels.hpp"
#include "kinds/reduction_space.hpp"

namespace bp::codegen {
namespace {

// Memory of a pass: the original tensor, or accumulators in scratch.
struct Place {
  bp_handle handle;
  std::int64_t offset;
};

// One launch: from `from`, of the plan's input strides, to `to`.
struct Pass {
  ReductionPlan plan;
  ReductionText text;
  Place from, to;
  std::int64_t units = 1;  // pieces of work of each part
  std::int64_t parts = 1;
  GroupSharing sharing{};  // where text.groups is set
};

class Run {
 public:
  Run(const Operator& op, const Combine& combine, Invocation& invocation)
      : op_(op), combine_(combine), invocation_(invocation) {}

  void operator()() {
    const bp_tensor& in = invocation_.tensor(0);
    const bp_tensor& out = invocation_.output();
    const auto dtype = static_cast<Dtype>(out.dtype);
    if (in.dtype != out.dtype)
      throw_error(ErrorClass::unsupported,
                  fmt::format("{}: the kernel keeps the dtype; got {} for an output of {}",
                              op_.name(), name(static_cast<Dtype>(in.dtype)), name(dtype)));
    invocation_.require(dtype);
    const Place result{handle_of(out), offset_of(out)};
    Pass pass{ReductionPlan(in, out, invocation_.arg(1), false),
              {},
              {handle_of(in), offset_of(in)},
              result};
    pass.text.dtype = dtype;
    for (;;) {
      choose(pass);
      if (!pass.text.to_partials) return launch(pass);
      const auto bytes = static_cast<std::uint64_t>(pass.plan.kept.numel * pass.parts) *
                         itemsize(accumulator_of(dtype));
      const bp_region scratch = invocation_.scratch(bytes);
      pass.to = {scratch.handle, static_cast<std::int64_t>(scratch.offset)};
      launch(pass);
      pass = reduction_of_partials(pass, result);
    }
  }

 private:
  // The form of the loops, and the number of parts.
  void choose(Pass& pass) const {
    const ReductionSpace &kept = pass.plan.kept, &reduced = pass.plan.reduced;
    ReductionText& text = pass.text;
    if (has_groups(invocation_)) return choose_groups(pass);
    const Dtype accumulator = accumulator_of(text.dtype);
    const unsigned lanes = lanes_for(invocation_, accumulator);
    text.lanes = 1;
    pass.units = kept.numel;
    std::int64_t of_unit = reduced.numel;
    if (!invocation_.for_cpu()) {
      text.form = reduced.inner_stride(0) == 1 ? ReductionForm::item_of_part
                                               : ReductionForm::item_of_output;
    } else if (reduced.inner_stride(0) == 1) {
      text.form = ReductionForm::rows;
      text.lanes = lanes;
    } else if (kept.inner_stride(0) == 1 && kept.inner() > 1) {
      text.form = ReductionForm::columns;
      if (kept.inner() >= lanes) text.lanes = lanes;
      const std::int64_t width = columns_of(text);
      pass.units = kept.numel / kept.inner() * ((kept.inner() + width - 1) / width);
      of_unit *= std::min(width, kept.inner());
    } else {
      text.form = ReductionForm::strided_rows;
    }
    const bool is_cpu = invocation_.for_cpu();
    const std::int64_t most =
        (is_cpu ? constants::cpu_reductions : constants::gpu_reductions) / pass.units;
    const std::int64_t worth = of_unit / (is_cpu ? constants::cpu_reduced : constants::gpu_reduced);
    pass.parts = std::max<std::int64_t>(1, std::min({most, worth, reduced.numel}));
    text.to_partials = pass.parts > 1;
  }

  void choose_groups(Pass& pass) const {
    const Dtype in = pass.text.of_partials ? accumulator_of(pass.text.dtype) : pass.text.dtype;
    pass.sharing = share_among_groups(invocation_, pass.plan, in, pass.from.offset);
    pass.units = pass.sharing.units;
    pass.parts = pass.sharing.parts;
    pass.text.groups = pass.sharing.text;
    pass.text.to_partials = pass.parts > 1;
  }

  // Partial results lie part after part, each with the kept elements in the order of visits.
  static Pass reduction_of_partials(const Pass& pass, const Place& result) {
    Pass next = pass;
    ReductionSpace &kept = next.plan.kept, &reduced = next.plan.reduced;
    std::int64_t step = 1;
    for (int dim = kept.rank - 1; dim >= 0; --dim) {
      kept.strides[0][dim] = kept.sizes[dim] == 1 ? 0 : step;
      step *= kept.sizes[dim];
    }
    reduced = {};
    reduced.add(pass.parts, kept.numel, 0);
    reduced.join();
    next.text.of_partials = true;
    next.from = pass.to;
    next.to = result;
    return next;
  }

  void launch(const Pass& pass) {
    const ReductionText& text = pass.text;
    bp_function* function = invocation_.function(
        text.variant(), [&] { return reduction_text(op_, combine_, text, invocation_); });
    const std::int64_t units = pass.units * pass.parts;
    Values values =
        plan_values(pass.plan, {pass.from.offset, pass.to.offset, pass.units, pass.parts});
    Grid grid;
    if (text.groups) {
      values.add(pass.sharing.piece);
      grid = grid_of_groups(pass.sharing.groups, usual_group);
    } else {
      grid.items[0] =
          work_items(invocation_, units, pass.plan.kept.numel * pass.plan.reduced.numel);
    }
    invocation_.launch(function, grid, {pass.from.handle, pass.to.handle}, values);
  }

  const Operator& op_;
  const Combine& combine_;
  Invocation& invocation_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_reduction(const Operator& op) {
  return make_accumulating<Run>(op);
}

}  // namespace bp::codegen
