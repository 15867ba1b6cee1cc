// L5: the same again and again, from several threads, with a host that refuses, beside other plugins. Bits must not
// change, and nothing may grow.
#include <algorithm>
#include <fmt/format.h>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

std::string codes_text(const Json& codes) {
  std::string text;
  for (const auto& [code, count] : codes.items())
    text += fmt::format("{}{} times code {}", text.empty() ? "" : ", ", count.get<std::uint64_t>(),
                        code);
  return text;
}

bool has_only_code(const Json& result, const char* code) {
  return result["codes"].size() == 1 && result["codes"].contains(code);
}
// Did the kernels say, by `supports`, that they do not take it? They may; one that changes its mind is found by the worker.
bool is_declined(const Json& result) {
  return result.contains("codes") && has_only_code(result, "2");
}

std::uint64_t sum_of(const Json& counts) {
  std::uint64_t sum = 0;
  for (const Json& count : counts) sum += count.get<std::uint64_t>();
  return sum;
}

// One hash, and no failure.
void demand_one_result(const Json& result, const std::string& what) {
  demand(code_of(result) == BP_OK, "{}: {}", what, error_of(result));
  if (is_declined(result)) return;
  const Json& hashes = result["hashes"];
  demand(has_only_code(result, "0"), "{}: {}: {}", what, codes_text(result["codes"]),
         message_of(result));
  if (hashes.size() <= 1) return;
  std::uint64_t most = 0;
  for (const Json& count : hashes) most = std::max(most, count.get<std::uint64_t>());
  demand(false, "{}: {} of {} calls give other bits than the rest ({} different results)", what,
         sum_of(hashes) - most, sum_of(hashes), hashes.size());
}

void demand_no_growth(const Json& result) {
  demand_none(grows(result["growth"], result["times"].get<double>()));
}

Json repeat_step(int times, std::size_t threads, const Json& work) {
  Json step = {{"do", "repeat"}, {"times", times}, {"threads", threads}};
  step.update(work);
  return step;
}
// What a thread repeats.
Json work_of(const SmallCall& small) {
  return {{"setup", small.setup}, {"steps", Json::array({small.call})}, {"hash", small.outputs}};
}

constexpr std::size_t num_threads = 4;

// The variant's call on four threads, each with other values; before, each alone.
std::vector<SmallCall> calls_of_threads(const ProbePlan& plan) {
  std::vector<SmallCall> calls;
  for (std::size_t i = 0; i < num_threads; ++i)
    calls.push_back(small_call(plan.variant, plan.subject, i));
  return calls;
}
void add_together(ProbePlan& plan, const std::vector<SmallCall>& calls, bool watches_growth) {
  Json works = Json::array();
  for (const SmallCall& small : calls) {
    works.push_back(work_of(small));
    plan.add(repeat_step(2, 1, works.back()));
  }
  plan.add(repeat_step(50, num_threads,
                       {{"setup", Json::array()},
                        {"steps", Json::array()},
                        {"by_thread", works},
                        {"growth", watches_growth}}));
}

// Does each thread get what its call gives alone, each time? The first one's result is that of the step `alone`.
void check_together(const Answer& answer, std::size_t alone, const std::string& what) {
  const Json& all = answer[alone + num_threads];
  demand(code_of(all) == BP_OK, "{}: {}", what, error_of(all));
  for (std::size_t i = 0; i < num_threads; ++i) {
    const Json& single = answer[alone + i];
    if (is_declined(single)) continue;
    demand_one_result(single, "alone");
    const Json& seen = all["each"][i];
    const std::string right = single["hashes"].begin().key();
    demand(seen.size() == 1 && seen.contains(right),
           "{}: {} of {} calls of thread {} give other bits than the same call alone, while the "
           "other threads compute something else: is there memory that they share?",
           what, sum_of(seen) - seen.value(right, std::uint64_t{0}), sum_of(seen), i);
  }
  for (const auto& [code, count] : all["codes"].items())
    demand(code == "0" || code == "2", "{}: {}: {}", what, codes_text(all["codes"]),
           message_of(all));
}

// "wrong once in a thousand calls" shows in more than a thousand.
void stress_calls(ProbePlan& plan) {
  plan.run_once(90);
  Json alone = repeat_step(1100, 1, work_of(small_call(plan.variant, plan.subject)));
  alone["growth"] = true;
  plan.add(std::move(alone));
  add_together(plan, calls_of_threads(plan), true);
  plan.judge_alone([](const Answer& answer) {
    if (is_refused(answer[0])) return;
    demand_one_result(answer[0], "on one thread");
    demand_no_growth(answer[0]);
    check_together(answer, 1, "on four threads");
  });
}

// Four threads, each with a stream and a call of its own.
void stress_streams(ProbePlan& plan) {
  plan.run_once(90);
  std::vector<SmallCall> calls = calls_of_threads(plan);
  for (SmallCall& small : calls) {
    small.setup.push_back(object_step("stream", 50));
    small.call["stream"] = 50;
  }
  add_together(plan, calls, false);
  plan.judge_alone([](const Answer& answer) {
    check_together(answer, 0, "on four threads with their streams");
  });
}

std::vector<std::string> streamed_calls(const Subject& subject, int profile) {
  return small_calls(subject, std::min(profile, 1));
}

std::vector<std::string> one_dtype_calls(const Subject& subject, int profile) {
  return profile == 0 ? std::vector<std::string>() : small_calls(subject, 0);
}

// Of rows that say what they give.
std::vector<std::string> repeating_calls(const Subject& subject, int profile) {
  std::vector<std::string> calls = one_dtype_calls(subject, profile);
  std::erase_if(calls, [](const std::string& call) {
    const Operator* op = row_of_call(call);
    return !op || has_trait(op->name(), Trait::undetermined) || (op->flags & BP_OP_SHAPE_DATA) != 0;
  });
  return calls;
}

// The same call again in the same memory, which holds other values by now: as in memory that holds them from the first.
void rewritten(ProbePlan& plan) {
  constexpr int others = 1000;
  const SmallCall first = small_call(plan.variant, plan.subject);
  const SmallCall other = small_call(plan.variant, plan.subject, first.num_shapes, others);
  set_up(plan, first.setup);
  plan.add(first.call);
  for (Json each : other.setup) {
    plan.add(each);
    if (each.at("do") != "write") continue;
    each["object"] = each["object"].get<int>() - others;
    plan.add(std::move(each));
  }
  const std::size_t again = plan.add(first.call), fresh = plan.add(other.call);
  const std::vector<std::size_t> ours = read_all(plan, first.outputs),
                                 theirs = read_all(plan, other.outputs);
  plan.judge_alone([=](const Answer& answer) {
    for (const std::size_t call : {again, fresh}) {
      if (answer.code(call) == BP_UNSUPPORTED || is_refused(answer[call])) return;
      demand(answer.code(call) == BP_OK, "{}", error_of(answer[call]));
    }
    demand(!answer.repeats_bits() || answer.same_bytes(ours, theirs),
           "a second call in the same memory, which holds other values by now, gives something "
           "else than a call in other memory with these values: is a result kept?");
  });
}

std::vector<std::string> handed_memory(const Subject& subject, int) {
  if (subject.kernels_of("add").empty() && !subject.compiles) return {"copies"};
  return {"copies", "calls"};
}

// As an application with threads and streams of its own does it: memory is dropped while another stream still uses it, and
// the core gives it on when the device says that this has ended.
void side_streams(ProbePlan& plan) {
  plan.lane = "core";
  plan.run_once(90);
  plan.add({{"do", "side_streams"},
            {"threads", 4},
            {"rounds", 300},
            {"calls", plan.variant == "calls"}});
  plan.judge_alone([](const Answer& answer) {
    const Json& result = answer[0];
    if (code_of(result) != BP_OK) throw Wrong{message_of(result)};
    const auto& said = result["message"].get_ref<const std::string&>();
    demand(said.empty(), "four threads with side streams: {}", said);
    const auto wrong = result["wrong"].get<std::int64_t>();
    demand(wrong == 0,
           "{} of {} tensors that were handed from stream to stream by events have other values: "
           "work ran out of order, or an event or a stream was said to be reached too early",
           wrong, result["checked"].get<std::int64_t>());
  });
}

// The host refuses memory: a code, nothing touched, and afterwards all is as before. Then it asks for determinism.
void refusing_host(ProbePlan& plan) {
  const SmallCall small = small_call(plan.variant, plan.subject);
  set_up(plan, small.setup);
  const std::size_t setup = plan.add(small.call);
  const std::vector<std::size_t> before = read_all(plan, small.outputs);
  std::vector<std::size_t> refused;
  for (int nth = 1; nth <= 3; ++nth) {
    plan.add({{"do", "host"}, {"fail_from", nth}});
    refused.push_back(plan.add(small.call));
  }
  plan.add({{"do", "host"}, {"fail_from", 0}});
  const std::size_t again = plan.add(small.call);
  const std::vector<std::size_t> after = read_all(plan, small.outputs);
  plan.add({{"do", "host"}, {"deterministic", true}, {"threads", 4}});
  const std::size_t first_repeated = plan.add(small.call);
  const std::vector<std::size_t> one = read_all(plan, small.outputs);
  plan.add(small.call);
  const std::vector<std::size_t> two = read_all(plan, small.outputs);
  plan.judge_alone([=](const Answer& answer) {
    if (answer.code(setup) == BP_UNSUPPORTED || is_refused(answer[setup])) return;
    for (std::size_t i = 0; i <= setup; ++i)
      demand(answer.code(i) == BP_OK, "{}", error_of(answer[i]));
    for (const std::size_t call : refused)
      demand(answer.code(call) == BP_OK || answer.code(call) == BP_OUT_OF_MEMORY,
             "without host memory it says {} instead of BP_OUT_OF_MEMORY: {}", answer.code(call),
             message_of(answer[call]));
    demand(answer.code(again) == BP_OK,
           "after the host had refused memory once, the call fails: {}", message_of(answer[again]));
    demand(answer.same_bytes(before, after),
           "after the host had refused memory once, the result has other bits");
    const int code = answer.code(first_repeated);
    if (code == BP_UNSUPPORTED) return;  // no kernel says that it is deterministic
    demand(code == BP_OK, "in deterministic mode: {}", error_of(answer[first_repeated]));
    demand(answer.same_bytes(one, two), "in deterministic mode two calls give different bits");
  });
}

void repeat_and_watch(ProbePlan& plan, const Json& setup, const Json& steps, int times) {
  plan.run_once(60);
  plan.add(repeat_step(times, 1, {{"setup", setup}, {"steps", steps}, {"growth", true}}));
  plan.judge_alone([](const Answer& answer) {
    const Json& result = answer[0];
    if (code_of(result) != BP_OK) throw Wrong{message_of(result)};
    demand(has_only_code(result, "0"), "{}: {}", codes_text(result["codes"]), message_of(result));
    demand_no_growth(result);
  });
}

void count_allocations(ProbePlan& plan) {
  Json steps = Json::array();
  for (const std::uint64_t bytes : {1, 1000, 100000, 3000000})
    steps.push_back(raw_allocate_step(bytes));
  repeat_and_watch(plan, Json::array(), steps, 200);
}

void count_copies(ProbePlan& plan) {
  Json setup = Json::array({allocate_step(1, 5000), allocate_step(2, 5000)});
  Json steps = Json::array({copy_step(2, 3, 1, 1, 4000), stream_step("synchronize")});
  if (plan.subject.has_fill) steps.insert(steps.begin(), fill_step(1, 0, 4096, {1, 2, 3, 4}));
  repeat_and_watch(plan, setup, steps, 400);
}

std::vector<std::string> other_plugins(const Subject& subject, int) {
  std::vector<std::string> others = {"cpu", "reference", "reference_primitives"};
  std::erase(others, subject.backend);
  return others;
}

// Alone, before another plugin, and after it: the same bits, also of the other one.
void together(ProbePlan& plan) {
  const std::string mine = plan.subject.device, others = plan.variant + ":0";
  plan.lane = "bare";
  plan.run_once(60);
  const Json own = {{"path", plan.subject.library}, {"device", mine}}, other = {{"device", others}};
  for (const Json& plugins : {Json::array({own}), Json::array({other}), Json::array({own, other}),
                              Json::array({other, own})})
    plan.add({{"do", "together"}, {"plugins", plugins}});
  plan.judge = [=](const Answer& answer) {
    const auto outputs = [&](std::size_t step, const std::string& device) {
      return answer[step]["outputs"].value(device, Json());
    };
    for (const std::size_t step : {2, 3}) {
      const char* place = step == 2 ? "before" : "after";
      demand(outputs(step, mine) == outputs(0, mine),
             "loaded {} {} it computes other bits than alone", place, others);
      demand(outputs(step, others) == outputs(1, others),
             "loaded {} {} it changes what that one computes", place, others);
    }
  };
}

}  // namespace

std::vector<ProbeFamily> stress_families() {
  return {{"counters", 5, {{"allocations", count_allocations}, {"copies", count_copies}}},
          {"stress",
           5,
           {{"calls", stress_calls, {.find = small_calls}},
            {"streams", stress_streams, {.applies = has_queues, .find = streamed_calls}},
            {"side_streams",
             side_streams,
             {.applies = has_queues_and<&Subject::has_events>, .find = handed_memory}},
            {"rewritten", rewritten, {.find = repeating_calls}},
            {"host", refusing_host, {.find = one_dtype_calls}}}},
          {"together", 5, {{"with", together, {.find = other_plugins}}}}};
}

}  // namespace bp::conform
