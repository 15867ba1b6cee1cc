// Submits work to the thread's current stream of a device or, while the thread captures, to its recorder. Launches,
// copies and fills come through here; no other part of the dispatcher needs to know which of the two it is.
#pragma once

#include <backplane/dispatcher/launch.hpp>
#include <backplane/runtime/capturing.hpp>

namespace bp {

// A thread's capture, as seen by code that submits work: takes the place of a stream. Refuses what cannot be recorded.
class Recorder : public CaptureState {
 public:
  // Takes the call as the kernel would get it; returns what the kernel returns.
  virtual bp_code kernel(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call,
                         bool reports_faults) = 0;
  // Both are contiguous and of equal size.
  virtual void copy(const Tensor& target, const Tensor& source) = 0;
  // Writes `element` to the only element of the target.
  virtual void fill(const Tensor& target, const void* element) = 0;
  // Keeps memory that a kernel uses besides its arguments.
  virtual void hold(const Tensor& scratch) = 0;
  // Called when the host would have to compute this call.
  [[noreturn]] virtual void refuse_host(const Frame& frame) = 0;

 protected:
  Recorder(StreamImpl& captured, GraphMemory& pool) : CaptureState{captured, pool, false, {}} {}
  ~Recorder() = default;
};

namespace submit {

// Whether the kernel can be part of what the thread submits.
bool takes(const Candidate& candidate);
// Runs or records one kernel; sets up the call's fault word if the kernel reports faults.
bp_code kernel(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call);
// Between contiguous tensors of equal size on one device. Counts as a write to the target.
void copy(const Tensor& target, const Tensor& source);
// Between two devices of one backend, if it copies between them itself. False: it cannot, and nothing was done.
bool copy_between_peers(const Tensor& target, const Tensor& source);
// Writes a number, in the tensor's dtype, to its only element.
void fill(const Tensor& target, const Scalar& value);
// The same for all elements of a small contiguous tensor, if the host can write them at once. False: nothing was done.
bool fill_small(const Tensor& target, const Scalar& value);
// Keeps memory that a kernel uses besides its arguments for as long as the kernel may run.
void hold(const Tensor& scratch);
// Called before the host computes this call: throws if that is not possible.
void on_host(const Frame& frame);

}  // namespace submit

bp_region region_of(const Tensor& tensor);
bp_region host_region(const void* memory, std::uint64_t bytes);

}  // namespace bp
