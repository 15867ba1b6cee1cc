// Which calls the plugin's kernels get, and what the direct lane asks: for each declared kernel, each dtype and layout that it
// takes, and its row's axes; of several kernels for one row also those that the core would not choose.
#include "cases/kernels.hpp"

#include <algorithm>
#include <deque>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/shape.hpp>

#include "cases/axes.hpp"
#include "cases/special_cases.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

bool takes_tensor(const bp_arg& arg, const bp_tensor& tensor) {
  if (arg.dtypes && !(arg.dtypes >> tensor.dtype & 1u)) return false;
  if (arg.layouts && !(arg.layouts & tensor.flags)) return false;
  if (arg.spaces && !(arg.spaces & 1u)) return false;
  if (tensor.dl.ndim < arg.min_rank || (arg.max_rank && tensor.dl.ndim > arg.max_rank))
    return false;
  return arg.alignment <= 1 || tensor.dl.byte_offset % arg.alignment == 0;
}

// Calls visit(tensor) for each that the argument is.
template <class Visit> void each_tensor(const bp_value& value, Visit visit) {
  if (value.tag == BP_TENSOR) visit(*value.u.tensor);
  if (value.tag != BP_TENSOR_LIST) return;
  const auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t i = 0; i < value.aux; ++i)
    if (elements[i]) visit(*elements[i]);
}

bool takes_value(const Declaration& kernel, const Operator& op, std::size_t place,
                 const bp_value& value) {
  const bool is_number = (value.tag == BP_INT || value.tag == BP_DOUBLE ||
                          value.tag == BP_BOOLEAN || value.tag == BP_COMPLEX) &&
                         (op.scalar_ok >> place & 1u);
  if (place >= kernel.args.size()) return !is_number;
  if (is_number) return kernel.args[place].scalar_ok != 0;
  bool takes = true;
  each_tensor(value, [&](const bp_tensor& tensor) {
    takes = takes && takes_tensor(kernel.args[place], tensor);
  });
  return takes;
}

// A kernel that asks for density alone walks all its tensors in the order of memory: their strides must agree.
bool strides_agree(const Declaration& kernel, const std::vector<bp_value>& args,
                   const std::vector<const bp_tensor*>& outputs) {
  const bp_tensor* first = nullptr;
  bool agree = true;
  const auto visit = [&](std::size_t place, const bp_tensor& tensor) {
    if (place >= kernel.args.size()) return;
    const std::uint32_t layouts = kernel.args[place].layouts;
    if (!(layouts & BP_LAYOUT_DENSE) || (layouts & BP_LAYOUT_STRIDED)) return;
    if (!first) first = &tensor;
    const auto same = [&](const std::int64_t* a, const std::int64_t* b) {
      return first->dl.ndim == tensor.dl.ndim && std::equal(a, a + tensor.dl.ndim, b);
    };
    // A reduction's result has another shape than what it reads.
    if (place >= kernel.num_known && !same(first->dl.shape, tensor.dl.shape)) return;
    agree = agree && same(first->dl.strides, tensor.dl.strides);
  };
  for (std::size_t i = 0; i < args.size(); ++i)
    each_tensor(args[i], [&](const bp_tensor& tensor) { visit(i, tensor); });
  for (std::size_t i = 0; i < outputs.size(); ++i) visit(kernel.num_known + i, *outputs[i]);
  return agree;
}

// A call as a plugin sees it; its tensors have no memory.
struct SeenCall {
  explicit SeenCall(const DirectProblem& call) {
    for (const Laid& laid : call.problem.tensors) show(laid);
    for (const Argument& argument : call.problem.arguments)
      args.push_back(shown_value(argument, lists, [&](int place) {
        return &tensors[static_cast<std::size_t>(place)].abi;
      }));
    for (const Laid& laid : call.outputs) outputs.push_back(show(laid));
  }

  const bp_tensor* show(const Laid& laid) {
    describe_tensor(laid.dtype, laid.shape, laid.strides,
                    static_cast<std::uint64_t>(laid.offset) * itemsize(laid.dtype),
                    tensors.emplace_back());
    return &tensors.back().abi;
  }

  std::deque<TensorImpl> tensors;
  TensorLists lists;
  std::vector<bp_value> args;
  std::vector<const bp_tensor*> outputs;
};

// Results of elementwise calls lie as the arguments do where those agree and are dense, as the core allocates them.
const Laid* example_of_output(const Problem& problem, const OutputSpec& spec) {
  if (problem.op->kind != BP_KIND_POINTWISE && problem.op->kind != BP_KIND_COPY) return nullptr;
  const Laid* first = nullptr;
  for (const Laid& laid : problem.tensors) {
    if (laid.sparse_bytes) return &laid;
    if (!(IntList(laid.shape) == IntList(spec.shape)) || !(layout_flags(laid) & BP_LAYOUT_DENSE))
      return nullptr;
    if (first && first->strides != laid.strides) return nullptr;
    first = &laid;
  }
  return first;
}

Laid output_like(const Laid& example, Dtype dtype) {
  Laid laid = example;
  laid.dtype = dtype;
  laid.offset = 0;
  const std::size_t elements = example.storage.size() / itemsize(example.dtype);
  if (laid.sparse_bytes) {
    laid.sparse_bytes = example.sparse_bytes / itemsize(example.dtype) * itemsize(dtype);
    laid.storage.assign(elements * itemsize(dtype), 0);
  } else {
    laid.storage.assign(static_cast<std::size_t>(numel_of(example.shape)) * itemsize(dtype), 0);
  }
  return laid;
}

void lay_out_outputs(const Case& one, DirectProblem& call) {
  for (const OutputSpec& spec : call.problem.outputs) {
    const Laid* example = one.form == "out" ? nullptr : example_of_output(call.problem, spec);
    call.outputs.push_back(example ? output_like(*example, spec.dtype)
                                   : lay_out(spec.dtype, IntList(spec.shape).to_vector(),
                                             one.form == "out" ? "step2" : "plain", one.seed));
    // Room beside an output without elements is the suite's own; a kernel allocates none.
    if (call.is_allocated_by_kernel() && numel_of(call.outputs.back().shape) == 0)
      call.outputs.back().storage.clear();
  }
}

// The output is the first tensor: only where they are alike, and for kernels that say that they can.
bool put_in_place(DirectProblem& call) {
  if (call.outputs.size() != 1 || call.problem.arguments.empty() ||
      call.problem.arguments[0].tensors.size() != 1)
    return false;
  const int first = call.problem.arguments[0].tensors[0];
  const Laid& laid = call.problem.tensors[static_cast<std::size_t>(first)];
  const Laid& output = call.outputs[0];
  if (laid.dtype != output.dtype || laid.shape != output.shape) return false;
  for (std::size_t i = 0; i < laid.shape.size(); ++i)
    if (laid.strides[i] == 0 && laid.shape[i] > 1) return false;
  call.in_place_of = first;
  call.outputs[0] = laid;
  return true;
}

}  // namespace

bool declaration_takes(const Declaration& kernel, const Operator& op,
                       const std::vector<bp_value>& args,
                       const std::vector<const bp_tensor*>& outputs) {
  if (kernel.op != op.schema->name) return false;
  for (std::size_t i = 0; i < std::min(kernel.num_known, args.size()); ++i)
    if (!takes_value(kernel, op, i, args[i])) return false;
  if (!strides_agree(kernel, args, outputs)) return false;
  for (std::size_t i = 0; i < outputs.size() && kernel.num_known + i < kernel.args.size(); ++i) {
    const bp_arg& arg = kernel.args[kernel.num_known + i];
    const bool takes = op.flags & BP_OP_SHAPE_DATA  // in the host's layout, whatever is declared
                           ? !arg.dtypes || (arg.dtypes >> outputs[i]->dtype & 1u)
                           : takes_tensor(arg, *outputs[i]);
    if (!takes) return false;
  }
  return true;
}

bool DirectProblem::is_allocated_by_kernel() const {
  return (problem.op->flags & BP_OP_SHAPE_DATA) != 0;
}

int place_of_kernel(const Case& one, const Subject& subject) {
  const std::string_view form = one.form;
  if (!form.starts_with(form_of_kernel)) return -1;
  int wanted = 0;
  if (!read_all_as(form.substr(form_of_kernel.size()), wanted)) return -1;
  for (std::size_t place = 0; place < subject.kernels.size(); ++place)
    if (subject.kernels[place].op == one.op && --wanted == 0) return static_cast<int>(place);
  return -1;
}

bool make_direct_call(const Case& one, const Problem& asked, const Subject& subject,
                      DirectProblem& out) {
  out = DirectProblem();
  if (!canonical(asked, out.problem)) return false;
  if (out.is_allocated_by_kernel() && (one.form == "out" || one.form == "in_place")) return false;
  lay_out_outputs(one, out);
  const bool is_read_only = is_read_only_layout(one.layouts.substr(0, one.layouts.find('.')));
  if (one.form == "in_place" && (is_read_only || !put_in_place(out))) return false;
  const SeenCall call(out);
  const auto takes = [&](const DeclaredKernel& kernel) {
    return (out.in_place_of < 0 || (kernel.flags & BP_KERNEL_IN_PLACE_SAFE)) &&
           declaration_takes({kernel.op, kernel.args, call.args.size()}, *out.problem.op, call.args,
                             call.outputs);
  };
  if (one.form.starts_with(form_of_kernel)) {
    const int place = place_of_kernel(one, subject);
    return place >= 0 && takes(subject.kernels[static_cast<std::size_t>(place)]);
  }
  return std::ranges::any_of(subject.kernels, takes);
}

// ---- Cases

namespace {

// Does some kernel take the case? What makes no problem at all is taken by none.
bool is_taken(const Case& one, const Subject& subject) try {
  DirectProblem call;
  return make_direct_call(one, make_problem(one), subject, call);
} catch (const Error&) {
  return false;
}

class DirectAxes {
 public:
  DirectAxes(const RowCases& row, const Subject& subject)
      : row_(row), subject_(subject), axes_(row.axes) {
    usual_ = case_of(row.op, f32, axes_.shapes[0], axes_.layouts[0], axes_.values[0], "call");
    usual_.lane = Lane::direct;
    axes_.dtypes = row.axes.all_dtypes();
    if (row.profile != Profile::full) {
      const std::size_t most_shapes = row.op.kind == BP_KIND_MATMUL    ? 26
                                      : row.profile == Profile::normal ? 6
                                                                       : 3;
      if (axes_.shapes.size() > most_shapes) axes_.shapes.resize(most_shapes);
      if (axes_.layouts.size() > 5) axes_.layouts.resize(5);
    }
    axes_.forms = {"call", "out", "recycled", "stream"};
    if (row.op.kind == BP_KIND_POINTWISE) axes_.forms.push_back("in_place");
    keep_taken();
  }

  void add(std::vector<Case>& out) {
    if (axes_.dtypes.empty()) return;
    std::vector<std::vector<int>> groups = {{0, 2}, {1, 2}, {3}, {2, 4}};
    if (row_.profile == Profile::quick) groups = groups_of(5, 1);
    if (row_.profile == Profile::full) groups = {{0, 2, 3}, {0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}};
    for (const std::vector<int>& places : cover(sizes_of(axes_), groups, 17)) {
      Case one = case_at(row_.op, axes_, places);
      one.lane = Lane::direct;
      keep_numbers_held(row_.op, one);
      choose_telling_values(row_.op, one);
      if (is_taken(one, subject_) ||
          (one.form != "call" && (one.form = "call", is_taken(one, subject_))))
        out.push_back(one);
    }
  }

 private:
  // Takes out of each axis what no kernel takes when all else is as usual.
  void keep_taken() {
    std::erase_if(axes_.dtypes, [&](Dtype dtype) {
      Case one = usual_;
      one.dtype = dtype;
      return !is_taken(one, subject_);
    });
    if (axes_.dtypes.empty()) return;
    usual_.dtype = axes_.dtypes[0];
    keep(axes_.shapes, &Case::shape);
    keep(axes_.layouts, &Case::layouts);
    keep(axes_.forms, &Case::form);
  }
  void keep(std::vector<std::string>& axis, std::string Case::*part) {
    std::erase_if(axis, [&](const std::string& value) {
      Case one = usual_;
      one.*part = value;
      return !is_taken(one, subject_);
    });
  }

  const RowCases& row_;
  const Subject& subject_;
  Axes axes_;
  Case usual_;
};

// Kernels that another one of the row shadows, by its priority: each is called for itself where that one would be.
void add_shadowed_kernels(const RowCases& row, const Subject& subject) {
  const std::vector<const DeclaredKernel*> all = subject.kernels_of(row.op.name());
  for (std::size_t i = 0; i < all.size() && all.size() > 1; ++i) {
    Subject alone, preferred;
    alone.kernels = {*all[i]};
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k]->priority > all[i]->priority || (all[k]->priority == all[i]->priority && k < i))
        preferred.kernels.push_back(*all[k]);
    if (preferred.kernels.empty()) continue;
    std::vector<Case> taken;
    DirectAxes(row, alone).add(taken);
    for (Case& one : taken) {
      if (one.form != "call" || !is_taken(one, preferred)) continue;
      one.form = std::string(form_of_kernel) + std::to_string(i + 1);
      row.all.push_back(one);
    }
  }
}

}  // namespace

void add_direct_cases(const RowCases& row, const Subject& subject) {
  const Operator& op = row.op;
  if (subject.kernels_of(op.name()).empty() || row.axes.shapes.empty() || op.view || !op.infer)
    return;
  DirectAxes(row, subject).add(row.all);
  add_shadowed_kernels(row, subject);
  std::vector<Case> others;
  const RowCases of_core{op, row.axes, row.profile, others};
  const auto as_call = [](Case one) {
    one.lane = Lane::direct;
    if (one.form == "error") one.form = "call";
    return one;
  };
  const auto takes = [&](const Case& one) { return is_taken(as_call(one), subject); };
  // Otherwise the core's calls reach the same kernels.
  if (row.profile == Profile::full) add_large_cases(of_core, Thoroughness::little, takes);
  const std::size_t num_large = others.size();
  add_special_cases(of_core);
  for (std::size_t i = 0; i < others.size(); ++i) {
    Case& one = others[i];
    const bool is_asked = (one.form == "error" && holds_bad_index(one.values)) ||
                          one.values == "every16" || one.layouts == "far";
    if (i >= num_large && (!is_asked || !takes(one))) continue;
    one.lane = Lane::direct;
    row.all.push_back(one);
  }
}

}  // namespace bp::conform
