// What kernels with a `plan` have said of the calls that they get: asked once for each class of calls, and kept.
#pragma once

#include <memory>

#include <backplane/runtime/device_registry.hpp>

namespace bp {

struct Candidate;
struct Frame;
struct Launch;
struct Plan;
struct StreamImpl;
class PlanCache;

// A plan for as long as somebody needs it; the last one to let go gives it back to the kernel. Whoever has given work with
// it to a stream holds it until that work is done.
using PlanRef = std::shared_ptr<Plan>;

// Holds a plan for one call.
class PlanInUse {
 public:
  PlanInUse() = default;
  PlanInUse(PlanRef plan, StreamImpl& stream) : plan_(std::move(plan)), stream_(&stream) {}
  // The call's work, if any, is with the stream: a plan that is kept no more outlives that work.
  ~PlanInUse();
  PlanInUse(const PlanInUse&) = delete;
  PlanInUse& operator=(const PlanInUse&) = delete;
  PlanInUse& operator=(PlanInUse&& other) noexcept;

  const PlanRef& plan() const { return plan_; }

 private:
  PlanRef plan_;
  StreamImpl* stream_ = nullptr;
};

// The plans of one kernel: bounded in number, the one that was not used for longest goes first. Lives as long as the
// process, or until end_plan_cache.
PlanCache* make_plan_cache();
// Gives them back to the kernel, which is about to end: nobody calls it, and no stream is at work with it.
void end_plan_cache(PlanCache& cache);

// Gives the call its plan and workspace, asking the kernel where the class of the call is new. False: the kernel takes no
// such calls. Throws whatever else it says. Threads: any; one asks for a class, and others wait for its answer.
bool plan_call(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call);

// Gives back all plans for calls on a device that closes; no call on it is running.
void forget_plans(Backend& backend, DeviceRecord& record);

}  // namespace bp
