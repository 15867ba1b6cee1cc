// L1: order and completion. Streams, events, and work that is said to be done before it is.
#include <algorithm>
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

std::vector<std::string> kinds_of_stream(const Subject& subject, int) {
  if (subject.has_streams) return {"default", "own"};
  return {"default"};
}

// A long chain in which each piece needs the one before.
ProbePlan order(const std::string& variant, const Subject&) {
  constexpr std::uint64_t room = 40000;
  PicturedPlan script;
  const int stream = variant == "own" ? 50 : 0;
  if (stream) script.plan.add(object_step("stream", stream));
  for (const int object : {1, 2}) script.allocate(object, room);
  script.write(1, 0, pattern_bytes(room, 3), stream);
  for (int i = 0; i < 40; ++i) {
    script.copy(2, 8, 1, 0, room - 8, stream);
    script.copy(1, 0, 2, 8, room - 8, stream);
    script.copy(1, 0, 1, room / 2, 100 + static_cast<std::uint64_t>(i), stream);
  }
  script.plan.add(simple_step("synchronize", stream));
  script.expect(1, "the end of a chain of copies on one stream");
  return script.take();
}

// What the one stream writes the other one reads, after an event.
ProbePlan wait(const std::string&, const Subject&) {
  constexpr std::uint64_t room = 100000;
  PicturedPlan script;
  for (const int stream : {50, 51}) script.plan.add(object_step("stream", stream));
  for (const int event : {60, 61}) script.plan.add(object_step("event", event));
  for (const int object : {1, 2, 3}) script.allocate(object, room);
  script.write(1, 0, pattern_bytes(room, 8));
  for (int round = 0; round < 8; ++round) {
    script.copy(2, 0, 1, 0, room, 50);
    script.plan.add(event_step("record", 60, 50));
    script.plan.add(event_step("wait", 60, 51));
    script.copy(3, 0, 2, 1, room - 1, 51);
    script.copy(3, room - 1, 2, 0, 1, 51);
    script.plan.add(event_step("record", 61, 51));
    script.plan.add(event_step("wait", 61, 50));
    script.copy(1, 0, 3, 0, room, 50);
  }
  for (const int stream : {50, 51}) script.plan.add(simple_step("synchronize", stream));
  script.expect(1, "what two streams hand to each other");
  return script.take();
}

ProbePlan event_unrecorded(const std::string&, const Subject&) {
  ProbePlan plan;
  plan.add(object_step("event", 60));
  plan.add(object_step("stream", 50));
  plan.add({{"do", "query_event"}, {"event", 60}});
  plan.add({{"do", "synchronize_event"}, {"event", 60}});
  plan.add(event_step("wait", 60, 50));
  plan.add(simple_step("synchronize", 50));
  plan.expect_reads({});
  return plan;
}

// Reached events are reached, and time goes forwards.
ProbePlan event_reached(const std::string&, const Subject&) {
  ProbePlan plan;
  plan.add(object_step("stream", 50));
  for (const int event : {60, 61}) plan.add(object_step("event", event));
  for (const int object : {1, 2}) plan.add(allocate_step(object, 1 << 20));
  plan.add(event_step("record", 60, 50));
  plan.add(copy_step(2, 0, 1, 0, 1 << 20, 50));
  plan.add(event_step("record", 61, 50));
  plan.add({{"do", "synchronize_event"}, {"event", 61}});
  plan.add({{"do", "query_event"}, {"event", 60}});
  plan.add({{"do", "query_event"}, {"event", 61}});
  const std::size_t elapsed = plan.add({{"do", "elapsed"}, {"event", 60}, {"until", 61}});
  plan.add(simple_step("synchronize", 50));
  plan.add({{"do", "query_stream"}, {"stream", 50}});
  plan.judge_after_success([elapsed](const Json& answer) -> std::string {
    const Json& result = result_of(answer, elapsed);
    if (!result.contains("ns")) return {};
    const double ns = result["ns"].get<double>();
    return ns >= 0 && ns < 20e9
               ? ""
               : fmt::format("{} ns between two events around a copy of 1 MiB", ns);
  });
  return plan;
}

ProbePlan many(const std::string&, const Subject&) {
  PicturedPlan script;
  constexpr int count = 40;
  script.make(1, pattern_bytes(3000, 2));
  for (int i = 0; i < count; ++i) {
    script.plan.add({{"do", "stream"}, {"object", 100 + i}, {"priority", i % 3 - 1}});
    script.allocate(10 + i, 3000);
    script.copy(10 + i, 0, 1, 0, 3000, 100 + i);
  }
  for (int i = 0; i < count; ++i) script.plan.add(simple_step("synchronize", 100 + i));
  for (int i = 0; i < count; ++i) script.expect(10 + i, "one of 40 streams");
  return script.take();
}

ProbePlan synchronize_idle(const std::string&, const Subject&) {
  ProbePlan plan;
  for (int i = 0; i < 3; ++i) plan.add(simple_step("synchronize"));
  plan.add({{"do", "query_stream"}});
  plan.expect_reads({});
  return plan;
}

std::vector<std::string> copy_sizes(const Subject&, int) {
  return {"16", "1000", "65537", "400000"};
}

// The host's memory is free as soon as the copy is done: the worker writes over it at once.
ProbePlan from_host(const std::string& variant, const Subject&) {
  const std::uint64_t bytes = std::stoull(variant);
  PicturedPlan script;
  script.allocate(1, bytes);
  for (unsigned round = 0; round < 3; ++round) script.write(1, 0, pattern_bytes(bytes, 20 + round));
  script.expect(1, "what was copied from host memory that is written over later");
  return script.take();
}

// What a copy to the host brings is there when it is said to be, and stays.
ProbePlan to_host(const std::string& variant, const Subject&) {
  const std::uint64_t bytes = std::stoull(variant);
  PicturedPlan script;
  for (const int object : {1, 2}) script.allocate(object, bytes);
  script.write(1, 0, pattern_bytes(bytes, 31));
  for (int round = 0; round < 2; ++round) script.copy(2, 0, 1, 0, bytes);
  script.plan.add(simple_step("synchronize"));
  for (int round = 0; round < 3; ++round) script.expect(2, "a copy to the host");
  return script.take();
}

// Synchronizing one stream is enough to read from another one.
ProbePlan other_stream(const std::string&, const Subject&) {
  constexpr std::uint64_t room = 400000;
  PicturedPlan script;
  for (const int stream : {50, 51}) script.plan.add(object_step("stream", stream));
  for (const int object : {1, 2}) script.allocate(object, room);
  script.write(1, 0, pattern_bytes(room, 12));
  for (int round = 0; round < 4; ++round) script.copy(2, 0, 1, 0, room, 50);
  script.plan.add(simple_step("synchronize", 50));
  script.expect(2, "read on another stream after a synchronize", 51);
  return script.take();
}

// ---- Order with what is not work of the device: functions of the host, and numbers that others raise

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

// ---- Hidden waits. One stream is held, and everything that the device promises not to wait with goes on

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

// ---- Memory in the order of a stream. It is nobody else's before the work on it is done, and nothing waits for that

std::vector<std::string> pooled_sizes(const Subject& subject, int) {
  if (!subject.has_stream_memory || !subject.has_streams || subject.synchronous()) return {};
  return {"100", "70001", "12000000"};
}

bool is_on_device(const Json& result) {
  return result["code"] != BP_UNSUPPORTED;
}

ProbePlan plan_of(const char* what, const std::string& variant, const Subject& subject,
                  std::function<std::string(const Json& result)> fault) {
  ProbePlan plan;
  if (!subject.has_host_calls)
    plan.unsupported = "it offers no bp.host_calls, with which a stream could be held";
  const std::size_t step =
      plan.add({{"do", "stream_memory"}, {"what", what}, {"bytes", std::stoull(variant)}});
  plan.timeout_seconds = 60;
  plan.judge = [=, steps = plan.steps](const Json& answer) -> std::string {
    if (!is_on_device(result_of(answer, step))) return {};
    if (std::string failure = first_failure(answer, steps); !failure.empty()) return failure;
    return fault(result_of(answer, step));
  };
  return plan;
}

ProbePlan reuse_of_pool(const std::string& variant, const Subject& subject) {
  return plan_of("order", variant, subject, [](const Json& result) -> std::string {
    if (!result["earlier"].get<bool>())
      return "memory that was released in the order of a stream changed before the work that the "
             "stream had been given before was done";
    if (!result["others"].get<bool>())
      return "memory of a stream was written by the work of another one, which had it before";
    return result["next"].get<bool>() ? "" : "memory does not hold what its stream wrote last";
  });
}

ProbePlan waits_of_pool(const std::string& variant, const Subject& subject) {
  return plan_of("waits", variant, subject, [](const Json& result) -> std::string {
    const std::string waited = result["waited"].get<std::string>();
    if (waited.empty()) return {};
    return fmt::format("{} waited for a stream that was given work which does not end soon",
                       waited);
  });
}

ProbePlan ends(const std::string& variant, const Subject& subject) {
  return plan_of("ends", variant, subject, [](const Json& result) -> std::string {
    if (const auto place = result["misplaced"].get<std::uint64_t>())
      return fmt::format("address {:#x} of a stream's memory is not aligned to 4096 bytes", place);
    return result["same"].get<bool>() ? "" : "memory does not hold what was written into it";
  });
}

}  // namespace

std::vector<Probe> stream_probes() {
  return {{"order", kinds_of_stream, order},
          {"wait", with_events, wait},
          {"event_unrecorded", with_events, event_unrecorded},
          {"event_reached", with_events, event_reached},
          {"many", where<&Subject::has_streams>, many},
          {"synchronize_idle", one_variant, synchronize_idle}};
}

std::vector<Probe> async_probes() {
  return {{"from_host", copy_sizes, from_host},
          {"to_host", copy_sizes, to_host},
          {"other_stream", where<&Subject::has_streams>, other_stream}};
}

std::vector<Probe> order_probes() {
  return {{"host_call", with_host_calls, host_call}, {"semaphore", with_semaphores, semaphore}};
}

std::vector<Probe> wait_probes() {
  return {{"memory", waited_sizes, waits_of_memory},
          {"streams", when_promised_to_go_on, other_work},
          {"call", waited_calls, waits_of_call}};
}

std::vector<Probe> stream_memory_probes() {
  return {{"reuse", pooled_sizes, reuse_of_pool},
          {"waits", pooled_sizes, waits_of_pool},
          {"ends", pooled_sizes, ends}};
}

}  // namespace bp::conform
