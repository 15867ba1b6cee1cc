// L1: hidden waits. One stream is held, and everything that the device promises not to wait with goes on.
#include <algorithm>
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "trials/small_calls.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

constexpr int held = 50, other = 51, event = 60, first_gate = 900;
// Long enough that nothing on a busy machine takes as long by itself.
constexpr int longest_ms = 3000;

bool promises(const Subject& subject, std::uint32_t flags) {
  return !subject.synchronous() && subject.has_streams && (subject.device_flags & flags) != 0;
}

// A plan in which `held` is held during each of `steps`, by itself.
class HeldPlan {
 public:
  explicit HeldPlan(const Subject& subject) {
    if (!subject.has_host_calls)
      plan_.unsupported = "it offers no bp.host_calls, with which a stream could be held";
    plan_.add(object_step("stream", held));
  }
  void add(Json step) { plan_.add(std::move(step)); }
  void add_while_held(const std::string& what, Json step) {
    const int gate = first_gate + static_cast<int>(ends_.size());
    plan_.add({{"do", "host_call"}, {"object", gate}, {"stream", held}, {"gate", longest_ms}});
    plan_.add(std::move(step));
    ends_.push_back({plan_.add(object_step("open", gate)), what});
    plan_.add(simple_step("synchronize", held));
  }
  ProbePlan take() {
    plan_.judge = [ends = ends_, steps = plan_.steps](const Json& answer) -> std::string {
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (is_refused(result_of(answer, i))) return {};
      if (std::string failure = first_failure(answer, steps); !failure.empty()) return failure;
      for (const auto& [step, what] : ends)
        if (result_of(answer, step)["over"] == true)
          return fmt::format(
              "{} waited for a stream that was given work which does not end soon; "
              "the device says that nothing does so",
              what);
      return {};
    };
    plan_.timeout_seconds = 60;
    return std::move(plan_);
  }

 private:
  ProbePlan plan_;
  std::vector<std::pair<std::size_t, std::string>> ends_;
};

std::vector<std::string> waited_sizes(const Subject& subject, int) {
  if (!promises(subject, BP_DEVICE_NO_HIDDEN_WAITS | BP_DEVICE_NO_MEMORY_WAITS)) return {};
  return {"4096", "3000000", "70000000"};
}

ProbePlan waits_of_memory(const std::string& variant, const Subject& subject) {
  HeldPlan plan(subject);
  plan.add_while_held("an allocation and its release", raw_allocate_step(std::stoull(variant), 64));
  return plan.take();
}

std::vector<std::string> when_promised_to_go_on(const Subject& subject, int) {
  if (!promises(subject, BP_DEVICE_NO_HIDDEN_WAITS)) return {};
  return {""};
}

Json on(Json step, int stream) {
  step = on_stream(std::move(step), stream);
  step["synchronize"] = true;
  return step;
}

ProbePlan other_work(const std::string&, const Subject& subject) {
  constexpr std::uint64_t room = 100000;
  HeldPlan plan(subject);
  plan.add(object_step("stream", other));
  for (const int object : {1, 2}) plan.add(allocate_step(object, room));
  plan.add(write_step(1, 0, pattern_bytes(room, 4)));
  plan.add_while_held("a copy from the host", on(write_step(1, 0, pattern_bytes(room, 5)), other));
  plan.add_while_held("a copy", on(copy_step(2, 0, 1, 0, room), other));
  plan.add_while_held("a copy to the host", on(read_step(2, 0, room), other));
  if (subject.has_fill)
    plan.add_while_held("a fill", on(fill_step(2, 0, room / 4 * 4, {1, 2, 3, 4}), other));
  plan.add_while_held("synchronizing another stream", simple_step("synchronize", other));
  plan.add_while_held("making a stream", object_step("stream", 70));
  if (subject.has_events) {
    plan.add_while_held("making an event", object_step("event", event));
    plan.add_while_held("recording an event", event_step("record", event, other));
    plan.add_while_held("synchronizing an event", {{"do", "synchronize_event"}, {"event", event}});
    plan.add_while_held("a wait for an event", event_step("wait", event, other));
  }
  return plan.take();
}

std::vector<std::string> waited_calls(const Subject& subject, int profile) {
  if (!promises(subject, BP_DEVICE_NO_HIDDEN_WAITS)) return {};
  std::vector<std::string> all = small_calls(subject, profile), some;
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(all.size() / 4, 1))
    some.push_back(all[i]);
  return some;
}

ProbePlan waits_of_call(const std::string& variant, const Subject& subject) {
  const SmallCall small = small_call(variant, subject);
  HeldPlan plan(subject);
  for (const Json& step : small.setup) plan.add(step);
  plan.add_while_held("the first call of a kernel", small.call);
  return plan.take();
}

}  // namespace

std::vector<Probe> wait_probes() {
  return {{"memory", waited_sizes, waits_of_memory},
          {"streams", when_promised_to_go_on, other_work},
          {"call", waited_calls, waits_of_call}};
}

}  // namespace bp::conform
