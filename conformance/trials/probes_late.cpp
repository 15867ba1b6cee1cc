// L5: what a failure leaves behind, on devices that fail on request (bp.inject): it is told once, by the stream whose work it
// was, and all else goes on.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr int failing_stream = 50, working_stream = 51, fresh_stream = 52, late_event = 60;
constexpr std::uint64_t late_room = 3000;

std::vector<std::string> which_fails_later(const Subject& subject, int profile) {
  if (!subject.has_inject || subject.synchronous()) return {};
  return with_events(subject, profile);
}

Json inject_step(const char* kind, int code) {
  return {{"do", "inject"}, {"kind", kind}, {"error", code}};
}

// Steps, with the code that each has to answer; a code that is none has a message.
struct LatePlan {
  explicit LatePlan(bool has_streams = true) {
    if (has_streams) {
      for (const int stream : {failing_stream, working_stream}) add(object_step("stream", stream));
      add(object_step("event", late_event));
    }
    for (const int object : {1, 2, 3}) add(allocate_step(object, late_room));
    add(write_step(1, 0, newer));
    add(write_step(2, 0, older));
  }
  std::size_t add(Json step, int code = BP_OK) {
    codes.push_back(code);
    return plan.add(std::move(step));
  }
  // A copy of 1 to 2 that is given, and fails with the code later.
  void add_failing_copy(int code, int stream = failing_stream) {
    add(inject_step("work", code));
    Json copy = copy_step(2, 0, 1, 0, late_room, stream);
    copy["may_fail"] = true;
    add(std::move(copy));
  }
  void add_synchronize(int stream, int code = BP_OK) {
    add(simple_step("synchronize", stream), code);
  }
  // The stream still works.
  void add_good_copy(int to, int stream) {
    add(copy_step(to, 0, 1, 0, late_room, stream));
    add_synchronize(stream);
    Json read = read_step(to, 0, late_room);
    read["stream"] = stream;
    reads.push_back({add(std::move(read)), newer, "a copy after another one's failure"});
  }
  ProbePlan take() {
    plan.judge = [codes = codes, reads = reads,
                  steps = plan.steps](const Json& answer) -> std::string {
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const std::string what = fmt::format("step {} ({})", i, steps[i]["do"].get<std::string>());
        const Json& result = result_of(answer, i);
        if (codes[i] == BP_OK && code_of(result) != BP_OK)
          return fmt::format("{}: {}", what, error_of(result));
        if (codes[i] != BP_OK)
          if (std::string why = refused(result, codes[i], what); !why.empty()) return why;
      }
      return differs(answer, reads);
    };
    return std::move(plan);
  }

  ProbePlan plan;
  std::vector<int> codes;
  std::vector<Expectation> reads;
  const Bytes older = pattern_bytes(late_room, 5), newer = pattern_bytes(late_room, 6);
};

// The stream's next synchronize tells it, and no later one.
ProbePlan late_once(const std::string&, const Subject&) {
  LatePlan script;
  script.add_failing_copy(BP_INTERNAL);
  script.add_synchronize(failing_stream, BP_INTERNAL);
  script.add_synchronize(failing_stream);
  script.add_good_copy(2, failing_stream);
  return script.take();
}

// So does query_stream, once; before it may say that the stream is busy.
ProbePlan late_query(const std::string&, const Subject&) {
  LatePlan script;
  script.add_failing_copy(BP_INTERNAL);
  const std::size_t first = script.plan.steps.size();
  constexpr std::size_t times = 8;
  for (std::size_t i = 0; i < times; ++i) {
    script.plan.add(simple_step("query_stream", failing_stream));
    script.plan.add({{"do", "pause"}, {"milliseconds", 5}});
  }
  const std::size_t last = script.plan.add(simple_step("synchronize", failing_stream));
  script.plan.judge = [=](const Json& answer) -> std::string {
    int told = 0;
    for (std::size_t i = 0; i < times; ++i) {
      const Json& result = result_of(answer, first + 2 * i);
      if (code_of(result) == BP_INTERNAL) {
        ++told;
        if (std::string why = refused(result, BP_INTERNAL, "query_stream"); !why.empty())
          return why;
      } else if (code_of(result) != BP_OK && code_of(result) != BP_RETRY) {
        return "query_stream: " + error_of(result);
      }
    }
    if (told != 1)
      return fmt::format("query_stream tells {} times of one piece of work that failed", told);
    if (code_of(result_of(answer, last)) == BP_OK) return {};
    return "synchronize tells what query_stream has told: " + error_of(result_of(answer, last));
  };
  return std::move(script.plan);
}

// Events say order, not success: one behind work that failed is reached, keeps nobody waiting, and tells nothing.
ProbePlan late_events(const std::string&, const Subject&) {
  LatePlan script;
  script.add_failing_copy(BP_INTERNAL);
  script.add(event_step("record", late_event, failing_stream));
  script.add(event_step("wait", late_event, working_stream));
  script.add({{"do", "synchronize_event"}, {"event", late_event}});
  for (int i = 0; i < 2; ++i) script.add({{"do", "query_event"}, {"event", late_event}});
  script.add_good_copy(3, working_stream);
  script.add_synchronize(failing_stream, BP_INTERNAL);
  return script.take();
}

ProbePlan late_other_streams(const std::string&, const Subject&) {
  LatePlan script;
  script.add_failing_copy(BP_INTERNAL);
  for (const int stream : {working_stream, 0}) script.add_good_copy(3, stream);
  script.add_synchronize(failing_stream, BP_INTERNAL);
  for (const int stream : {working_stream, 0}) script.add_synchronize(stream);
  return script.take();
}

// A lost stream takes nothing; all others, and new ones, do.
ProbePlan late_lost_stream(const std::string&, const Subject&) {
  LatePlan script;
  script.add_failing_copy(BP_STREAM_LOST);
  script.add_synchronize(failing_stream, BP_STREAM_LOST);
  script.add(copy_step(3, 0, 1, 0, late_room, failing_stream), BP_STREAM_LOST);
  script.add(event_step("record", late_event, failing_stream), BP_STREAM_LOST);
  script.add_good_copy(3, working_stream);
  script.add({{"do", "destroy"}, {"stream", failing_stream}});
  script.add(object_step("stream", fresh_stream));
  script.add_good_copy(2, fresh_stream);
  return script.take();
}

// So does a lost NULL stream, until the device is opened again; by then nothing of it lives any more.
ProbePlan late_lost_null_stream(const std::string&, const Subject&) {
  LatePlan script;
  script.add_failing_copy(BP_STREAM_LOST, 0);
  script.add_synchronize(0, BP_STREAM_LOST);
  script.add(copy_step(3, 0, 1, 0, late_room), BP_STREAM_LOST);
  script.add_good_copy(3, working_stream);
  script.add({{"do", "reopen"}});
  for (const int object : {1, 2}) script.add(allocate_step(object, late_room));
  script.add(write_step(1, 0, script.newer));
  script.add_good_copy(2, 0);
  return script.take();
}

// A copy that is refused has touched nothing, and the next one is taken.
ProbePlan late_given(const std::string&, const Subject&) {
  LatePlan script(false);
  script.add(inject_step("given", BP_INTERNAL));
  script.add(copy_step(2, 0, 1, 0, late_room), BP_INTERNAL);
  script.reads.push_back({script.add(read_step(2, 0, late_room)), script.older,
                          "the target of a copy that was refused"});
  script.add_good_copy(2, 0);
  return script.take();
}

ProbePlan late_memory(const std::string&, const Subject&) {
  LatePlan script(false);
  script.add(inject_step("memory", BP_OUT_OF_MEMORY));
  script.add(allocate_step(4, late_room), BP_OUT_OF_MEMORY);
  script.add(allocate_step(4, late_room));
  script.add_good_copy(4, 0);
  return script.take();
}

}  // namespace

std::vector<Probe> late_probes() {
  return {{"once", which_fails_later, late_once},
          {"query", which_fails_later, late_query},
          {"events", which_fails_later, late_events},
          {"other_streams", which_fails_later, late_other_streams},
          {"lost_stream", which_fails_later, late_lost_stream},
          {"lost_null_stream", which_fails_later, late_lost_null_stream},
          {"given", where<&Subject::has_inject>, late_given},
          {"memory", where<&Subject::has_inject>, late_memory}};
}

}  // namespace bp::conform
