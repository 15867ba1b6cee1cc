// L5: what a failure leaves behind, on devices that fail on request (bp.inject): it is told once, by the stream whose work it
// was, and all else goes on.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr int failing_stream = 50, working_stream = 51, fresh_stream = 52, late_event = 60;
constexpr std::uint64_t late_room = 3000;

bool fails_later(const Subject& subject) {
  return subject.has_inject && has_queues(subject) && subject.has_events;
}

void set_up_late(ProbePlan& plan) {
  for (const int object : {1, 2, 3}) plan.allocate(object, late_room);
  plan.write(1, 0, pattern_bytes(late_room, 6));
  plan.write(2, 0, pattern_bytes(late_room, 5));
}

void inject(ProbePlan& plan, const char* kind, int code) {
  plan.add({{"do", "inject"}, {"kind", kind}, {"error", code}});
}

// A copy of 1 to 2 that is given, and fails with the code later.
void fail_later(ProbePlan& plan, int code = BP_INTERNAL, int stream = failing_stream) {
  plan.each("stream", {failing_stream, working_stream});
  plan.each("event", {late_event});
  set_up_late(plan);
  inject(plan, "work", code);
  Json copy = copy_step(2, 0, 1, 0, late_room, stream);
  copy["may_fail"] = true;
  plan.add(std::move(copy));
}

// The stream still works.
void add_good_copy(ProbePlan& plan, int to, int stream) {
  plan.copy(to, 0, 1, 0, late_room, stream);
  plan.synchronize(stream);
  plan.expect(to, "a copy after another one's failure", stream);
}

// The stream's next synchronize tells it, and no later one.
void late_once(ProbePlan& plan) {
  fail_later(plan);
  plan.synchronize(failing_stream, BP_INTERNAL);
  plan.synchronize(failing_stream);
  add_good_copy(plan, 2, failing_stream);
}

// So does query_stream, once; before it may say that the stream is busy.
void late_query(ProbePlan& plan) {
  fail_later(plan);
  std::vector<std::size_t> asked;
  for (int i = 0; i < 8; ++i) {
    asked.push_back(plan.on_stream("query_stream", failing_stream));
    plan.add({{"do", "pause"}, {"milliseconds", 5}});
  }
  const std::size_t last = plan.synchronize(failing_stream);
  plan.judge_alone([=](const Answer& answer) {
    int told = 0;
    for (const std::size_t step : asked) {
      const int code = answer.code(step);
      demand(code == BP_INTERNAL || code == BP_OK || code == BP_RETRY, "query_stream: {}",
             error_of(answer[step]));
      if (code == BP_INTERNAL) demand_refusal(answer[step], BP_INTERNAL, "query_stream");
      told += code == BP_INTERNAL;
    }
    demand(told == 1, "query_stream tells {} times of one piece of work that failed", told);
    demand(answer.code(last) == BP_OK, "synchronize tells what query_stream has told: {}",
           error_of(answer[last]));
  });
}

// Events say order, not success: one behind work that failed is reached, keeps nobody waiting, and tells nothing.
void late_events(ProbePlan& plan) {
  fail_later(plan);
  plan.on_event("record", late_event, failing_stream);
  plan.on_event("wait", late_event, working_stream);
  for (const char* what : {"synchronize_event", "query_event", "query_event"})
    plan.on_event(what, late_event);
  add_good_copy(plan, 3, working_stream);
  plan.synchronize(failing_stream, BP_INTERNAL);
}

void late_other_streams(ProbePlan& plan) {
  fail_later(plan);
  for (const int stream : {working_stream, 0}) add_good_copy(plan, 3, stream);
  plan.synchronize(failing_stream, BP_INTERNAL);
  for (const int stream : {working_stream, 0}) plan.synchronize(stream);
}

// A lost stream takes nothing; all others, and new ones, do.
void late_lost_stream(ProbePlan& plan) {
  fail_later(plan, BP_STREAM_LOST);
  plan.synchronize(failing_stream, BP_STREAM_LOST);
  plan.add(copy_step(3, 0, 1, 0, late_room, failing_stream), BP_STREAM_LOST);
  plan.on_event("record", late_event, failing_stream, BP_STREAM_LOST);
  add_good_copy(plan, 3, working_stream);
  plan.on_stream("destroy", failing_stream);
  plan.each("stream", {fresh_stream});
  add_good_copy(plan, 2, fresh_stream);
}

// So does a lost NULL stream, until the device is opened again; by then nothing of it lives any more.
void late_lost_null_stream(ProbePlan& plan) {
  fail_later(plan, BP_STREAM_LOST, 0);
  plan.synchronize(0, BP_STREAM_LOST);
  plan.add(copy_step(3, 0, 1, 0, late_room), BP_STREAM_LOST);
  add_good_copy(plan, 3, working_stream);
  plan.add({{"do", "reopen"}});
  for (const int object : {1, 2}) plan.allocate(object, late_room);
  plan.write(1, 0, pattern_bytes(late_room, 6));
  add_good_copy(plan, 2, 0);
}

// A copy that is refused has touched nothing, and the next one is taken.
void late_given(ProbePlan& plan) {
  set_up_late(plan);
  inject(plan, "given", BP_INTERNAL);
  plan.add(copy_step(2, 0, 1, 0, late_room), BP_INTERNAL);
  plan.expect(2, "the target of a copy that was refused");
  add_good_copy(plan, 2, 0);
}

void late_memory(ProbePlan& plan) {
  set_up_late(plan);
  inject(plan, "memory", BP_OUT_OF_MEMORY);
  plan.add(allocate_step(4, late_room), BP_OUT_OF_MEMORY);
  plan.allocate(4, late_room);
  add_good_copy(plan, 4, 0);
}

}  // namespace

std::vector<ProbeFamily> late_families() {
  const Variants later = {.applies = fails_later}, at_once = {.applies = has<&Subject::has_inject>};
  return {{"late",
           5,
           {{"once", late_once, later},
            {"query", late_query, later},
            {"events", late_events, later},
            {"other_streams", late_other_streams, later},
            {"lost_stream", late_lost_stream, later},
            {"lost_null_stream", late_lost_null_stream, later},
            {"given", late_given, at_once},
            {"memory", late_memory, at_once}}}};
}

}  // namespace bp::conform
