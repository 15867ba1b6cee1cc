// L1: what is said of a stream that is busy for certain. After an OK the bytes are looked at: what was said to be done is.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr int looker = 51, idle_stream = 52, busy_gate = 70, awaited = 60;
constexpr std::uint64_t busy_room = 30000, busy_large = 900000;
constexpr int busy_gate_ms = 60, busy_work_ms = 30;

constexpr auto may_be_busy = has_queues_and<&Subject::has_events>;
// Busy with copies, as many as take the device a while, or with a function of the host's that does not return; a stream
// that was made, or the device's own, NULL.
std::vector<std::string> ways_to_be_busy(const Subject& subject, int) {
  if (subject.has_host_calls) return {"copies", "function", "copies_of_null", "function_of_null"};
  return {"copies", "copies_of_null"};
}
bool is_held(const std::string& way) {
  return way.starts_with("function");
}

// Object 2 is written over with object 1's bytes, last of all that the stream, which it gives, has to do. 3 is as large.
int keep_busy(ProbePlan& plan, const std::string& way) {
  const int kept_busy = way.ends_with("of_null") ? 0 : 50;
  plan.each("stream", {50, looker, idle_stream});
  plan.each("event", {awaited});
  plan.make(1, pattern_bytes(busy_room, 6));
  plan.make(2, pattern_bytes(busy_room, 5));
  plan.allocate(3, busy_room);
  if (is_held(way)) {
    plan.add({{"do", "host_call"},
              {"object", busy_gate},
              {"stream", kept_busy},
              {"gate", busy_gate_ms}});
  } else {
    plan.make(4, pattern_bytes(busy_large, 9));
    plan.allocate(5, busy_large);
    plan.add({{"do", "work"},
              {"to", 5},
              {"from", 4},
              {"stream", kept_busy},
              {"milliseconds", busy_work_ms}});
  }
  plan.copy(2, 0, 1, 0, busy_room, kept_busy);
  return kept_busy;
}
int keep_busy(ProbePlan& plan) {
  return keep_busy(plan, plan.variant);
}

// `question` may be answered with BP_RETRY. Once it is answered with BP_OK, the work is done.
void ask_busy(ProbePlan& plan, int stream, const Json& question, const char* what) {
  const bool held = is_held(plan.variant);
  const Json look = on_stream(read_step(2, 0, busy_room), looker);
  const std::size_t first = plan.add(question, ProbePlan::ok_or_retry), seen = plan.add(look);
  if (held) plan.add(object_step("open", busy_gate));
  plan.synchronize(stream);
  plan.add(question);
  const std::size_t after = plan.add(look);
  plan.judge = [=, newer = pattern_bytes(busy_room, 6)](const Answer& answer) {
    const bool says_done = answer.code(first) == BP_OK;
    demand(!says_done || !held, "{} while a function that the stream was given has not returned",
           what);
    if (says_done) answer.demand_bytes(seen, newer, fmt::format("{}, and its work is not", what));
    answer.demand_bytes(after, newer, "what a stream wrote, once it was synchronized");
  };
}

void busy_query_stream(ProbePlan& plan) {
  const int stream = keep_busy(plan);
  ask_busy(plan, stream, stream_step("query_stream", stream), "the stream is said to be idle");
}

void busy_query_event(ProbePlan& plan) {
  const int stream = keep_busy(plan);
  plan.on_event("record", awaited, stream);
  ask_busy(plan, stream, event_step("query_event", awaited), "the event is said to be reached");
}

void busy_synchronize(ProbePlan& plan) {
  plan.synchronize(keep_busy(plan));
  plan.expect(2, "what a stream wrote, once it was synchronized", looker);
}

void busy_synchronize_event(ProbePlan& plan) {
  plan.on_event("record", awaited, keep_busy(plan));
  plan.on_event("synchronize_event", awaited);
  plan.expect(2, "what a stream wrote before an event that was synchronized", looker);
}

// The other stream waits, then hands on what it finds; `meanwhile` happens to the event in between.
void wait_for_busy(ProbePlan& plan, int waiting, const std::vector<Json>& meanwhile,
                   const std::string& what) {
  plan.on_event("record", awaited, keep_busy(plan));
  plan.on_event("wait", awaited, waiting);
  for (const Json& step : meanwhile) plan.add(step);
  plan.copy(3, 0, 2, 0, busy_room, waiting);
  plan.synchronize(waiting);
  plan.expect(3, what, waiting);
}

void busy_wait(ProbePlan& plan) {
  wait_for_busy(plan, looker, {}, "what a stream reads after it waited for an event");
}

void busy_null_stream(ProbePlan& plan) {
  wait_for_busy(plan, 0, {}, "what the stream NULL reads after it waited for an event");
}

// The wait is for the recording that it found; the event speaks of the newest one.
void busy_recorded_again(ProbePlan& plan) {
  wait_for_busy(plan, looker,
                {event_step("record", awaited, idle_stream),
                 stream_step("synchronize", idle_stream), event_step("query_event", awaited)},
                "what a stream reads after it waited for an event that was then recorded again");
}

void busy_destroyed(ProbePlan& plan) {
  wait_for_busy(plan, looker, {{{"do", "destroy"}, {"event", awaited}}},
                "what a stream reads after it waited for an event that was then destroyed");
}

// Work stays on its stream: what was given later is done later.
void busy_copy(ProbePlan& plan) {
  const int stream = keep_busy(plan);
  plan.make(6, pattern_bytes(busy_room, 7));
  plan.copy(2, 0, 6, 0, busy_room, stream);
  plan.synchronize(stream);
  plan.expect(2, "the target of two copies on one stream", looker);
}

void busy_fill(ProbePlan& plan) {
  const int stream = keep_busy(plan);
  plan.fill(2, 0, busy_room / 4 * 4, {1, 2, 3, 4}, stream);
  plan.synchronize(stream);
  plan.expect(2, "the target of a copy and then a fill on one stream", looker);
}

// Large pieces, or small ones, go by engines of their own on many devices; they keep the stream's order all the same.
std::vector<std::string> ways_of_pieces(const Subject& subject, int profile) {
  std::vector<std::string> all;
  for (const std::string& way : ways_to_be_busy(subject, profile))
    for (const char* what : {"copy", "fill", "from_host", "few_from_host", "to_host"})
      if (subject.has_fill || std::string_view(what) != "fill") all.push_back(way + "." + what);
  return all;
}

void busy_piece(ProbePlan& plan) {
  constexpr std::uint64_t large = (1 << 20) + 64;
  constexpr int small_one = 6, large_one = 7, target = 8;
  const std::size_t dot = plan.variant.find('.');
  const std::string what = plan.variant.substr(dot + 1);
  const int stream = keep_busy(plan, plan.variant.substr(0, dot));
  plan.make(small_one, pattern_bytes(busy_room, 11));
  plan.make(large_one, pattern_bytes(large, 12));
  plan.make(target, pattern_bytes(large, 13));
  plan.copy(large_one, 0, small_one, 0, busy_room, stream);
  if (what == "copy") plan.copy(target, 0, large_one, 0, large, stream);
  if (what == "fill") plan.fill(large_one, 0, large, {1, 2, 3, 4}, stream);
  if (what == "from_host") plan.write(large_one, 0, pattern_bytes(large, 14), stream);
  if (what == "few_from_host") plan.write(large_one, 0, pattern_bytes(4000, 14), stream);
  if (what == "to_host")
    plan.expect(large_one, "what a stream hands to the host behind its other work", stream);
  plan.synchronize(stream);
  plan.expect(large_one, "a piece behind other work of its stream", looker);
  plan.expect(target, "what a stream copies behind its other work", looker);
}

// Between two events lies what the host has waited between them, at least, and no more than all of it.
void busy_elapsed(ProbePlan& plan) {
  constexpr int second = 61;
  plan.each("stream", {50});
  plan.each("event", {awaited, second});
  std::size_t recorded[2], reached[2];
  for (const int i : {0, 1}) {
    if (i == 1) plan.add({{"do", "pause"}, {"milliseconds", 30}});
    recorded[i] = plan.on_event("record", awaited + i, 50);
    reached[i] = plan.on_event("synchronize_event", awaited + i);
  }
  const std::size_t said = plan.add({{"do", "elapsed"}, {"event", awaited}, {"until", second}});
  plan.judge = [=](const Answer& answer) {
    if (!answer[said].contains("ns")) return;
    const auto at = [&](std::size_t step, const char* key) {
      return answer[step][key].get<double>();
    };
    constexpr double slack_ns = 1e6;
    const double least = at(recorded[1], "began_ns") - at(reached[0], "ended_ns"),
                 most = at(reached[1], "ended_ns") - at(recorded[0], "began_ns"),
                 ns = at(said, "ns");
    demand(ns >= 0.9 * least - slack_ns && ns <= 1.1 * most + slack_ns,
           "{:.0f} ns are said to lie between two events; the host's clock measured {:.0f} to "
           "{:.0f}",
           ns, least, most);
  };
}

}  // namespace

std::vector<ProbeFamily> busy_families() {
  const Variants ways = {.applies = may_be_busy, .find = ways_to_be_busy};
  const auto filling = [](const Subject& subject) {
    return subject.has_fill && may_be_busy(subject);
  };
  return {{"busy",
           1,
           {{"query_stream", busy_query_stream, ways},
            {"query_event", busy_query_event, ways},
            {"synchronize", busy_synchronize, ways},
            {"synchronize_event", busy_synchronize_event, ways},
            {"wait", busy_wait, ways},
            {"null_stream", busy_null_stream, ways},
            {"recorded_again", busy_recorded_again, ways},
            {"destroyed", busy_destroyed, ways},
            {"copy", busy_copy, ways},
            {"fill", busy_fill, {.applies = filling, .find = ways_to_be_busy}},
            {"piece", busy_piece, {.applies = may_be_busy, .find = ways_of_pieces}},
            {"elapsed", busy_elapsed, {.applies = has_events}}}}};
}

}  // namespace bp::conform
