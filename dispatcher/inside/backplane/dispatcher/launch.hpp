// Running one kernel: outputs, workspace, errors.
#pragma once

#include <backplane/dispatcher/frame.hpp>
#include <backplane/dispatcher/plans.hpp>

namespace bp {

// Behind bp_call.host_data while a kernel runs; host functions find their call by it.
struct Launch {
  explicit Launch(Frame& of) : frame(&of), outputs(of.call.num_results) {}

  Frame* frame;
  Tensor* results = nullptr;  // what the kernel writes
  PerResult<bp_tensor*> outputs;
  Temporaries* temporaries = nullptr;
  PlanInUse plan;  // of a kernel that plans
};

// Does the kernel take the arguments as they are? Asks `supports` too.
bool accepts(const Candidate& candidate, Frame& frame);

// Runs the kernel and leaves the results in frame.call.results: new tensors, or the given ones, where
// needed through a temporary. False if the kernel says that it cannot take this call after all; throws
// whatever else it reports. False as well, with frame.shortage, if a memory besides the main one has no room for a result.
bool launch(const Candidate& candidate, Frame& frame);

// The memory that all tensors of the call are in; main memory's if they are in several, or there are none.
std::uint32_t common_space(const Frame& frame);

// Allocates a result as the rule inferred it; like the inputs in memory if those agree, and the kernel takes it.
Tensor allocate_result(const Candidate& candidate, Frame& frame, std::uint32_t index);

// Scratch for the call's work on its stream; `alignment` 0: the device's own. Devices with addresses get an aligned
// address, others an aligned place in an allocation, which begins at the device's own alignment.
bp_region allocate_workspace(Launch& launch, std::uint64_t bytes, std::uint64_t alignment);

// The call as the plugin sees it.
bp_call make_abi_call(Frame& frame, Launch& launch);

}  // namespace bp
