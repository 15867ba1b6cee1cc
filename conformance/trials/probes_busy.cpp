// L1: what is said of a stream that is busy for certain. After an OK the bytes are looked at: what was said to be done is.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr int looker = 51, idle_stream = 52, busy_gate = 70, awaited = 60;
constexpr std::uint64_t busy_room = 30000, busy_large = 900000;
constexpr int busy_gate_ms = 60, busy_work_ms = 30;

// Busy with copies, as many as take the device a while, or with a function of the host's that does not return; a stream
// that was made, or the device's own, NULL.
std::vector<std::string> ways_to_be_busy(const Subject& subject, int profile) {
  if (with_events(subject, profile).empty() || subject.synchronous()) return {};
  if (subject.has_host_calls) return {"copies", "function", "copies_of_null", "function_of_null"};
  return {"copies", "copies_of_null"};
}

// Object 2 is written over with object 1's bytes, last of all that the stream `kept_busy` has to do. 3 is as large.
struct BusyPlan {
  explicit BusyPlan(const std::string& way)
      : is_held(way.starts_with("function")), kept_busy(way.ends_with("of_null") ? 0 : 50) {
    for (const int stream : {50, looker, idle_stream})
      script.plan.add(object_step("stream", stream));
    script.plan.add(object_step("event", awaited));
    script.make(1, newer);
    script.make(2, older);
    script.allocate(3, busy_room);
    if (is_held) {
      script.plan.add({{"do", "host_call"},
                       {"object", busy_gate},
                       {"stream", kept_busy},
                       {"gate", busy_gate_ms}});
    } else {
      script.make(4, pattern_bytes(busy_large, 9));
      script.allocate(5, busy_large);
      script.plan.add({{"do", "work"},
                       {"to", 5},
                       {"from", 4},
                       {"stream", kept_busy},
                       {"milliseconds", busy_work_ms}});
    }
    script.copy(2, 0, 1, 0, busy_room, kept_busy);
  }
  // What object 2 holds meanwhile.
  std::size_t look() { return script.plan.add(on_stream(read_step(2, 0, busy_room), looker)); }

  PicturedPlan script;
  const bool is_held;
  const int kept_busy;
  const Bytes older = pattern_bytes(busy_room, 5), newer = pattern_bytes(busy_room, 6);
};

// `question` may be answered with BP_RETRY. Once it is answered with BP_OK, the work is done.
ProbePlan asked(BusyPlan script, const Json& question, const char* what) {
  ProbePlan& plan = script.script.plan;
  const std::size_t first = plan.add(question), seen = script.look();
  if (script.is_held) plan.add(object_step("open", busy_gate));
  plan.add(simple_step("synchronize", script.kept_busy));
  const std::size_t again = plan.add(question), after = script.look();
  plan.judge = [=, steps = plan.steps, newer = script.newer,
                held = script.is_held](const Json& answer) -> std::string {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (const int code = code_of(result_of(answer, i));
          code != BP_OK && (i != first || code != BP_RETRY))
        return fmt::format("step {} ({}): {}", i, steps[i]["do"].get<std::string>(),
                           error_of(result_of(answer, i)));
    const bool says_done = code_of(result_of(answer, first)) == BP_OK;
    if (says_done && held)
      return fmt::format("{} while a function that the stream was given has not returned", what);
    if (says_done)
      if (std::string why =
              differs(answer, seen, newer, fmt::format("{}, and its work is not", what));
          !why.empty())
        return why;
    return differs(answer, after, newer, "what a stream wrote, once it was synchronized");
  };
  (void)again;
  return std::move(plan);
}

ProbePlan busy_query_stream(const std::string& way, const Subject&) {
  BusyPlan script(way);
  Json question = simple_step("query_stream", script.kept_busy);
  return asked(std::move(script), question, "the stream is said to be idle");
}

ProbePlan busy_query_event(const std::string& way, const Subject&) {
  BusyPlan script(way);
  script.script.plan.add(event_step("record", awaited, script.kept_busy));
  return asked(std::move(script), {{"do", "query_event"}, {"event", awaited}},
               "the event is said to be reached");
}

ProbePlan busy_synchronize(const std::string& way, const Subject&) {
  BusyPlan script(way);
  script.script.plan.add(simple_step("synchronize", script.kept_busy));
  script.script.expect(2, "what a stream wrote, once it was synchronized", looker);
  return script.script.take();
}

ProbePlan busy_synchronize_event(const std::string& way, const Subject&) {
  BusyPlan script(way);
  script.script.plan.add(event_step("record", awaited, script.kept_busy));
  script.script.plan.add({{"do", "synchronize_event"}, {"event", awaited}});
  script.script.expect(2, "what a stream wrote before an event that was synchronized", looker);
  return script.script.take();
}

// The other stream waits, then hands on what it finds; `meanwhile` happens to the event in between.
ProbePlan waits(const std::string& way, int waiting, const std::vector<Json>& meanwhile,
                const std::string& what) {
  BusyPlan script(way);
  ProbePlan& plan = script.script.plan;
  plan.add(event_step("record", awaited, script.kept_busy));
  plan.add(event_step("wait", awaited, waiting));
  for (const Json& step : meanwhile) plan.add(step);
  script.script.copy(3, 0, 2, 0, busy_room, waiting);
  plan.add(simple_step("synchronize", waiting));
  script.script.expect(3, what, waiting);
  return script.script.take();
}

ProbePlan busy_wait(const std::string& way, const Subject&) {
  return waits(way, looker, {}, "what a stream reads after it waited for an event");
}

ProbePlan busy_null_stream(const std::string& way, const Subject&) {
  return waits(way, 0, {}, "what the stream NULL reads after it waited for an event");
}

// The wait is for the recording that it found; the event speaks of the newest one.
ProbePlan busy_recorded_again(const std::string& way, const Subject&) {
  return waits(way, looker,
               {event_step("record", awaited, idle_stream),
                simple_step("synchronize", idle_stream),
                {{"do", "query_event"}, {"event", awaited}}},
               "what a stream reads after it waited for an event that was then recorded again");
}

ProbePlan busy_destroyed(const std::string& way, const Subject&) {
  return waits(way, looker, {{{"do", "destroy"}, {"event", awaited}}},
               "what a stream reads after it waited for an event that was then destroyed");
}

// Work stays on its stream: what was given later is done later.
ProbePlan busy_copy(const std::string& way, const Subject&) {
  BusyPlan script(way);
  script.script.make(6, pattern_bytes(busy_room, 7));
  script.script.copy(2, 0, 6, 0, busy_room, script.kept_busy);
  script.script.plan.add(simple_step("synchronize", script.kept_busy));
  script.script.expect(2, "the target of two copies on one stream", looker);
  return script.script.take();
}

std::vector<std::string> ways_to_be_filled(const Subject& subject, int profile) {
  return subject.has_fill ? ways_to_be_busy(subject, profile) : std::vector<std::string>();
}

ProbePlan busy_fill(const std::string& way, const Subject&) {
  BusyPlan script(way);
  script.script.fill(2, 0, busy_room / 4 * 4, {1, 2, 3, 4}, script.kept_busy);
  script.script.plan.add(simple_step("synchronize", script.kept_busy));
  script.script.expect(2, "the target of a copy and then a fill on one stream", looker);
  return script.script.take();
}

// Large pieces, or small ones, go by engines of their own on many devices; they keep the stream's order all the same.
std::vector<std::string> ways_of_pieces(const Subject& subject, int profile) {
  std::vector<std::string> all;
  for (const std::string& way : ways_to_be_busy(subject, profile))
    for (const char* what : {"copy", "fill", "from_host", "few_from_host", "to_host"})
      if (subject.has_fill || std::string_view(what) != "fill") all.push_back(way + "." + what);
  return all;
}

ProbePlan busy_piece(const std::string& variant, const Subject&) {
  constexpr std::uint64_t large = (1 << 20) + 64;
  constexpr int small_one = 6, large_one = 7, target = 8;
  const std::size_t dot = variant.find('.');
  const std::string what = variant.substr(dot + 1);
  BusyPlan busy(variant.substr(0, dot));
  PicturedPlan& script = busy.script;
  script.make(small_one, pattern_bytes(busy_room, 11));
  script.make(large_one, pattern_bytes(large, 12));
  script.make(target, pattern_bytes(large, 13));
  script.copy(large_one, 0, small_one, 0, busy_room, busy.kept_busy);
  if (what == "copy") script.copy(target, 0, large_one, 0, large, busy.kept_busy);
  if (what == "fill") script.fill(large_one, 0, large, {1, 2, 3, 4}, busy.kept_busy);
  if (what == "from_host") script.write(large_one, 0, pattern_bytes(large, 14), busy.kept_busy);
  if (what == "few_from_host") script.write(large_one, 0, pattern_bytes(4000, 14), busy.kept_busy);
  if (what == "to_host")
    script.expect(large_one, "what a stream hands to the host behind its other work",
                  busy.kept_busy);
  script.plan.add(simple_step("synchronize", busy.kept_busy));
  script.expect(large_one, "a piece behind other work of its stream", looker);
  script.expect(target, "what a stream copies behind its other work", looker);
  return script.take();
}

// Between two events lies what the host has waited between them, at least, and no more than all of it.
ProbePlan busy_elapsed(const std::string&, const Subject&) {
  constexpr int second = 61;
  ProbePlan plan;
  plan.add(object_step("stream", 50));
  for (const int each : {awaited, second}) plan.add(object_step("event", each));
  std::size_t recorded[2], reached[2];
  for (const int i : {0, 1}) {
    if (i == 1) plan.add({{"do", "pause"}, {"milliseconds", 30}});
    recorded[i] = plan.add(event_step("record", awaited + i, 50));
    reached[i] = plan.add({{"do", "synchronize_event"}, {"event", awaited + i}});
  }
  const std::size_t said = plan.add({{"do", "elapsed"}, {"event", awaited}, {"until", second}});
  plan.judge_after_success([=](const Json& answer) -> std::string {
    const Json& result = result_of(answer, said);
    if (!result.contains("ns")) return {};
    const auto at = [&](std::size_t step, const char* key) {
      return result_of(answer, step)[key].get<double>();
    };
    constexpr double slack_ns = 1e6;
    const double least = at(recorded[1], "began_ns") - at(reached[0], "ended_ns"),
                 most = at(reached[1], "ended_ns") - at(recorded[0], "began_ns"),
                 ns = result["ns"].get<double>();
    if (ns >= 0.9 * least - slack_ns && ns <= 1.1 * most + slack_ns) return {};
    return fmt::format(
        "{:.0f} ns are said to lie between two events; the host's clock measured {:.0f} to {:.0f}",
        ns, least, most);
  });
  return plan;
}

}  // namespace

std::vector<Probe> busy_probes() {
  return {{"query_stream", ways_to_be_busy, busy_query_stream},
          {"query_event", ways_to_be_busy, busy_query_event},
          {"synchronize", ways_to_be_busy, busy_synchronize},
          {"synchronize_event", ways_to_be_busy, busy_synchronize_event},
          {"wait", ways_to_be_busy, busy_wait},
          {"null_stream", ways_to_be_busy, busy_null_stream},
          {"recorded_again", ways_to_be_busy, busy_recorded_again},
          {"destroyed", ways_to_be_busy, busy_destroyed},
          {"copy", ways_to_be_busy, busy_copy},
          {"fill", ways_to_be_filled, busy_fill},
          {"piece", ways_of_pieces, busy_piece},
          {"elapsed", with_events, busy_elapsed}};
}

}  // namespace bp::conform
