// Caches the plans of kernels that have a `plan` function: it is called once for each class of calls.
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

// Keeps a plan for as long as somebody needs it; the last holder returns it to the kernel. Whoever submits work that uses
// it holds it until that work is done.
using PlanRef = std::shared_ptr<Plan>;

// Holds a plan for one call.
class PlanInUse {
 public:
  PlanInUse() = default;
  PlanInUse(PlanRef plan, StreamImpl& stream) : plan_(std::move(plan)), stream_(&stream) {}
  // The call's work, if any, has been submitted to the stream: a plan that left the cache outlives that work.
  ~PlanInUse();
  PlanInUse(const PlanInUse&) = delete;
  PlanInUse& operator=(const PlanInUse&) = delete;
  PlanInUse& operator=(PlanInUse&& other) noexcept;

  const PlanRef& plan() const { return plan_; }

 private:
  PlanRef plan_;
  StreamImpl* stream_ = nullptr;
};

// The plans of one kernel: a bounded number, the least recently used is dropped first. Lives as long as the process, or
// until end_plan_cache.
PlanCache* make_plan_cache();
// Returns all plans to the kernel, which is about to end: nobody calls it, and no stream is working with it.
void end_plan_cache(PlanCache& cache);

// Gives the call its plan and workspace, and asks the kernel if this class of calls is new. False: the kernel does not take
// such calls. Throws any other error of the kernel. Threads: any; one thread asks for a class, others wait for its answer.
bool plan_call(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call);

// Returns all plans for calls on a device that is closing; no call on it is running.
void forget_plans(Backend& backend, DeviceRecord& record);

}  // namespace bp
