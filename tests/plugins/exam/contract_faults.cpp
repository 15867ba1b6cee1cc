// Faults against sentences of abi.h that are easily overlooked.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

// Any byte that is not 0 is true, here.
bp_code bool_is_255(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  for (int64_t i = 0; code == BP_OK && out.dtype == BP_BOOL && i < out.numel; ++i)
    if (*element(out, i) != 0) *element(out, i) = 0xFF;
  return code;
}

// Of a list of tensors only the first is looked at: the others are read as if they lay like it.
bp_code list_like_its_first(const bp_kernel& inner, const bp_call& call) {
  if (call.num_args == 0 || call.args[0].tag != BP_TENSOR_LIST || call.args[0].aux < 2)
    return run(inner, call);
  auto* given = static_cast<const bp_tensor* const*>(call.args[0].u.ptr);
  std::vector<bp_tensor> tensors;
  std::vector<const bp_tensor*> list;
  tensors.reserve(call.args[0].aux);
  for (uint32_t i = 0; i < call.args[0].aux; ++i) {
    bp_tensor& changed = tensors.emplace_back(*given[i]);
    if (given[i]->dl.ndim == given[0]->dl.ndim && (given[0]->flags & BP_LAYOUT_CONTIGUOUS) != 0) {
      static thread_local int64_t packed[64][BP_MAX_RANK];
      int64_t step = 1;
      for (int32_t dim = changed.dl.ndim; dim-- > 0; step *= changed.dl.shape[dim])
        packed[i % 64][dim] = step;
      changed.dl.strides = packed[i % 64];
      changed.flags = given[0]->flags;
    }
    list.push_back(&changed);
  }
  std::vector<bp_value> args(call.args, call.args + call.num_args);
  args[0].u.ptr = list.data();
  bp_call other = call;
  other.args = args.data();
  return run(inner, other);
}

// A few bytes for each call: less than malloc's cache of a thread would hide.
bp_code leak_bytes(const bp_kernel& inner, const bp_call& call) {
  static std::atomic<void*> newest;
  if (is_row(call, "exp")) newest = std::malloc(24);
  return run(inner, call);
}

// The output is not there yet.
bp_code look_at_output(void*, const bp_call* call) {
  return call->outputs[0]->dl.ndim >= 0 ? BP_OK : BP_UNSUPPORTED;
}

}  // namespace

void spoil_contract(bp_kernel& kernel) {
  if (fault_is("supports_reads_output") && std::strcmp(kernel.op, "nonzero") == 0)
    kernel.supports = look_at_output;
  if (fault_is("nondeterministic_beside") && std::strcmp(kernel.op, "copy") == 0)
    kernel.flags &= ~BP_KERNEL_DETERMINISTIC;
}

const std::vector<KernelFault> contract_faults = {{"bool_is_255", bool_is_255},
                                                  {"list_like_its_first", list_like_its_first},
                                                  {"leak_bytes", leak_bytes}};

}  // namespace exam
