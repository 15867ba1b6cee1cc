// Steps of optimizers: they give nothing, so that these rules only check lists.
#include "checks.hpp"
#include "rules.hpp"
#include "touched.hpp"

namespace bp::rules {
namespace {

struct StepList {
  StepList(const Call& call, std::uint32_t at)
      : place(at), name(call.op.schema->arguments[at].name.c_str()),
        data(static_cast<const bp_tensor* const*>(call.args[at].u.ptr)), size(call.args[at].aux) {}
  const TensorImpl& operator[](std::uint32_t i) const { return *TensorImpl::of(data[i]); }

  std::uint32_t place;
  const char* name;
  const bp_tensor* const* data;
  std::uint32_t size;
};

void check_length(const Call& call, const StepList& self, const StepList& list) {
  BP_CHECK(list.size == self.size, "{}: '{}' has {} tensors and '{}' has {}; pass one for each",
           call.op.name(), self.name, self.size, list.name, list.size);
}

void check_one_dtype(const Call& call, const StepList& self) {
  for (std::uint32_t i = 1; i < self.size; ++i)
    BP_CHECK(dtype_of(self[i]) == dtype_of(self[0]),
             "{}: tensor 0 of '{}' is {} and tensor {} is {}; make a call for each dtype",
             call.op.name(), self.name, bp::name(dtype_of(self[0])), i,
             bp::name(dtype_of(self[i])));
}

// What belongs to each tensor of `self`, element by element.
void check_like_self(const Call& call, std::uint32_t place, bool is_needed = true) {
  const StepList self(call, 0), list(call, place);
  if (list.size == 0 && !is_needed) return;
  check_length(call, self, list);
  for (std::uint32_t i = 0; i < list.size; ++i) {
    BP_CHECK(dtype_of(list[i]) == dtype_of(self[i]),
             "{}: tensor {} of '{}' is {} and that of '{}' is {}; cast one of them", call.op.name(),
             i, self.name, bp::name(dtype_of(self[i])), list.name, bp::name(dtype_of(list[i])));
    BP_CHECK(shape_of(list[i]) == shape_of(self[i]),
             "{}: tensor {} of '{}' has shape {} and that of '{}' has {}; they must be alike",
             call.op.name(), i, self.name, bp::to_string(shape_of(self[i])), list.name,
             bp::to_string(shape_of(list[i])));
  }
}

void check_is_number(const Call& call, std::uint32_t place, const TensorImpl& tensor) {
  BP_CHECK(tensor.abi.numel == 1 && is_floating(dtype_of(tensor)),
           "{}: a tensor of '{}' is {} of shape {}; pass floating-point ones of one element",
           call.op.name(), call.op.schema->arguments[place].name, bp::name(dtype_of(tensor)),
           bp::to_string(shape_of(tensor)));
}

void check_steps(const Call& call, std::uint32_t place) {
  const StepList list(call, place);
  check_length(call, StepList(call, 0), list);
  for (std::uint32_t i = 0; i < list.size; ++i) check_is_number(call, place, list[i]);
}

// `grad_scale` and `found_inf`, the last two.
void check_scaling(const Call& call) {
  for (std::uint32_t place = call.num_args - 2; place < call.num_args; ++place)
    if (is_tensor(call, place)) check_is_number(call, place, impl_arg(call, place));
}

// A device may take the tensors in any order, or at once.
void check_apart(const Call& call) {
  const auto& names = call.op.schema->arguments;
  const std::vector<Touched>& written = touched_by(call, call.op.mutates);
  for (const Touched& each : written)
    BP_CHECK(!has_internal_overlap(*each.impl),
             "{}: several elements of tensor {} of '{}' share one place in memory; pass a copy",
             call.op.name(), each.index, names[each.place].name);
  every_meeting(written, [&](const Touched& a, const Touched& b) {
    BP_CHECK(!may_overlap(*a.impl, *b.impl),
             "{}: tensor {} of '{}' and tensor {} of '{}' share memory; each that is written needs "
             "its own",
             call.op.name(), a.index, names[a.place].name, b.index, names[b.place].name);
    return true;
  });
}

void finish_step(const Call& call, Inferred& out) {
  const StepList self(call, 0);
  check_scaling(call);
  check_apart(call);
  if (self.size == 0) return;
  check_dtype(call.op, dtype_of(self[0]));
  out.compute_dtype = dtype_of(self[0]);
}

}  // namespace

void fused_sgd(const Call& call, Inferred& out) {
  check_one_dtype(call, StepList(call, 0));
  check_like_self(call, 1);
  check_like_self(call, 2, real_arg(call, 4) != 0);
  finish_step(call, out);
}

void fused_adam(const Call& call, Inferred& out) {
  check_one_dtype(call, StepList(call, 0));
  for (const std::uint32_t place : {1u, 2u, 3u}) check_like_self(call, place);
  check_like_self(call, 4, bool_arg(call, 11));
  check_steps(call, 5);
  finish_step(call, out);
}

void fused_adagrad(const Call& call, Inferred& out) {
  check_one_dtype(call, StepList(call, 0));
  check_like_self(call, 1);
  check_like_self(call, 2);
  check_steps(call, 3);
  finish_step(call, out);
}

}  // namespace bp::rules
