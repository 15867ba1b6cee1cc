#include "plans.hpp"

#include <atomic>
#include <cstring>

#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

constexpr const char* plan_faults[] = {"plan_keeps_memory", "plan_serves_once",
                                       "workspace_past_end", "plan_leaked"};

// More than a tensor's: the workspace begins behind the beginning of its memory, which is large enough for one of these.
constexpr uint64_t alignment = 512;

struct Plan {
  uint64_t bytes = 0;    // of the first input, row-major
  void* data = nullptr;  // of that input in the call that it was made for
  uint64_t byte_offset = 0;
  mutable std::atomic<int> num_calls{0};
  char ballast[64 << 10] = {};
};

const bp_tensor* first_of(const bp_call& call) {
  if (call.num_args == 0 || call.args[0].tag != BP_TENSOR || is_row(call, "nonzero"))
    return nullptr;
  return call.args[0].u.tensor;
}

bp_code plan(void*, const bp_call* call, bp_plan* out) {
  auto* made = new Plan;
  if (const bp_tensor* first = first_of(*call)) {
    made->bytes = static_cast<uint64_t>(first->numel) * first->itemsize;
    made->data = first->dl.data;
    made->byte_offset = first->dl.byte_offset;
  }
  out->own = made;
  out->workspace = made->bytes;
  out->alignment = alignment;
  return BP_OK;
}

void release_plan(void*, const void* own) {
  if (!fault_is("plan_leaked")) delete static_cast<const Plan*>(own);
}

// The first input goes through the workspace.
bp_code run_planned(void* self, const bp_call* call) {
  const bp_kernel& inner = *static_cast<const bp_kernel*>(self);
  const Plan& planned = *static_cast<const Plan*>(call->plan);
  const int num_calls = ++planned.num_calls;
  if (planned.bytes == 0) return run(inner, *call);
  ChangedCall changed(*call);
  bp_tensor& first = *changed.tensor(0);
  const bp_region& scratch = call->workspace;
  auto* const place = reinterpret_cast<uint8_t*>(scratch.handle) + scratch.offset;
  if (scratch.bytes != planned.bytes || reinterpret_cast<uintptr_t>(place) % alignment != 0)
    return host->set_error(host, BP_INTERNAL, "the workspace is not as planned");
  if (fault_is("plan_keeps_memory")) {
    first.dl.data = planned.data;
    first.dl.byte_offset = planned.byte_offset;
  }
  changed.repack(first);
  std::memcpy(place, first.dl.data, planned.bytes);
  if (fault_is("workspace_past_end")) place[planned.bytes] ^= 1;
  first.dl.data = reinterpret_cast<void*>(scratch.handle);
  first.dl.byte_offset = scratch.offset;
  const bp_code code = run(inner, changed.call());
  const bp_tensor& out = *call->outputs[0];
  if (code == BP_OK && num_calls > 1 && out.numel != 0 && fault_is("plan_serves_once"))
    set_number(out, out.numel - 1, 17);
  return code;
}

}  // namespace

bool makes_plans(const bp_kernel& inner) {
  if (variant_is("plans")) return true;
  for (const char* fault : plan_faults)
    if (fault_is(fault)) return std::strcmp(inner.op, "exp") == 0;
  return false;
}

void make_planned(bp_kernel& kernel) {
  kernel.plan = plan;
  kernel.release_plan = release_plan;
  kernel.run = run_planned;
  kernel.flags &= ~BP_KERNEL_IN_PLACE_SAFE;
}

}  // namespace exam
