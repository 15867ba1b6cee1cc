// Rows over lists. A kernel gets lists alone whose tensors agree at each place, so that it may take all of their elements
// in any order; what is otherwise is left to the operator of one place, called for each.
#include <vector>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "rules.hpp"
#include "touched.hpp"

namespace bp::rules {
namespace {

bool is_list(const Call& call, std::uint32_t place) {
  return call.args[place].tag == BP_TENSOR_LIST;
}

const TensorImpl& listed(const Call& call, std::uint32_t place, std::uint32_t index) {
  return *TensorImpl::of(static_cast<const bp_tensor* const*>(call.args[place].u.ptr)[index]);
}

// Does it stand beside the first tensor of its place as it is, or as one number for all elements?
bool is_beside(const TensorImpl& each, const TensorImpl& first) {
  return each.abi.dl.ndim == 0 || shape_of(each) == shape_of(first);
}

// On one device, of one real floating dtype, with elements, and with shapes that agree at each place?
bool are_alike(const Call& call) {
  const std::uint32_t size = call.args[0].aux;
  const TensorImpl& foremost = listed(call, 0, 0);
  const Dtype dtype = dtype_of(foremost);
  if (!is_floating(dtype) || !contains(call.op.dtypes, dtype)) return false;
  for (std::uint32_t place = 0; place < call.num_args; ++place) {
    if (call.args[place].tag == BP_COMPLEX) return false;
    if (!is_list(call, place)) continue;
    for (std::uint32_t i = 0; i < size; ++i) {
      const TensorImpl& first = listed(call, 0, i);
      const TensorImpl& each = listed(call, place, i);
      if (dtype_of(each) != dtype || each.abi.numel == 0 || !is_beside(each, first) ||
          each.abi.device != foremost.abi.device)
        return false;
    }
  }
  return true;
}

// Does what is written at one place share no memory with what another place reads or writes?
bool are_apart(const Call& call) {
  const auto is_written = [&](const Touched& each) {
    return (call.op.mutates >> each.place & 1u) != 0;
  };
  const std::vector<Touched>& touched = touched_by(call, ~std::uint64_t{0});
  for (const Touched& each : touched)
    if (is_written(each) && has_internal_overlap(*each.impl)) return false;
  return every_meeting(touched, [&](const Touched& a, const Touched& b) {
    if (!(is_written(a) || is_written(b))) return true;
    if (a.index == b.index && is_exact_alias(*a.impl, *b.impl)) return true;
    return !may_overlap(*a.impl, *b.impl);
  });
}

// By the rule of the operator that each place is, the first that the row uses.
void infer_each(const Call& call, Inferred& out) {
  Operator& of_one = *find_operator(call.op.uses[0]);
  std::vector<bp_value> args(call.args, call.args + call.num_args);
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    for (std::uint32_t place = 0; place < call.num_args; ++place) {
      if (!is_list(call, place)) continue;
      args[place].tag = BP_TENSOR;
      args[place].u.tensor = &listed(call, place, i).abi;
    }
    Inferred one(1);
    of_one.infer({of_one, args.data(), call.num_args, nullptr, 1}, one);
    out.outputs[i] = one.outputs[0];
  }
}

}  // namespace

void each_place(const Call& call, Inferred& out) {
  static_cast<void>(foreach_count(call));
  const std::uint32_t size = call.args[0].aux;
  out.decomposes = size == 0 || !are_alike(call) || (call.op.mutates && !are_apart(call));
  if (out.decomposes) return infer_each(call, out);
  out.compute_dtype = dtype_of(listed(call, 0, 0));
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    out.outputs[i].dtype = out.compute_dtype;
    out.outputs[i].shape = shape_of(listed(call, 0, i));
  }
}

void each_norm(const Call& call, Inferred& out) {
  const std::uint32_t size = foreach_count(call);
  const std::optional<Dtype> wanted = optional_dtype_arg(call, 2);
  out.decomposes = size == 0 || !are_alike(call);
  for (std::uint32_t i = 0; i < size; ++i) {
    const Dtype own = dtype_of(listed(call, 0, i));
    out.decomposes |= wanted && *wanted != own;
    out.outputs[i].dtype = to_real(wanted.value_or(own));
  }
  if (size != 0) out.compute_dtype = dtype_of(listed(call, 0, 0));
}

}  // namespace bp::rules
