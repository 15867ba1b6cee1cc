// Faults of behaviour: what a kernel says, when it fails, how it ends.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "faults.hpp"

namespace exam {
namespace {

bp_code wrong_once(const bp_kernel& inner, const bp_call& call) {
  static std::atomic<int> calls{0};
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code == BP_OK && is_row(call, "exp") && ++calls % 1000 == 777 && out.numel > 0)
    *element(out, 0) ^= 0x20;
  return code;
}

struct Inside {
  std::atomic<int>& count;
  explicit Inside(std::atomic<int>& counter) : count(counter) {}
  ~Inside() { --count; }
};

bp_code crash_with_threads(const bp_kernel& inner, const bp_call& call) {
  static std::atomic<int> inside{0};
  if (++inside >= 4) std::abort();
  const Inside leave(inside);
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  return run(inner, call);
}

// A buffer that all threads share.
bp_code race(const bp_kernel& inner, const bp_call& call) {
  static std::atomic<int> inside{0};
  const int others = inside++;
  const Inside leave(inside);
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (others > 0 && code == BP_OK && out.numel > 0 && out.dtype != BP_BOOL) *element(out, 0) ^= 1;
  return code;
}

bp_code unsupported_after_yes(const bp_kernel& inner, const bp_call& call) {
  if (is_row(call, "tanh") && call.outputs[0]->dtype == BP_F64) return BP_UNSUPPORTED;
  return run(inner, call);
}

bp_code aborts_on_dtype(const bp_kernel& inner, const bp_call& call) {
  if (is_row(call, "neg") && call.outputs[0]->dtype == BP_I16) std::abort();
  return run(inner, call);
}

bp_code hangs_on_dtype(const bp_kernel& inner, const bp_call& call) {
  if (is_row(call, "neg") && call.outputs[0]->dtype == BP_I8)
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  return run(inner, call);
}

bp_code fails_without_message(const bp_kernel& inner, const bp_call& call) {
  if (is_row(call, "cos") && call.outputs[0]->numel > 100) return BP_INTERNAL;
  return run(inner, call);
}

// The first call after another one's error fails too.
bp_code remembers_error(const bp_kernel& inner, const bp_call& call) {
  static thread_local bool failed = false;
  if (failed) {
    failed = false;
    return host->set_error(host, BP_INTERNAL, "an error of the call before");
  }
  const bp_code code = run(inner, call);
  if (call.fault != nullptr && call.fault->handle != 0) {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const uint8_t*>(call.fault->handle) + call.fault->offset,
                sizeof word);
    failed = word != 0;
  }
  return code;
}

// Not the same bits twice, though it says so.
bp_code other_bits(const char* row, const bp_kernel& inner, const bp_call& call) {
  static std::atomic<unsigned> calls{0};
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code == BP_OK && is_row(call, row) && is_floating(out) && out.numel > 0 &&
      (++calls & 1u) != 0)
    *element(out, 0) ^= 1;
  return code;
}

bp_code nondeterministic(const bp_kernel& inner, const bp_call& call) {
  return other_bits("sum", inner, call);
}
// Where results have gaps, so that a copy, which declares nothing, comes before they are read.
bp_code nondeterministic_beside(const bp_kernel& inner, const bp_call& call) {
  if (call.outputs[0]->flags & BP_LAYOUT_CONTIGUOUS) return run(inner, call);
  return other_bits("softmax", inner, call);
}

// The last result of a large call is kept for the next.
bp_code stale_cache(const bp_kernel& inner, const bp_call& call) {
  static std::vector<uint8_t> kept;
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || !is_row(call, "mul") || (out.flags & BP_LAYOUT_CONTIGUOUS) == 0 ||
      out.numel < 2)
    return code;
  const size_t bytes = static_cast<size_t>(out.numel) * out.itemsize;
  if (kept.size() == bytes) std::memcpy(data_of(out), kept.data(), out.itemsize);
  kept.assign(data_of(out), data_of(out) + bytes);
  return code;
}

}  // namespace

const std::vector<KernelFault> honesty_faults = {
    {"wrong_once", wrong_once},
    {"crash_with_threads", crash_with_threads},
    {"race", race},
    {"unsupported_after_yes", unsupported_after_yes},
    {"aborts_on_dtype", aborts_on_dtype},
    {"hangs_on_dtype", hangs_on_dtype},
    {"fails_without_message", fails_without_message},
    {"remembers_error", remembers_error},
    {"nondeterministic", nondeterministic},
    {"nondeterministic_beside", nondeterministic_beside},
    {"stale_cache", stale_cache},
};

}  // namespace exam
