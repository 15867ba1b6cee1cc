// L1: order and completion. Streams, events, and work that is said to be done before it is.
#include <algorithm>
#include <fmt/format.h>

#include "trials/answers.hpp"
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
  ProbePlan plan;
  const int stream = variant == "own" ? 50 : 0;
  if (stream) plan.add(object_step("stream", stream));
  std::vector<std::uint8_t> data = pattern_bytes(room, 3);
  for (const int object : {1, 2}) plan.add(allocate_step(object, room));
  Json write = write_step(1, 0, data);
  write["stream"] = stream;
  plan.add(write);
  for (int i = 0; i < 40; ++i) {
    plan.add(copy_step(2, 8, 1, 0, room - 8, stream));
    plan.add(copy_step(1, 0, 2, 8, room - 8, stream));
    plan.add(copy_step(1, 0, 1, room / 2, 100 + static_cast<std::uint64_t>(i), stream));
    std::copy_n(data.begin() + room / 2, 100 + i, data.begin());
  }
  plan.add(simple_step("synchronize", stream));
  plan.expect_reads(
      {{plan.add(read_step(1, 0, room)), data, "the end of a chain of copies on one stream"}});
  return plan;
}

std::vector<std::string> with_events(const Subject& subject, int) {
  if (subject.has_streams && subject.has_events) return {""};
  return {};
}

// What the one stream writes the other one reads, after an event.
ProbePlan wait(const std::string&, const Subject&) {
  constexpr std::uint64_t room = 100000;
  ProbePlan plan;
  for (const int stream : {50, 51}) plan.add(object_step("stream", stream));
  for (const int event : {60, 61}) plan.add(object_step("event", event));
  for (const int object : {1, 2, 3}) plan.add(allocate_step(object, room));
  std::vector<std::uint8_t> data = pattern_bytes(room, 8);
  plan.add(write_step(1, 0, data));
  for (int round = 0; round < 8; ++round) {
    plan.add(copy_step(2, 0, 1, 0, room, 50));
    plan.add(event_step("record", 60, 50));
    plan.add(event_step("wait", 60, 51));
    plan.add(copy_step(3, 0, 2, 1, room - 1, 51));
    plan.add(copy_step(3, room - 1, 2, 0, 1, 51));
    plan.add(event_step("record", 61, 51));
    plan.add(event_step("wait", 61, 50));
    plan.add(copy_step(1, 0, 3, 0, room, 50));
    std::rotate(data.begin(), data.begin() + 1, data.end());
  }
  for (const int stream : {50, 51}) plan.add(simple_step("synchronize", stream));
  plan.expect_reads(
      {{plan.add(read_step(1, 0, room)), data, "what two streams hand to each other"}});
  return plan;
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

std::vector<std::string> with_streams(const Subject& subject, int) {
  if (subject.has_streams) return {""};
  return {};
}

ProbePlan many(const std::string&, const Subject&) {
  ProbePlan plan;
  constexpr int count = 40;
  const std::vector<std::uint8_t> data = pattern_bytes(3000, 2);
  plan.add(allocate_step(1, 3000));
  plan.add(write_step(1, 0, data));
  for (int i = 0; i < count; ++i) {
    plan.add({{"do", "stream"}, {"object", 100 + i}, {"priority", i % 3 - 1}});
    plan.add(allocate_step(10 + i, 3000));
    plan.add(copy_step(10 + i, 0, 1, 0, 3000, 100 + i));
  }
  for (int i = 0; i < count; ++i) plan.add(simple_step("synchronize", 100 + i));
  std::vector<Expectation> reads;
  for (int i = 0; i < count; ++i)
    reads.push_back({plan.add(read_step(10 + i, 0, 3000)), data, "one of 40 streams"});
  plan.expect_reads(std::move(reads));
  return plan;
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
  ProbePlan plan;
  plan.add(allocate_step(1, bytes));
  std::vector<std::uint8_t> data;
  for (unsigned round = 0; round < 3; ++round)
    plan.add(write_step(1, 0, data = pattern_bytes(bytes, 20 + round)));
  plan.expect_reads({{plan.add(read_step(1, 0, bytes)), data,
                      "what was copied from host memory that is written over later"}});
  return plan;
}

// What a copy to the host brings is there when it is said to be, and stays.
ProbePlan to_host(const std::string& variant, const Subject&) {
  const std::uint64_t bytes = std::stoull(variant);
  ProbePlan plan;
  plan.add(allocate_step(1, bytes));
  plan.add(allocate_step(2, bytes));
  const std::vector<std::uint8_t> data = pattern_bytes(bytes, 31);
  plan.add(write_step(1, 0, data));
  for (int round = 0; round < 2; ++round) plan.add(copy_step(2, 0, 1, 0, bytes));
  plan.add(simple_step("synchronize"));
  std::vector<Expectation> reads;
  for (int round = 0; round < 3; ++round)
    reads.push_back({plan.add(read_step(2, 0, bytes)), data, "a copy to the host"});
  plan.expect_reads(std::move(reads));
  return plan;
}

// Synchronizing one stream is enough to read from another one.
ProbePlan other_stream(const std::string&, const Subject&) {
  constexpr std::uint64_t room = 400000;
  ProbePlan plan;
  plan.add(object_step("stream", 50));
  plan.add(object_step("stream", 51));
  plan.add(allocate_step(1, room));
  plan.add(allocate_step(2, room));
  const std::vector<std::uint8_t> data = pattern_bytes(room, 12);
  plan.add(write_step(1, 0, data));
  for (int round = 0; round < 4; ++round) plan.add(copy_step(2, 0, 1, 0, room, 50));
  plan.add(simple_step("synchronize", 50));
  Json last = read_step(2, 0, room);
  last["stream"] = 51;
  plan.expect_reads({{plan.add(last), data, "read on another stream after a synchronize"}});
  return plan;
}

}  // namespace

const std::vector<Probe>& stream_probes() {
  static const std::vector<Probe> probes = {{"order", kinds_of_stream, order},
                                            {"wait", with_events, wait},
                                            {"event_unrecorded", with_events, event_unrecorded},
                                            {"event_reached", with_events, event_reached},
                                            {"many", with_streams, many},
                                            {"synchronize_idle", one_variant, synchronize_idle}};
  return probes;
}

const std::vector<Probe>& async_probes() {
  static const std::vector<Probe> probes = {{"from_host", copy_sizes, from_host},
                                            {"to_host", copy_sizes, to_host},
                                            {"other_stream", with_streams, other_stream}};
  return probes;
}

}  // namespace bp::conform
