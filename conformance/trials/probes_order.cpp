// L1: order with what is not work of the device: functions of the host, and numbers that others raise.
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

constexpr std::uint64_t room = 30000;

std::vector<std::string> with_host_calls(const Subject& subject, int) {
  if (subject.has_host_calls && subject.has_streams && !subject.synchronous()) return {""};
  return {};
}
std::vector<std::string> with_semaphores(const Subject& subject, int) {
  if (subject.has_semaphores && subject.has_streams && !subject.synchronous()) return {""};
  return {};
}

Json step_of(const char* what, int object, int stream = 0) {
  return {{"do", what}, {"object", object}, {"stream", stream}};
}

// A stream 50 whose copy of object 1 to 2 must wait for what stands before it; 51 looks meanwhile.
struct Stage {
  explicit Stage(ProbePlan& plan) {
    for (const int stream : {50, 51}) plan.add(object_step("stream", stream));
    for (const int object : {1, 2}) plan.add(allocate_step(object, room));
    plan.add(write_step(1, 0, newer));
    plan.add(write_step(2, 0, older));
  }
  std::size_t look(ProbePlan& plan) const { return plan.add(on_stream(read_step(2, 0, room), 51)); }
  const Bytes older = pattern_bytes(room, 5), newer = pattern_bytes(room, 6);
};

// The function has its turn, and what comes after it waits for its end.
ProbePlan host_call(const std::string&, const Subject&) {
  ProbePlan plan;
  const Stage stage(plan);
  Json gated = step_of("host_call", 70, 50);
  gated["gate"] = 300;
  plan.add(gated);
  plan.add(copy_step(2, 0, 1, 0, room, 50));
  plan.add(step_of("host_call", 71, 50));
  const std::size_t before = stage.look(plan);
  const std::size_t early = plan.add(step_of("host_calls", 71));
  plan.add(step_of("open", 70));
  plan.add(simple_step("synchronize", 50));
  const std::size_t after = stage.look(plan);
  const std::size_t first = plan.add(step_of("host_calls", 70)),
                    second = plan.add(step_of("host_calls", 71));
  plan.judge_after_success([=](const Json& answer) -> std::string {
    if (std::string why = differs(answer, before, stage.older,
                                  "what a stream writes after a function that has not returned");
        !why.empty())
      return why;
    if (result_of(answer, early)["calls"] != 0)
      return "a function was called while one before it in the stream had not returned";
    for (const std::size_t each : {first, second})
      if (result_of(answer, each)["calls"] != 1)
        return fmt::format("a function was called {} times, once the stream was synchronized",
                           result_of(answer, each)["calls"].get<int>());
    if (result_of(answer, first)["place"] >= result_of(answer, second)["place"])
      return "two functions of one stream were called in another order than they were given";
    return differs(answer, after, stage.newer, "what a stream writes after a function");
  });
  return plan;
}

// A stream waits for a number, and raises it when it is done.
ProbePlan semaphore(const std::string&, const Subject&) {
  ProbePlan plan;
  const Stage stage(plan);
  const auto use = [](const char* what, std::uint64_t value) {
    Json step = step_of(what, 80, 50);
    step["value"] = value;
    return step;
  };
  plan.add(step_of("semaphore", 80));
  plan.add(use("semaphore_wait", 1));
  plan.add(copy_step(2, 0, 1, 0, room, 50));
  plan.add(use("semaphore_signal", 2));
  plan.add({{"do", "pause"}, {"milliseconds", 10}});
  const std::size_t before = stage.look(plan);
  const std::size_t early = plan.add(step_of("semaphore_value", 80));
  plan.add(use("semaphore_raise", 1));
  plan.add(simple_step("synchronize", 50));
  const std::size_t after = stage.look(plan);
  const std::size_t late = plan.add(step_of("semaphore_value", 80));
  plan.judge_after_success([=](const Json& answer) -> std::string {
    if (std::string why =
            differs(answer, before, stage.older, "what a stream writes that waits for a semaphore");
        !why.empty())
      return why;
    if (result_of(answer, early)["value"] != 0)
      return "a semaphore was signaled before the work that stood before the signal was done";
    if (result_of(answer, late)["value"] != 2)
      return fmt::format("a semaphore is {} after the signal of 2 was done",
                         result_of(answer, late)["value"].get<std::uint64_t>());
    return differs(answer, after, stage.newer, "what a stream writes after a semaphore");
  });
  return plan;
}

}  // namespace

std::vector<Probe> order_probes() {
  return {{"host_call", with_host_calls, host_call}, {"semaphore", with_semaphores, semaphore}};
}

}  // namespace bp::conform
