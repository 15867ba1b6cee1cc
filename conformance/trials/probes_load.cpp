// L0: does the library load, say what it is, speak the levels, and go again?
#include <algorithm>
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "worker/skew.hpp"

namespace bp::conform {
namespace {

void demand_no_warning(const Json& result, std::initializer_list<const char*> rules) {
  for (const char* rule : rules)
    if (result["warnings"].contains(rule)) demand_none(result["warnings"][rule].get<std::string>());
}

void lint(ProbePlan& plan) {
  ask_bare(plan, {{"do", "lint"}}, [](const Json& result) {
    if (!result["refused"].empty()) throw Wrong{result["refused"][0].get<std::string>()};
    demand_no_warning(result, {"executable-stack", "text-relocations", "missing-dependency"});
  });
}

void exports(ProbePlan& plan) {
  ask_bare(plan, {{"do", "lint"}}, [](const Json& result) {
    demand_no_warning(result, {"other-exports", "unique-symbols"});
  });
}

// A hundred times; devices whose driver takes long to start get as many as fit into the time.
void load_often(ProbePlan& plan, const char* step, double milliseconds, bool by_core) {
  ask_bare(plan, {{"do", step}, {"times", 100}, {"at_least", 12}, {"milliseconds", milliseconds}},
           [by_core](const Json& result) {
             Json growth = result["growth"];
             // The core keeps the records of what is gone, for those who still hold one.
             if (by_core)
               for (const char* kind : {"heap", "address"}) growth.erase(kind);
             // The dynamic loader keeps a little of each library that had threads.
             demand_none(grows(growth, result["times"].get<double>() - 2, 512));
           });
  plan.timeout_seconds = 120;
}

// Of older hosts.
std::vector<std::string> older_skews() {
  std::vector<std::string> names = skew_names();
  std::erase(names, "padded");
  return names;
}

// A host of each level that there was, of a later one, and of the far future alone.
std::vector<std::string> kinds_of_host(const Subject&, int) {
  std::vector<std::string> kinds = older_skews();
  kinds.insert(kinds.begin(), {"newer", "only_future"});
  return kinds;
}

void check_abi(const Json& result) {
  demand(result["init"] == BP_OK, "init fails with code {}", result["init"].get<int>());
  demand(result["devices_code"] == BP_OK, "devices does not say how many there are");
  for (const Json& info : result["infos"]) {
    const auto bytes = info["bytes"].get<std::uint64_t>();
    demand(info["code"] == BP_OK, "devices fails where a device info has {} bytes", bytes);
    const std::string fault = info["fault"];
    demand(fault.empty(), "devices, where infos of {} bytes lie in a row, {}", bytes, fault);
  }
  demand(result["works"] == true, "a copy there and back gives other bytes with this host");
  const std::string fault = result["fault"];
  demand(fault.empty(), "the plugin {}", fault);
}

void abi(ProbePlan& plan) {
  const bool is_older = plan.variant != "newer" && plan.variant != "only_future";
  const Json skew = is_older ? plan.variant : "padded";
  ask_bare(plan, {{"do", "abi"}, {"what", is_older ? "older" : plan.variant}, {"skew", skew}},
           [&plan, is_older, level = read_skew({{"skew", skew}}).level](const Json& result) {
             const auto spoken = result["abi"].get<std::uint32_t>(), own = plan.subject.abi;
             demand(!is_older || spoken <= level, "it speaks level {} with a host of level {}",
                    spoken, level);
             demand(is_older || spoken >= own,
                    "it speaks level {} with a newer host, and {} with ours", spoken, own);
             check_abi(result);
           });
  if (plan.variant != "only_future") return;
  plan.judge_alone([](const Answer& answer) {
    demand(answer.code(0) != BP_OK,
           "a host that speaks only levels of the far future was not refused");
    demand(!message_of(answer[0]).empty(),
           "a host of the far future was refused without a message");
  });
}

std::vector<std::string> some_calls(const Subject& subject, int) {
  return some_small_calls(subject, 0, 6);
}

// The call as this host gives it, and with the structs of another: the same result comes.
void call_of_another_host(ProbePlan& plan, const std::string& call_name, const std::string& skew) {
  SmallCall small = small_call(call_name, plan.subject);
  set_up(plan, small.setup);
  const std::size_t own = plan.add(small.call);
  const std::vector<std::size_t> usual = read_all(plan, small.outputs);
  small.call["skew"] = skew;
  const std::size_t other = plan.add(small.call);
  const std::vector<std::size_t> skewed = read_all(plan, small.outputs);
  plan.judge_alone([=](const Answer& answer) {
    if (is_refused(answer[own]) && is_refused(answer[other])) return;
    answer.demand_codes();
    demand(answer.same_bytes(usual, skewed),
           "with the structs of another host ({}) the call gives another result", skew);
  });
}

void newer_call(ProbePlan& plan) {
  call_of_another_host(plan, plan.variant, "padded");
}

// "level1.exp[f32]"
std::vector<std::string> older_calls(const Subject& subject, int profile) {
  std::vector<std::string> variants;
  for (const std::string& skew : older_skews())
    for (const std::string& call : some_calls(subject, profile))
      variants.push_back(fmt::format("{}.{}", skew, call));
  return variants;
}

void older_call(ProbePlan& plan) {
  const std::size_t dot = plan.variant.find('.');
  call_of_another_host(plan, plan.variant.substr(dot + 1), plan.variant.substr(0, dot));
}

void compile(ProbePlan& plan) {
  ask_bare(plan, {{"do", "compile"}, {"skew", plan.variant}}, [](const Json& result) {
    demand(result["offered"] == true, "bp.compiler is no longer offered");
    const std::string fault = result["fault"];
    demand(fault.empty(), "the plugin {}", fault);
  });
}

std::string name_in(const Json& facts) {
  const auto& bytes = facts["name"].get_binary();
  return {bytes.begin(), std::ranges::find(bytes, 0)};
}

std::string fault_in_device(const Json& first, const Json& second) {
  bool same = name_in(first) == name_in(second);
  for (const char* fact : {"flags", "total_memory", "offset_alignment", "max_allocation"})
    same = same && first[fact] == second[fact];
  if (!same) return "describes itself in two ways";
  if (name_in(first).empty()) return "has no name";
  if (name_in(first).size() == first["name"].get_binary().size())
    return "has a name without an end";
  const auto alignment = first["offset_alignment"].get<std::uint64_t>();
  if ((alignment & (alignment - 1)) == 0) return {};
  return fmt::format("has an offset_alignment of {}, which is not a power of two", alignment);
}

void devices(ProbePlan& plan) {
  ask_bare(plan, {{"do", "facts"}}, [](const Json& result) {
    for (const Json& count : result["counts"])
      demand(count == result["counts"][0], "{} devices at first, then {}",
             result["counts"][0].dump(), count.dump());
    for (std::size_t i = 0; i < result["first"].size(); ++i) {
      const std::string fault = fault_in_device(result["first"][i], result["second"].at(i));
      demand(fault.empty(), "device {} {}", i, fault);
    }
  });
}

void extensions(ProbePlan& plan) {
  ask_bare(plan, {{"do", "extensions"}}, [](const Json& result) {
    for (const Json& name : result["unknown"])
      demand(false, "the extension '{}', which nobody knows, is answered", name.get<std::string>());
    for (const Json& name : result["future"])
      demand(false, "version 2147483647 of '{}' is answered", name.get<std::string>());
  });
}

// A second host of the process that loads the same file has to wait for the first one's end, which notices nothing.
void two_hosts(ProbePlan& plan) {
  ask_bare(plan, {{"do", "two_hosts"}}, [](const Json& result) {
    const auto message = result["message"].get<std::string>();
    demand(result["second"] != BP_OK,
           "a second host was taken while the first one had the library");
    demand(result["second"] == BP_RETRY,
           "a second host was refused with code {} instead of BP_RETRY: {}",
           result["second"].dump(), message);
    demand(!message.empty(), "a second host was refused without a message");
    demand(result["works"] == true,
           "after a second host was refused, a copy there and back of the first gives other bytes");
    demand(result["strayed"] == 0, "errors of the first host's are told the second one");
    demand(result["told"] == true, "the first host is no longer told of its errors");
  });
}

void probing(ProbePlan& plan) {
  ask_bare(plan, {{"do", "probe"}}, [](const Json& result) {
    for (const Json& code : result["codes"])
      demand(code == BP_OK, "probe says {}, though the device opens", code.get<int>());
  });
}

}  // namespace

std::vector<ProbeFamily> load_families() {
  const auto find_skews = [](const Subject&, int) { return skew_names(); };
  return {{"load",
           0,
           {{"lint", lint},
            {"exports", exports},
            {"unload", [](ProbePlan& plan) { load_often(plan, "cycle", 4000, false); }},
            {"unload_by_core", [](ProbePlan& plan) { load_often(plan, "core_cycle", 2000, true); }},
            {"abi", abi, {.find = kinds_of_host}},
            {"newer_call", newer_call, {.find = some_calls}},
            {"older_call", older_call, {.find = older_calls}},
            {"compile", compile, {.applies = has<&Subject::compiles>, .find = find_skews}},
            {"devices", devices},
            {"extensions", extensions},
            {"two_hosts", two_hosts},
            {"probe", probing}}}};
}

}  // namespace bp::conform
