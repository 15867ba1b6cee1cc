// Where work goes: to the thread's current stream of a device, or, while the thread captures, to its recorder.
// Launches, copies and fills come through here, and no other part of the dispatcher asks which of the two it is.
#pragma once

#include <backplane/dispatcher/launch.hpp>
#include <backplane/runtime/capturing.hpp>

namespace bp {

// A thread's capture, as those know it who submit: takes work in place of a stream. Refuses what cannot be recorded.
class Recorder : public CaptureState {
 public:
  // A call as the kernel is to get it; what the kernel answers.
  virtual bp_code kernel(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call,
                         bool reports_faults) = 0;
  // Both contiguous, of one size.
  virtual void copy(const Tensor& target, const Tensor& source) = 0;
  // `element` for the one element of the target.
  virtual void fill(const Tensor& target, const void* element) = 0;
  // Memory that a kernel uses beside its arguments.
  virtual void hold(const Tensor& scratch) = 0;
  // The host is to compute this call.
  [[noreturn]] virtual void refuse_host(const Frame& frame) = 0;

 protected:
  Recorder(StreamImpl& captured, GraphMemory& pool) : CaptureState{captured, pool, false, {}} {}
  ~Recorder() = default;
};

namespace submit {

// Can the kernel be part of what the thread submits?
bool takes(const Candidate& candidate);
// Runs, or records, one kernel; the call gets its word for faults where the kernel reports some.
bp_code kernel(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call);
// Contiguous tensors of one size and device. Counts as a write of the target.
void copy(const Tensor& target, const Tensor& source);
// Between two devices of one backend that copies between them by itself. False: it does not, and nothing happened.
bool copy_between_peers(const Tensor& target, const Tensor& source);
// A number of the tensor's dtype for its one element.
void fill(const Tensor& target, const Scalar& value);
// The same over all elements of a small contiguous tensor, where the host may write them at once. False: nothing happened.
bool fill_small(const Tensor& target, const Scalar& value);
// Memory that a kernel uses beside its arguments, kept for as long as the kernel may run.
void hold(const Tensor& scratch);
// The host is about to compute this call: throws where that cannot be.
void on_host(const Frame& frame);

}  // namespace submit

bp_region region_of(const Tensor& tensor);
bp_region host_region(const void* memory, std::uint64_t bytes);

}  // namespace bp
