// Runs one kernel: outputs, workspace, errors.
#pragma once

#include <backplane/dispatcher/frame.hpp>
#include <backplane/dispatcher/plans.hpp>

namespace bp {

// What bp_call.host_data points to while a kernel runs; host functions find their call through it.
struct Launch {
  explicit Launch(Frame& of) : frame(&of), outputs(of.call.num_results) {}

  Frame* frame;
  Tensor* results = nullptr;  // what the kernel writes
  PerResult<bp_tensor*> outputs;
  Temporaries* temporaries = nullptr;
  PlanInUse plan;  // of a kernel that plans
};

// Whether the kernel takes the arguments as they are; also asks `supports`.
bool accepts(const Candidate& candidate, Frame& frame);

// Runs the kernel and leaves the results in frame.call.results: new tensors, or the given ones, through a temporary if
// needed. False if the kernel rejects this call after all; throws any other error that it reports. Also false, with
// frame.shortage set, if a memory other than the main one is too full for a result.
bool launch(const Candidate& candidate, Frame& frame);

// The memory space that holds all tensors of the call; the main one if they are in several, or there are none.
std::uint32_t common_space(const Frame& frame);

// Allocates a result as the rule inferred it, with the inputs' layout and space if they agree and the kernel accepts them.
Tensor allocate_result(const Candidate& candidate, Frame& frame, std::uint32_t index);

// Scratch memory for the call's work on its stream; `alignment` 0: the device's own. Devices with addresses get an aligned
// address; others an aligned offset in an allocation that begins at the device's own alignment.
bp_region allocate_workspace(Launch& launch, std::uint64_t bytes, std::uint64_t alignment);

// The call as the plugin sees it.
bp_call make_abi_call(Frame& frame, Launch& launch);

}  // namespace bp
