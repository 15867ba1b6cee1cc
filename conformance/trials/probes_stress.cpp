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

// Did the kernels say, by `supports`, that they do not take it? They may; one that changes its mind is found by the worker.
bool is_declined(const Json& result) {
  return result.contains("codes") && result["codes"].size() == 1 && result["codes"].contains("2");
}

// One hash, and no failure; empty if so.
std::string wrong_in(const Json& result, const std::string& what) {
  if (code_of(result) != BP_OK) return what + ": " + error_of(result);
  const Json &hashes = result["hashes"], &codes = result["codes"];
  if (is_declined(result)) return {};
  if (codes.size() != 1 || !codes.contains("0"))
    return fmt::format("{}: {}: {}", what, codes_text(codes), message_of(result));
  if (hashes.size() <= 1) return {};
  std::uint64_t most = 0, all = 0;
  for (const auto& [hash, count] : hashes.items()) {
    most = std::max(most, count.get<std::uint64_t>());
    all += count.get<std::uint64_t>();
  }
  return fmt::format("{}: {} of {} calls give other bits than the rest ({} different results)",
                     what, all - most, all, hashes.size());
}

Json repeat_step(int times, int threads, const Json& setup, const Json& steps) {
  return {
      {"do", "repeat"}, {"times", times}, {"threads", threads}, {"setup", setup}, {"steps", steps}};
}
Json repeat_step(int times, int threads, const SmallCall& small) {
  Json step = repeat_step(times, threads, small.setup, Json::array({small.call}));
  step["hash"] = small.outputs;
  return step;
}

constexpr std::size_t num_threads = 4;

// Four threads, each with a call of its own, all at once; before, each alone.
struct Together {
  std::vector<std::size_t> alone;
  std::size_t together = 0;
};
Together add_together(ProbePlan& plan, const std::vector<SmallCall>& calls, bool watches_growth) {
  Together steps;
  Json works = Json::array();
  for (const SmallCall& small : calls) {
    steps.alone.push_back(plan.add(repeat_step(2, 1, small)));
    works.push_back(
        {{"setup", small.setup}, {"steps", Json::array({small.call})}, {"hash", small.outputs}});
  }
  Json together = repeat_step(50, static_cast<int>(calls.size()), Json::array(), Json::array());
  together["by_thread"] = std::move(works);
  together["growth"] = watches_growth;
  steps.together = plan.add(std::move(together));
  return steps;
}

// Does each thread get what its call gives alone, each time?
std::string wrong_together(const Json& answer, const Together& steps, const std::string& what) {
  const Json& all = result_of(answer, steps.together);
  if (code_of(all) != BP_OK) return what + ": " + error_of(all);
  for (std::size_t i = 0; i < steps.alone.size(); ++i) {
    const Json& alone = result_of(answer, steps.alone[i]);
    if (is_declined(alone)) continue;
    if (std::string why = wrong_in(alone, "alone"); !why.empty()) return why;
    const Json& seen = all["each"][i];
    const std::string right = alone["hashes"].begin().key();
    if (seen.size() == 1 && seen.contains(right)) continue;
    std::uint64_t times = 0;
    for (const auto& [hash, count] : seen.items()) times += count.get<std::uint64_t>();
    return fmt::format(
        "{}: {} of {} calls of thread {} give other bits than the same call alone, while the "
        "other threads compute something else: is there memory that they share?",
        what, times - seen.value(right, std::uint64_t{0}), times, i);
  }
  for (const auto& [code, count] : all["codes"].items())
    if (code != "0" && code != "2")
      return fmt::format("{}: {}: {}", what, codes_text(all["codes"]), message_of(all));
  return {};
}

// "wrong once in a thousand calls" shows in more than a thousand.
ProbePlan calls(const std::string& variant, const Subject& subject) {
  ProbePlan plan;
  plan.run_once(90);
  Json alone = repeat_step(1100, 1, small_call(variant, subject));
  alone["growth"] = true;
  plan.add(alone);
  std::vector<SmallCall> calls;
  for (std::size_t i = 0; i < num_threads; ++i) calls.push_back(small_call(variant, subject, i));
  const Together steps = add_together(plan, calls, true);
  plan.judge = [steps](const Json& answer) -> std::string {
    const Json& one = result_of(answer, 0);
    if (is_refused(one)) return {};
    if (std::string why = wrong_in(one, "on one thread"); !why.empty()) return why;
    if (std::string why = grows(one["growth"], one["times"].get<double>()); !why.empty())
      return why;
    return wrong_together(answer, steps, "on four threads");
  };
  return plan;
}

// Of rows that say what they give.
std::vector<std::string> repeating_calls(const Subject& subject, int profile) {
  if (profile == 0) return {};
  std::vector<std::string> calls = small_calls(subject, 0);
  std::erase_if(calls, [&](const std::string& call) {
    const std::string row = call.substr(0, call.find('['));
    const Operator* op = find_operator(row);
    return !op || has_trait(row, Trait::undetermined) || (op->flags & BP_OP_SHAPE_DATA) != 0;
  });
  return calls;
}

// The same call again in the same memory, which holds other values by now: as in memory that holds them from the first.
ProbePlan rewritten(const std::string& variant, const Subject& subject) {
  constexpr int others = 1000;
  const SmallCall first = small_call(variant, subject);
  const SmallCall other = small_call(variant, subject, first.num_shapes, others);
  ProbePlan plan;
  plan.steps = first.setup;
  plan.add(first.call);
  for (Json each : other.setup) {
    plan.add(each);
    if (each.at("do") != "write") continue;
    each["object"] = each["object"].get<int>() - others;
    plan.add(std::move(each));
  }
  const std::size_t again = plan.add(first.call), fresh = plan.add(other.call);
  std::vector<std::size_t> reads;
  for (std::size_t i = 0; i < first.outputs.size(); ++i)
    for (const int object : {first.outputs[i], other.outputs[i]})
      reads.push_back(plan.add(object_step("read", object)));
  plan.judge = [=](const Json& answer) -> std::string {
    for (const std::size_t call : {again, fresh}) {
      const Json& result = result_of(answer, call);
      if (code_of(result) == BP_UNSUPPORTED || is_refused(result)) return {};
      if (code_of(result) != BP_OK) return error_of(result);
    }
    if (!repeats_bits(answer)) return {};
    for (std::size_t i = 0; i < reads.size(); i += 2)
      if (result_of(answer, reads[i]).value("bytes", Json()) !=
          result_of(answer, reads[i + 1]).value("bytes", Json()))
        return "a second call in the same memory, which holds other values by now, gives something "
               "else than a call in other memory with these values: is a result kept?";
    return {};
  };
  return plan;
}

std::vector<std::string> streamed_calls(const Subject& subject, int profile) {
  if (!subject.has_streams || subject.synchronous()) return {};
  return small_calls(subject, std::min(profile, 1));
}

// Four threads, each with a stream and a call of its own.
ProbePlan streams(const std::string& variant, const Subject& subject) {
  ProbePlan plan;
  plan.run_once(90);
  std::vector<SmallCall> calls;
  for (std::size_t i = 0; i < num_threads; ++i) {
    SmallCall small = small_call(variant, subject, i);
    small.setup.push_back(object_step("stream", 50));
    small.call["stream"] = 50;
    calls.push_back(std::move(small));
  }
  const Together steps = add_together(plan, calls, false);
  plan.judge = [steps](const Json& answer) {
    return wrong_together(answer, steps, "on four threads with their streams");
  };
  return plan;
}

std::vector<std::string> handed_memory(const Subject& subject, int) {
  if (!subject.has_streams || !subject.has_events || subject.synchronous()) return {};
  if (subject.kernels_of("add").empty() && !subject.compiles) return {"copies"};
  return {"copies", "calls"};
}

// As an application with threads and streams of its own does it: memory is dropped while another stream still uses it, and
// the core gives it on when the device says that this has ended.
ProbePlan side_streams(const std::string& variant, const Subject&) {
  ProbePlan plan;
  plan.lane = "core";
  plan.run_once(90);
  plan.add(
      {{"do", "side_streams"}, {"threads", 4}, {"rounds", 300}, {"calls", variant == "calls"}});
  plan.judge = [](const Json& answer) -> std::string {
    const Json& result = result_of(answer, 0);
    if (code_of(result) != BP_OK) return message_of(result);
    if (const auto& said = result["message"].get_ref<const std::string&>(); !said.empty())
      return "four threads with side streams: " + said;
    const auto wrong = result["wrong"].get<std::int64_t>();
    return wrong == 0
               ? ""
               : fmt::format(
                     "{} of {} tensors that were handed from stream to stream by events have "
                     "other values: work ran out of order, or an event or a stream was said "
                     "to be reached too early",
                     wrong, result["checked"].get<std::int64_t>());
  };
  return plan;
}

std::vector<std::string> one_dtype_calls(const Subject& subject, int profile) {
  return profile == 0 ? std::vector<std::string>() : small_calls(subject, 0);
}

// The host refuses memory: a code, nothing touched, and afterwards all is as before. Then it asks for determinism.
ProbePlan host(const std::string& variant, const Subject& subject) {
  const SmallCall small = small_call(variant, subject);
  ProbePlan plan;
  plan.steps = small.setup;
  const std::size_t setup = plan.steps.size();
  plan.add(small.call);
  const auto read_all = [&] {
    std::vector<std::size_t> reads;
    for (const int object : small.outputs) reads.push_back(plan.add(object_step("read", object)));
    return reads;
  };
  const std::vector<std::size_t> before = read_all();
  std::vector<std::size_t> refused;
  for (int nth = 1; nth <= 3; ++nth) {
    plan.add({{"do", "host"}, {"fail_from", nth}});
    refused.push_back(plan.add(small.call));
  }
  plan.add({{"do", "host"}, {"fail_from", 0}});
  const std::size_t again = plan.add(small.call);
  const std::vector<std::size_t> after = read_all();
  plan.add({{"do", "host"}, {"deterministic", true}, {"threads", 4}});
  const std::size_t first_repeated = plan.add(small.call);
  const std::vector<std::size_t> one = read_all();
  plan.add(small.call);
  const std::vector<std::size_t> two = read_all();
  plan.judge = [=](const Json& answer) -> std::string {
    if (code_of(result_of(answer, setup)) == BP_UNSUPPORTED) return {};
    if (is_refused(result_of(answer, setup))) return {};
    for (std::size_t i = 0; i <= setup; ++i)
      if (code_of(result_of(answer, i)) != BP_OK) return error_of(result_of(answer, i));
    for (const std::size_t call : refused) {
      const int code = code_of(result_of(answer, call));
      if (code != BP_OK && code != BP_OUT_OF_MEMORY)
        return fmt::format("without host memory it says {} instead of BP_OUT_OF_MEMORY: {}", code,
                           message_of(result_of(answer, call)));
    }
    if (code_of(result_of(answer, again)) != BP_OK)
      return "after the host had refused memory once, the call fails: " +
             message_of(result_of(answer, again));
    const auto same = [&](const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (result_of(answer, a[i]).value("bytes", Json()) !=
            result_of(answer, b[i]).value("bytes", Json()))
          return false;
      return true;
    };
    if (!same(before, after))
      return "after the host had refused memory once, the result has other bits";
    const int code = code_of(result_of(answer, first_repeated));
    if (code == BP_UNSUPPORTED) return {};  // no kernel says that it is deterministic
    if (code != BP_OK)
      return "in deterministic mode: " + error_of(result_of(answer, first_repeated));
    return same(one, two) ? "" : "in deterministic mode two calls give different bits";
  };
  return plan;
}

ProbePlan growth_plan(const Json& setup, const Json& steps, int times) {
  ProbePlan plan;
  plan.run_once(60);
  Json repeated = repeat_step(times, 1, setup, steps);
  repeated["growth"] = true;
  plan.add(std::move(repeated));
  plan.judge = [](const Json& answer) -> std::string {
    const Json& result = result_of(answer, 0);
    if (code_of(result) != BP_OK) return message_of(result);
    if (result["codes"].size() != 1 || !result["codes"].contains("0"))
      return codes_text(result["codes"]) + ": " + message_of(result);
    return grows(result["growth"], result["times"].get<double>());
  };
  return plan;
}

ProbePlan allocations(const std::string&, const Subject&) {
  Json steps = Json::array();
  for (const std::uint64_t bytes : {1, 1000, 100000, 3000000})
    steps.push_back(raw_allocate_step(bytes, 64));
  return growth_plan(Json::array(), steps, 200);
}

ProbePlan copies(const std::string&, const Subject& subject) {
  Json setup = Json::array({allocate_step(1, 5000), allocate_step(2, 5000)});
  Json steps = Json::array({copy_step(2, 3, 1, 1, 4000), simple_step("synchronize")});
  if (subject.has_fill) steps.insert(steps.begin(), fill_step(1, 0, 4096, {1, 2, 3, 4}));
  return growth_plan(setup, steps, 400);
}

std::vector<std::string> other_plugins(const Subject& subject, int) {
  std::vector<std::string> others;
  for (const char* other : {"cpu", "reference", "reference_primitives"})
    if (subject.backend != other) others.emplace_back(other);
  return others;
}

// Alone, before another plugin, and after it: the same bits, also of the other one.
ProbePlan together(const std::string& variant, const Subject& subject) {
  ProbePlan plan;
  plan.lane = "bare";
  plan.run_once(60);
  const Json own = {{"path", subject.library}, {"device", subject.device}},
             other = {{"device", variant + ":0"}};
  for (const Json& plugins : {Json::array({own}), Json::array({other}), Json::array({own, other}),
                              Json::array({other, own})})
    plan.add({{"do", "together"}, {"plugins", plugins}});
  plan.judge_after_success(
      [mine = subject.device, others = variant + ":0"](const Json& answer) -> std::string {
        const auto outputs = [&](std::size_t step, const std::string& device) {
          return result_of(answer, step)["outputs"].value(device, Json());
        };
        for (const std::size_t step : {2, 3}) {
          const char* place = step == 2 ? "before" : "after";
          if (outputs(step, mine) != outputs(0, mine))
            return fmt::format("loaded {} {} it computes other bits than alone", place, others);
          if (outputs(step, others) != outputs(1, others))
            return fmt::format("loaded {} {} it changes what that one computes", place, others);
        }
        return {};
      });
  return plan;
}

}  // namespace

std::vector<Probe> stress_probes() {
  return {{"calls", small_calls, calls},
          {"streams", streamed_calls, streams},
          {"side_streams", handed_memory, side_streams},
          {"rewritten", repeating_calls, rewritten},
          {"host", one_dtype_calls, host}};
}

std::vector<Probe> counter_probes() {
  return {{"allocations", one_variant, allocations}, {"copies", one_variant, copies}};
}

std::vector<Probe> together_probes() {
  return {{"with", other_plugins, together}};
}

}  // namespace bp::conform
