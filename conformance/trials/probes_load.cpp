// L0: does the library load, say what it is, speak the levels, and go again?
#include <algorithm>
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "worker/skew.hpp"

namespace bp::conform {
namespace {

std::string first_warning(const Json& result, std::initializer_list<const char*> rules) {
  for (const char* rule : rules)
    if (result["warnings"].contains(rule)) return result["warnings"][rule].get<std::string>();
  return {};
}

ProbePlan lint(const std::string&, const Subject&) {
  return ask_bare({{"do", "lint"}}, [](const Json& result) -> std::string {
    if (!result["refused"].empty()) return result["refused"][0].get<std::string>();
    return first_warning(result, {"executable-stack", "text-relocations", "missing-dependency"});
  });
}

ProbePlan exports(const std::string&, const Subject&) {
  return ask_bare({{"do", "lint"}}, [](const Json& result) {
    return first_warning(result, {"other-exports", "unique-symbols"});
  });
}

// A hundred times; devices whose driver takes long to start get as many as fit into the time.
ProbePlan cycles(const char* step, double milliseconds, bool by_core) {
  ProbePlan plan =
      ask_bare({{"do", step}, {"times", 100}, {"at_least", 12}, {"milliseconds", milliseconds}},
               [by_core](const Json& result) {
                 Json growth = result["growth"];
                 // The core keeps the records of what is gone, for those who still hold one.
                 if (by_core)
                   for (const char* kind : {"heap", "address"}) growth.erase(kind);
                 // The dynamic loader keeps a little of each library that had threads.
                 return grows(growth, result["times"].get<double>() - 2, 512);
               });
  plan.timeout_seconds = 120;
  return plan;
}
ProbePlan unload(const std::string&, const Subject&) {
  return cycles("cycle", 4000, false);
}
ProbePlan unload_by_core(const std::string&, const Subject&) {
  return cycles("core_cycle", 2000, true);
}

// A host of each level that there was, of a later one, and of the far future alone.
std::vector<std::string> abi_variants(const Subject&, int) {
  std::vector<std::string> variants = {"newer", "only_future"};
  for (const std::string& skew : skew_names())
    if (skew != "padded") variants.push_back(skew);
  return variants;
}

ProbePlan far_future() {
  ProbePlan plan = ask_bare({{"do", "abi"}, {"what", "only_future"}, {"skew", "padded"}}, {});
  plan.judge = [](const Json& answer) -> std::string {
    const Json& result = result_of(answer, 0);
    if (code_of(result) == BP_OK)
      return "a host that speaks only levels of the far future was not refused";
    return message_of(result).empty() ? "a host of the far future was refused without a message"
                                      : "";
  };
  return plan;
}

std::string fault_in_abi(const Json& result) {
  if (result["init"] != BP_OK)
    return fmt::format("init fails with code {}", result["init"].get<int>());
  if (result["devices_code"] != BP_OK) return "devices does not say how many there are";
  for (const Json& info : result["infos"]) {
    const auto bytes = info["bytes"].get<std::uint64_t>();
    if (info["code"] != BP_OK)
      return fmt::format("devices fails where a device info has {} bytes", bytes);
    if (const std::string fault = info["fault"]; !fault.empty())
      return fmt::format("devices, where infos of {} bytes lie in a row, {}", bytes, fault);
  }
  if (result["works"] != true) return "a copy there and back gives other bytes with this host";
  const std::string fault = result["fault"];
  return fault.empty() ? "" : "the plugin " + fault;
}

ProbePlan abi(const std::string& variant, const Subject& subject) {
  if (variant == "only_future") return far_future();
  const bool newer = variant == "newer";
  const std::string skew = newer ? "padded" : variant;
  return ask_bare(
      {{"do", "abi"}, {"what", newer ? "newer" : "older"}, {"skew", skew}},
      [newer, own = subject.abi,
       level = read_skew({{"skew", skew}}).level](const Json& result) -> std::string {
        const auto spoken = result["abi"].get<std::uint32_t>();
        if (!newer && spoken > level)
          return fmt::format("it speaks level {} with a host of level {}", spoken, level);
        if (newer && spoken < own)
          return fmt::format("it speaks level {} with a newer host, and {} with ours", spoken, own);
        return fault_in_abi(result);
      });
}

std::vector<std::string> some_calls(const Subject& subject, int) {
  std::vector<std::string> all = small_calls(subject, 0), some;
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(all.size() / 6, 1))
    some.push_back(all[i]);
  return some;
}

// The call as this host gives it, and with the structs of another: the same result comes.
ProbePlan call_of_another_host(const std::string& call_name, const std::string& skew,
                               const Subject& subject) {
  const SmallCall small = small_call(call_name, subject);
  ProbePlan plan;
  plan.steps = small.setup;
  std::vector<std::size_t> calls, reads[2];
  for (const bool other : {false, true}) {
    Json call = small.call;
    if (other) call["skew"] = skew;
    calls.push_back(plan.add(call));
    for (const int object : small.outputs)
      reads[other].push_back(plan.add({{"do", "read"}, {"object", object}}));
  }
  plan.judge = [steps = plan.steps, calls, usual = reads[0], others = reads[1],
                skew](const Json& answer) -> std::string {
    if (is_refused(result_of(answer, calls[0])) && is_refused(result_of(answer, calls[1])))
      return {};
    if (std::string failure = first_failure(answer, steps); !failure.empty()) return failure;
    for (std::size_t i = 0; i < usual.size(); ++i)
      if (result_of(answer, usual[i])["bytes"] != result_of(answer, others[i])["bytes"])
        return fmt::format("with the structs of another host ({}) the call gives another result",
                           skew);
    return {};
  };
  return plan;
}

ProbePlan newer_call(const std::string& variant, const Subject& subject) {
  return call_of_another_host(variant, "padded", subject);
}

// "level1.exp[f32]"
std::vector<std::string> older_calls(const Subject& subject, int profile) {
  std::vector<std::string> variants;
  for (const std::string& skew : skew_names())
    for (const std::string& call : some_calls(subject, profile))
      if (skew != "padded") variants.push_back(fmt::format("{}.{}", skew, call));
  return variants;
}

ProbePlan older_call(const std::string& variant, const Subject& subject) {
  const std::size_t dot = variant.find('.');
  return call_of_another_host(variant.substr(dot + 1), variant.substr(0, dot), subject);
}

std::vector<std::string> compile_variants(const Subject& subject, int) {
  return subject.compiles ? skew_names() : std::vector<std::string>();
}

ProbePlan compile(const std::string& variant, const Subject&) {
  return ask_bare({{"do", "compile"}, {"skew", variant}}, [](const Json& result) -> std::string {
    if (result["offered"] != true) return "bp.compiler is no longer offered";
    const std::string fault = result["fault"];
    return fault.empty() ? "" : "the plugin " + fault;
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

ProbePlan devices(const std::string&, const Subject&) {
  return ask_bare({{"do", "facts"}}, [](const Json& result) -> std::string {
    for (const Json& count : result["counts"])
      if (count != result["counts"][0])
        return fmt::format("{} devices at first, then {}", result["counts"][0].dump(),
                           count.dump());
    for (std::size_t i = 0; i < result["first"].size(); ++i)
      if (std::string fault = fault_in_device(result["first"][i], result["second"].at(i));
          !fault.empty())
        return fmt::format("device {} {}", i, fault);
    return {};
  });
}

ProbePlan extensions(const std::string&, const Subject&) {
  return ask_bare({{"do", "extensions"}}, [](const Json& result) -> std::string {
    if (!result["unknown"].empty())
      return fmt::format("the extension '{}', which nobody knows, is answered",
                         result["unknown"][0].get<std::string>());
    if (!result["future"].empty())
      return fmt::format("version 2147483647 of '{}' is answered",
                         result["future"][0].get<std::string>());
    return {};
  });
}

// A second host of the process that loads the same file has to wait for the first one's end, which notices nothing.
ProbePlan two_hosts(const std::string&, const Subject&) {
  return ask_bare({{"do", "two_hosts"}}, [](const Json& result) -> std::string {
    if (result["second"] == BP_OK)
      return "a second host was taken while the first one had the library";
    if (result["second"] != BP_RETRY)
      return fmt::format("a second host was refused with code {} instead of BP_RETRY: {}",
                         result["second"].dump(), result["message"].get<std::string>());
    if (result["message"].get<std::string>().empty())
      return "a second host was refused without a message";
    if (result["works"] != true)
      return "after a second host was refused, a copy there and back of the first gives other "
             "bytes";
    if (result["strayed"] != 0) return "errors of the first host's are told the second one";
    return result["told"] == true ? "" : "the first host is no longer told of its errors";
  });
}

ProbePlan probing(const std::string&, const Subject&) {
  return ask_bare({{"do", "probe"}}, [](const Json& result) -> std::string {
    for (const Json& code : result["codes"])
      if (code != BP_OK)
        return fmt::format("probe says {}, though the device opens", code.get<int>());
    return {};
  });
}

}  // namespace

std::vector<Probe> load_probes() {
  return {{"lint", one_variant, lint},
          {"exports", one_variant, exports},
          {"unload", one_variant, unload},
          {"unload_by_core", one_variant, unload_by_core},
          {"abi", abi_variants, abi},
          {"newer_call", some_calls, newer_call},
          {"older_call", older_calls, older_call},
          {"compile", compile_variants, compile},
          {"devices", one_variant, devices},
          {"extensions", one_variant, extensions},
          {"two_hosts", one_variant, two_hosts},
          {"probe", one_variant, probing}};
}

}  // namespace bp::conform
