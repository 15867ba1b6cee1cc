// L1: order and completion. Streams, events, and work that is said to be done before it is.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

std::vector<std::string> kinds_of_stream(const Subject& subject, int) {
  if (subject.has_streams) return {"default", "own"};
  return {"default"};
}

// A long chain in which each piece needs the one before.
void order(ProbePlan& plan) {
  constexpr std::uint64_t room = 40000;
  const int stream = plan.variant == "own" ? 50 : 0;
  if (stream) plan.each("stream", {stream});
  for (const int object : {1, 2}) plan.allocate(object, room);
  plan.write(1, 0, pattern_bytes(room, 3), stream);
  for (std::uint64_t i = 0; i < 40; ++i) {
    plan.copy(2, 8, 1, 0, room - 8, stream);
    plan.copy(1, 0, 2, 8, room - 8, stream);
    plan.copy(1, 0, 1, room / 2, 100 + i, stream);
  }
  plan.synchronize(stream);
  plan.expect(1, "the end of a chain of copies on one stream");
}

// What the one stream writes the other one reads, after an event.
void hand_over(ProbePlan& plan) {
  constexpr std::uint64_t room = 100000;
  plan.each("stream", {50, 51});
  plan.each("event", {60, 61});
  for (const int object : {1, 2, 3}) plan.allocate(object, room);
  plan.write(1, 0, pattern_bytes(room, 8));
  for (int round = 0; round < 8; ++round) {
    plan.copy(2, 0, 1, 0, room, 50);
    plan.on_event("record", 60, 50);
    plan.on_event("wait", 60, 51);
    plan.copy(3, 0, 2, 1, room - 1, 51);
    plan.copy(3, room - 1, 2, 0, 1, 51);
    plan.on_event("record", 61, 51);
    plan.on_event("wait", 61, 50);
    plan.copy(1, 0, 3, 0, room, 50);
  }
  for (const int stream : {50, 51}) plan.synchronize(stream);
  plan.expect(1, "what two streams hand to each other");
}

void event_unrecorded(ProbePlan& plan) {
  plan.each("event", {60});
  plan.each("stream", {50});
  plan.on_event("query_event", 60);
  plan.on_event("synchronize_event", 60);
  plan.on_event("wait", 60, 50);
  plan.synchronize(50);
}

// Reached events are reached, and time goes forwards.
void event_reached(ProbePlan& plan) {
  plan.each("stream", {50});
  plan.each("event", {60, 61});
  for (const int object : {1, 2}) plan.add(allocate_step(object, 1 << 20));
  plan.on_event("record", 60, 50);
  plan.add(copy_step(2, 0, 1, 0, 1 << 20, 50));
  plan.on_event("record", 61, 50);
  plan.on_event("synchronize_event", 61);
  plan.on_event("query_event", 60);
  plan.on_event("query_event", 61);
  const std::size_t elapsed = plan.add({{"do", "elapsed"}, {"event", 60}, {"until", 61}});
  plan.synchronize(50);
  plan.on_stream("query_stream", 50);
  plan.judge = [elapsed](const Answer& answer) {
    if (!answer[elapsed].contains("ns")) return;
    const double ns = answer[elapsed]["ns"].get<double>();
    demand(ns >= 0 && ns < 20e9, "{} ns between two events around a copy of 1 MiB", ns);
  };
}

void many(ProbePlan& plan) {
  constexpr int count = 40;
  plan.make(1, pattern_bytes(3000, 2));
  for (int i = 0; i < count; ++i) {
    plan.add({{"do", "stream"}, {"object", 100 + i}, {"priority", i % 3 - 1}});
    plan.allocate(10 + i, 3000);
    plan.copy(10 + i, 0, 1, 0, 3000, 100 + i);
  }
  for (int i = 0; i < count; ++i) plan.synchronize(100 + i);
  for (int i = 0; i < count; ++i) plan.expect(10 + i, "one of 40 streams");
}

void synchronize_idle(ProbePlan& plan) {
  for (int i = 0; i < 3; ++i) plan.synchronize();
  plan.on_stream("query_stream");
}

// The host's memory is free as soon as the copy is done: the worker writes over it at once.
void from_host(ProbePlan& plan) {
  const std::uint64_t bytes = plan.number();
  plan.allocate(1, bytes);
  for (unsigned round = 0; round < 3; ++round) plan.write(1, 0, pattern_bytes(bytes, 20 + round));
  plan.expect(1, "what was copied from host memory that is written over later");
}

// What a copy to the host brings is there when it is said to be, and stays.
void to_host(ProbePlan& plan) {
  const std::uint64_t bytes = plan.number();
  for (const int object : {1, 2}) plan.allocate(object, bytes);
  plan.write(1, 0, pattern_bytes(bytes, 31));
  for (int round = 0; round < 2; ++round) plan.copy(2, 0, 1, 0, bytes);
  plan.synchronize();
  for (int round = 0; round < 3; ++round) plan.expect(2, "a copy to the host");
}

// Synchronizing one stream is enough to read from another one.
void other_stream(ProbePlan& plan) {
  constexpr std::uint64_t room = 400000;
  plan.each("stream", {50, 51});
  for (const int object : {1, 2}) plan.allocate(object, room);
  plan.write(1, 0, pattern_bytes(room, 12));
  for (int round = 0; round < 4; ++round) plan.copy(2, 0, 1, 0, room, 50);
  plan.synchronize(50);
  plan.expect(2, "read on another stream after a synchronize", 51);
}

// ---- Order with what is not work of the device: functions of the host, and numbers that others raise

constexpr std::uint64_t stage_room = 30000;

Json step_of(const char* what, int object, int stream = 0) {
  return {{"do", what}, {"object", object}, {"stream", stream}};
}

// A stream 50 whose copy of object 1 to 2 must wait for what stands before it; 51 looks meanwhile.
void set_stage(ProbePlan& plan) {
  plan.each("stream", {50, 51});
  for (const int object : {1, 2}) plan.allocate(object, stage_room);
  plan.write(1, 0, pattern_bytes(stage_room, 6));
  plan.write(2, 0, pattern_bytes(stage_room, 5));
}
std::size_t look(ProbePlan& plan) {
  return plan.add(on_stream(read_step(2, 0, stage_room), 51));
}
// `after`: of the copy.
void demand_seen(const Answer& answer, std::size_t step, bool after, const char* what) {
  answer.demand_bytes(step, pattern_bytes(stage_room, after ? 6 : 5), what);
}

// The function has its turn, and what comes after it waits for its end.
void host_call(ProbePlan& plan) {
  set_stage(plan);
  Json gated = step_of("host_call", 70, 50);
  gated["gate"] = 300;
  plan.add(gated);
  plan.add(copy_step(2, 0, 1, 0, stage_room, 50));
  plan.add(step_of("host_call", 71, 50));
  const std::size_t before = look(plan), early = plan.add(step_of("host_calls", 71));
  plan.add(step_of("open", 70));
  plan.synchronize(50);
  const std::size_t after = look(plan), first = plan.add(step_of("host_calls", 70)),
                    second = plan.add(step_of("host_calls", 71));
  plan.judge = [=](const Answer& answer) {
    demand_seen(answer, before, false,
                "what a stream writes after a function that has not returned");
    demand(answer[early]["calls"] == 0,
           "a function was called while one before it in the stream had not returned");
    for (const std::size_t each : {first, second})
      demand(answer[each]["calls"] == 1,
             "a function was called {} times, once the stream was synchronized",
             answer[each]["calls"].get<int>());
    demand(answer[first]["place"] < answer[second]["place"],
           "two functions of one stream were called in another order than they were given");
    demand_seen(answer, after, true, "what a stream writes after a function");
  };
}

// A stream waits for a number, and raises it when it is done.
void semaphore(ProbePlan& plan) {
  set_stage(plan);
  const auto use = [&](const char* what, std::uint64_t value) {
    Json step = step_of(what, 80, 50);
    step["value"] = value;
    plan.add(std::move(step));
  };
  plan.add(step_of("semaphore", 80));
  use("semaphore_wait", 1);
  plan.add(copy_step(2, 0, 1, 0, stage_room, 50));
  use("semaphore_signal", 2);
  plan.add({{"do", "pause"}, {"milliseconds", 10}});
  const std::size_t before = look(plan), early = plan.add(step_of("semaphore_value", 80));
  use("semaphore_raise", 1);
  plan.synchronize(50);
  const std::size_t after = look(plan), late = plan.add(step_of("semaphore_value", 80));
  plan.judge = [=](const Answer& answer) {
    demand_seen(answer, before, false, "what a stream writes that waits for a semaphore");
    demand(answer[early]["value"] == 0,
           "a semaphore was signaled before the work that stood before the signal was done");
    demand(answer[late]["value"] == 2, "a semaphore is {} after the signal of 2 was done",
           answer[late]["value"].get<std::uint64_t>());
    demand_seen(answer, after, true, "what a stream writes after a semaphore");
  };
}

// ---- Hidden waits. One stream is held, and everything that the device promises not to wait with goes on

constexpr int held = 50, other = 51, event = 60, first_gate = 900;
// Long enough that nothing on a busy machine takes as long by itself.
constexpr int longest_ms = 3000;

template <std::uint32_t flags> bool promises(const Subject& subject) {
  return has_queues(subject) && (subject.device_flags & flags) != 0;
}

void need_host_calls(ProbePlan& plan) {
  if (!plan.subject.has_host_calls)
    plan.unsupported = "it offers no bp.host_calls, with which a stream could be held";
  plan.timeout_seconds = 60;
}

// Steps during each of which, by itself, `held` is held.
class HeldPlan {
 public:
  explicit HeldPlan(ProbePlan& plan) : plan_(plan) {
    need_host_calls(plan);
    plan.may_decline = true;
    plan.each("stream", {held});
  }
  void add(const std::string& what, Json step) {
    const int gate = first_gate + static_cast<int>(ends_.size());
    plan_.add({{"do", "host_call"}, {"object", gate}, {"stream", held}, {"gate", longest_ms}});
    plan_.add(std::move(step));
    ends_.push_back({plan_.add(object_step("open", gate)), what});
    plan_.synchronize(held);
    plan_.judge = [ends = ends_](const Answer& answer) {
      for (const auto& [end, name] : ends)
        demand(
            answer[end]["over"] != true,
            "{} waited for a stream that was given work which does not end soon; the device says "
            "that nothing does so",
            name);
    };
  }

 private:
  ProbePlan& plan_;
  std::vector<std::pair<std::size_t, std::string>> ends_;
};

void waits_of_memory(ProbePlan& plan) {
  HeldPlan(plan).add("an allocation and its release", raw_allocate_step(plan.number()));
}

Json and_synchronize(Json step, int stream) {
  step = on_stream(std::move(step), stream);
  step["synchronize"] = true;
  return step;
}

void other_work(ProbePlan& plan) {
  constexpr std::uint64_t room = 100000;
  HeldPlan while_held(plan);
  plan.each("stream", {other});
  for (const int object : {1, 2}) plan.allocate(object, room);
  plan.write(1, 0, pattern_bytes(room, 4));
  const auto add = [&](const char* what, Json step) {
    while_held.add(what, and_synchronize(std::move(step), other));
  };
  add("a copy from the host", write_step(1, 0, pattern_bytes(room, 5)));
  add("a copy", copy_step(2, 0, 1, 0, room));
  add("a copy to the host", read_step(2, 0, room));
  if (plan.subject.has_fill) add("a fill", fill_step(2, 0, room / 4 * 4, {1, 2, 3, 4}));
  while_held.add("synchronizing another stream", stream_step("synchronize", other));
  while_held.add("making a stream", object_step("stream", 70));
  if (!plan.subject.has_events) return;
  while_held.add("making an event", object_step("event", event));
  while_held.add("recording an event", event_step("record", event, other));
  while_held.add("synchronizing an event", event_step("synchronize_event", event));
  while_held.add("a wait for an event", event_step("wait", event, other));
}

std::vector<std::string> waited_calls(const Subject& subject, int profile) {
  return some_small_calls(subject, profile, 4);
}

void waits_of_call(ProbePlan& plan) {
  const SmallCall small = small_call(plan.variant, plan.subject);
  HeldPlan while_held(plan);
  set_up(plan, small.setup);
  while_held.add("the first call of a kernel", small.call);
}

// ---- Memory in the order of a stream. It is nobody else's before the work on it is done, and nothing waits for that

void try_stream_memory(ProbePlan& plan, const char* what,
                       std::function<void(const Json& result)> judge) {
  need_host_calls(plan);
  plan.add({{"do", "stream_memory"}, {"what", what}, {"bytes", plan.number()}});
  plan.judge_alone([judge = std::move(judge)](const Answer& answer) {
    if (answer.code(0) == BP_UNSUPPORTED) return;
    answer.demand_codes();
    judge(answer[0]);
  });
}

void reuse_of_pool(ProbePlan& plan) {
  try_stream_memory(plan, "order", [](const Json& result) {
    demand(result["earlier"].get<bool>(),
           "memory that was released in the order of a stream changed before the work that the "
           "stream had been given before was done");
    demand(result["others"].get<bool>(),
           "memory of a stream was written by the work of another one, which had it before");
    demand(result["next"].get<bool>(), "memory does not hold what its stream wrote last");
  });
}

void waits_of_pool(ProbePlan& plan) {
  try_stream_memory(plan, "waits", [](const Json& result) {
    const std::string waited = result["waited"].get<std::string>();
    demand(waited.empty(), "{} waited for a stream that was given work which does not end soon",
           waited);
  });
}

void ends_of_pool(ProbePlan& plan) {
  try_stream_memory(plan, "ends", [](const Json& result) {
    const auto place = result["misplaced"].get<std::uint64_t>();
    demand(place == 0, "address {:#x} of a stream's memory is not aligned to 4096 bytes", place);
    demand(result["same"].get<bool>(), "memory does not hold what was written into it");
  });
}

}  // namespace

std::vector<ProbeFamily> stream_families() {
  constexpr auto in_memory = promises<BP_DEVICE_NO_HIDDEN_WAITS | BP_DEVICE_NO_MEMORY_WAITS>;
  constexpr auto in_all = promises<BP_DEVICE_NO_HIDDEN_WAITS>;
  const Variants with_streams = {.applies = has<&Subject::has_streams>},
                 with_events = {.applies = has_events},
                 copy_sizes = {{"16", "1000", "65537", "400000"}},
                 pooled_sizes = {{"100", "70001", "12000000"},
                                 has_queues_and<&Subject::has_stream_memory>};
  return {{"stream",
           1,
           {{"order", order, {.find = kinds_of_stream}},
            {"wait", hand_over, with_events},
            {"event_unrecorded", event_unrecorded, with_events},
            {"event_reached", event_reached, with_events},
            {"many", many, with_streams},
            {"synchronize_idle", synchronize_idle}}},
          {"async",
           1,
           {{"from_host", from_host, copy_sizes},
            {"to_host", to_host, copy_sizes},
            {"other_stream", other_stream, with_streams}}},
          {"order",
           1,
           {{"host_call", host_call, {.applies = has_queues_and<&Subject::has_host_calls>}},
            {"semaphore", semaphore, {.applies = has_queues_and<&Subject::has_semaphores>}}}},
          {"stream_memory",
           1,
           {{"reuse", reuse_of_pool, pooled_sizes},
            {"waits", waits_of_pool, pooled_sizes},
            {"ends", ends_of_pool, pooled_sizes}}},
          {"waits",
           1,
           {{"memory", waits_of_memory, {{"4096", "3000000", "70000000"}, in_memory}},
            {"streams", other_work, {.applies = in_all}},
            {"call", waits_of_call, {.applies = in_all, .find = waited_calls}}}}};
}

}  // namespace bp::conform
