// Faults: each stands between the host and the correct plugin, and does one thing wrong. One is chosen for a process.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <backplane/abi.h>
#include <backplane/extensions/peer.h>

namespace exam {

// In place of a kernel's run. `inner` is the correct kernel.
using RunFault = bp_code (*)(const bp_kernel& inner, const bp_call& call);

struct KernelFault {
  const char* name;
  RunFault run;
};
// The fault that this process asked for, if it is one of kernels; null otherwise.
const KernelFault* chosen_kernel_fault();

// One table for each file of faults.
extern const std::vector<KernelFault> shape_faults, size_faults, corner_faults, value_faults,
    number_faults, composed_faults, memory_faults, thread_faults, honesty_faults, contract_faults;

// In place of the memory's functions, where that is the fault: changes the table.
void spoil_memory(bp_memory& memory);
void spoil_spaces(bp_memory& memory);

// What a kernel does besides running.
void spoil_contract(bp_kernel& kernel);

// The same for what devices say of themselves, and for links between them.
void spoil_facts(bp_plugin& plugin, bp_memory& memory, bp_queue& queue);
extern const bp_peer peer;

extern const bp_host* host;

// ---- For faults ------------------------------------------------------------------------------------

inline bp_code run(const bp_kernel& inner, const bp_call& call) {
  return inner.run(inner.self, &call);
}
inline bool is_row(const bp_call& call, std::string_view name) {
  return name == call.op->name;
}
inline bool is_pointwise(const bp_call& call) {
  return call.op->kind == BP_KIND_POINTWISE;
}

inline uint8_t* data_of(const bp_tensor& tensor) {
  return static_cast<uint8_t*>(tensor.dl.data) + tensor.dl.byte_offset;
}
// Element `place`, in row-major order.
uint8_t* element(const bp_tensor& tensor, int64_t place);
double number_at(const bp_tensor& tensor, int64_t place);
void set_number(const bp_tensor& tensor, int64_t place, double value);
bool is_floating(const bp_tensor& tensor);

// A call whose tensors may be changed; the host's stays as it is.
class ChangedCall {
 public:
  explicit ChangedCall(const bp_call& call);
  ChangedCall(const ChangedCall&) = delete;
  ChangedCall& operator=(const ChangedCall&) = delete;

  // Null if the argument is not a tensor.
  bp_tensor* tensor(uint32_t arg);
  // The tensor's elements in memory of this object's own, row-major, which it then points to.
  void repack(bp_tensor& tensor);
  // The same, but what is behind it repeats its first `period` elements of memory.
  void repeat_flat(bp_tensor& tensor, int64_t period);
  bp_value& value(uint32_t arg) { return args_[arg]; }
  bp_call& call() { return call_; }
  uint32_t num_args() const { return call_.num_args; }

 private:
  struct Own {
    bp_tensor tensor;
    int64_t shape[BP_MAX_RANK], strides[BP_MAX_RANK];
    std::vector<uint8_t> bytes;
  };
  void make_contiguous(bp_tensor& tensor, std::vector<uint8_t> bytes);
  Own* own_of(const bp_tensor& tensor);

  bp_call call_;
  std::vector<bp_value> args_;
  std::vector<Own> own_;
};

}  // namespace exam
