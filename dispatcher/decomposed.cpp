// Rung 4: a call by other operators of the device.
#include <algorithm>

#include <backplane/dispatcher/decomposition.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/tensor/dtype.hpp>

#include "converted_call.hpp"
#include "counter_slots.hpp"
#include "devices_differ.hpp"
#include "kernel_table.hpp"
#include "ladder.hpp"
#include "layer_table.hpp"

namespace bp {
namespace {

// Has the backend a kernel for what a decomposition in `dtype` asks of the operator, as it is or converted? One
// that never computes in it, as logic over what a comparison gave, is asked in a dtype of its own.
bool serves(const Operator& op, std::uint32_t backend, Dtype dtype) {
  DtypeSet possible = set_of(dtype) | lossless_targets(dtype);
  if (!contains(op.dtypes, dtype)) possible = op.dtypes;
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (contains(possible, static_cast<Dtype>(i)) && has_kernel(op, backend, static_cast<Dtype>(i)))
      return true;
  return false;
}

// Does every operator that the decomposition calls run on the backend without the host?
bool decomposes_on(const Operator& op, std::uint32_t backend, Dtype dtype, int depth = 0) {
  if (!op.decompose || depth > 8) return false;
  if (!op.uses) return true;  // a custom operator's: nobody knows
  for (const char* const* name = op.uses; *name; ++name) {
    const Operator* used = find_operator(*name);
    if (!used) return false;
    if (used->is_view() || serves(*used, backend, dtype)) continue;
    if (!decomposes_on(*used, backend, dtype, depth + 1)) return false;
  }
  return true;
}

void add_missing(const Operator& op, std::uint32_t backend, Dtype dtype, int depth,
                 std::vector<std::string>& missing) {
  for (const char* const* name = op.uses; name && *name; ++name) {
    const Operator* used = find_operator(*name);
    if (!used || used->is_view() || serves(*used, backend, dtype)) continue;
    if (used->decompose && used->uses && depth < 8)
      add_missing(*used, backend, dtype, depth + 1, missing);
    else if (std::find(missing.begin(), missing.end(), *name) == missing.end())
      missing.emplace_back(*name);
  }
}

// The same, remembered in the operator until kernels come or go: the answer takes a look-up by name for
// every operator inside. A word holds the epoch, then a known and a yes bit for each dtype.
bool decomposes_here(const Frame& frame, Dtype dtype) {
  static_assert(2 * num_dtypes <= 40);
  std::atomic<std::uint64_t>& memory = frame.call.op.decomposable[frame.backend()];
  const std::uint64_t epoch = kernels_epoch() & 0xffffffu;
  const std::uint64_t known = std::uint64_t{1} << (2 * index(dtype)), yes = known << 1;
  std::uint64_t word = memory.load(std::memory_order_relaxed);
  if (word >> 40 != epoch) word = epoch << 40;
  if (word & known) return (word & yes) != 0;
  const bool found = decomposes_on(frame.op(), frame.backend(), dtype);
  memory.store(word | known | (found ? yes : 0), std::memory_order_relaxed);
  return found;
}

// The last step of many is a view of what the step before made. As a result that would be a view of a tensor
// that no layer has ever seen.
void run(Decomposition decompose, const Call& call) {
  decompose(call);
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (call.results[i].defined()) forget_lone_base(*call.results[i].impl());
}

// The user called `op`: "rand: the size is negative" of an operator inside becomes "randint: the size is negative".
std::string as_called(const Operator& op, const std::string& message) {
  const std::size_t end = message.find(": ");
  if (end == std::string::npos || !find_operator(message.substr(0, end))) return message;
  return op.name() + message.substr(end);
}

bool has_complex_tensors(const Call& call) {
  bool found = false;
  for_each_tensor(call, [&](std::uint32_t, const bp_tensor& tensor) {
    found |= is_complex(static_cast<Dtype>(tensor.dtype));
  });
  return found;
}

// False if an operator inside would not run here.
bool decomposed(Decomposition decompose, const Call& call) {
  UncountedScope uncounted;
  // That the operators inside have kernels for the dtype says nothing of layouts: if one of them would
  // go to the host, the whole goes there once.
  const PolicyScope on_the_device(Rung::host, Policy::forbid);
  try {
    run(decompose, call);
    return true;
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::unsupported) throw;
    return false;
  }
}

// A kernel of 16-bit floats computes in f32 and rounds once; operator by operator, each step would round. So the
// arguments go up, and the results come down.
bool try_widened(Frame& frame, Dtype from) {
  if (!converts_by_kernel(frame, from, f32) || !decomposes_here(frame, f32)) return false;
  ConvertedCall wide(frame);
  {
    UncountedScope uncounted;
    rewrite_tensors(wide.call, wide.kept, [&](std::uint32_t, const bp_tensor* tensor) {
      if (static_cast<Dtype>(tensor->dtype) != from) return tensor;
      return wide.kept.keep(converted(tensor, f32));
    });
  }
  if (!decomposed(frame.op().decompose, wide.call)) return false;
  wide.deliver(frame);
  return true;
}

}  // namespace

void run_decomposition(const Operator& op, const Call& call) {
  const bool is_of_complex = op.decompose_complex && has_complex_tensors(call);
  const Decomposition decompose = is_of_complex ? op.decompose_complex : op.decompose;
  if (op.kind != BP_KIND_COMPOSITE) return run(decompose, call);
  try {
    run(decompose, call);
  } catch (const DevicesDiffer&) {
    throw;  // to dispatch(), which names the devices of this call's arguments
  } catch (const Error& error) {
    const std::string message = as_called(op, error.what());
    if (message == error.what()) throw;
    throw Error(error.error_class(), message, error.is_late());
  }
}

bool run_rule_and_decomposition(const Call& call, Inferred& inferred) {
  if (call.op.infer) call.op.infer(call, inferred);
  if (inferred.fills) return false;
  check_written_by_layers(call);
  run_decomposition(call.op, call);
  return true;
}

std::vector<std::string> missing_parts(const Frame& frame) {
  std::vector<std::string> missing;
  if (frame.op().decompose)
    add_missing(frame.op(), frame.backend(), frame.inferred.compute_dtype, 0, missing);
  return missing;
}

bool try_decomposed(Frame& frame) {
  const Dtype dtype = frame.inferred.compute_dtype;
  if (frame.op().decompose_complex && is_complex(dtype))
    return decomposed(frame.op().decompose_complex, frame.call);
  if (!frame.op().decompose) return false;
  const bool short_floats = dtype == f16 || dtype == bf16;
  if (frame.op().widens && short_floats && try_widened(frame, dtype)) return true;
  return decomposes_here(frame, dtype) && decomposed(frame.op().decompose, frame.call);
}

}  // namespace bp
