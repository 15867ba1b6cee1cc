// L1: order and completion. Streams, events, and work that is said to be done before it is.
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "trials/trial.hpp"

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

}  // namespace bp::conform
