// L0: does the library load, say what it is, speak the levels, and go again?
#include <algorithm>
#include <fmt/format.h>

#include "trials/answers.hpp"
#include "trials/probes.hpp"
#include "trials/small_calls.hpp"

namespace bp::conform {
namespace {

ProbePlan bare_plan(Json step, std::function<std::string(const Json& result)> judge) {
  ProbePlan plan;
  plan.lane = "bare";
  plan.scripts = 1;
  plan.once = true;
  plan.add(std::move(step));
  plan.judge = [judge = std::move(judge)](const Json& answer) -> std::string {
    const Json& result = result_of(answer, 0);
    if (code_of(result) != BP_OK)
      return fmt::format("error {}: {}", code_of(result), message_of(result));
    return judge(result);
  };
  return plan;
}

ProbePlan lint(const std::string&, const Subject&) {
  return bare_plan({{"do", "lint"}}, [](const Json& result) -> std::string {
    if (!result["refused"].empty()) return result["refused"][0].get<std::string>();
    for (const char* rule : {"executable-stack", "text-relocations", "missing-dependency"})
      if (result["warnings"].contains(rule)) return result["warnings"][rule].get<std::string>();
    return {};
  });
}

ProbePlan exports(const std::string&, const Subject&) {
  return bare_plan({{"do", "lint"}}, [](const Json& result) -> std::string {
    for (const char* rule : {"other-exports", "unique-symbols"})
      if (result["warnings"].contains(rule)) return result["warnings"][rule].get<std::string>();
    return {};
  });
}

// A hundred times; devices whose driver takes long to start get as many as fit into the time.
ProbePlan cycles(const char* step, double milliseconds, bool by_core) {
  ProbePlan plan =
      bare_plan({{"do", step}, {"times", 100}, {"at_least", 12}, {"milliseconds", milliseconds}},
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

std::vector<std::string> abi_variants(const Subject&, int) {
  std::vector<std::string> variants = {"newer", "only_future"};
  for (std::uint32_t level = 1; level <= BP_ABI_LEVEL; ++level)
    variants.push_back(fmt::format("level{}", level));
  return variants;
}

ProbePlan abi(const std::string& variant, const Subject& subject) {
  const std::uint32_t level = variant.starts_with("level")
                                  ? static_cast<std::uint32_t>(std::stoul(variant.substr(5)))
                                  : BP_ABI_LEVEL;
  if (variant == "only_future") {
    ProbePlan plan = bare_plan({{"do", "abi"}, {"what", "only_future"}}, {});
    plan.judge = [](const Json& answer) -> std::string {
      const Json& result = result_of(answer, 0);
      if (code_of(result) == BP_OK)
        return "a host that speaks only levels of the far future was not refused";
      return message_of(result).empty() ? "a host of the far future was refused without a message"
                                        : "";
    };
    return plan;
  }
  const std::uint32_t own = subject.abi;
  return bare_plan(
      {{"do", "abi"}, {"what", variant == "newer" ? "newer" : "usual"}, {"level", level}},
      [level, own, variant](const Json& result) -> std::string {
        const auto spoken = result["abi"].get<std::uint32_t>();
        if (variant != "newer" && spoken > level)
          return fmt::format("it speaks level {} with a host of level {}", spoken, level);
        if (variant == "newer" && spoken < own)
          return fmt::format("it speaks level {} with a newer host, and {} with ours", spoken, own);
        if (result["init"] != BP_OK)
          return fmt::format("init fails with code {}", result["init"].get<int>());
        if (result["devices_code"] != BP_OK)
          return "devices fails where a device info is longer than it knows";
        if (result["unknown_part_touched"] == true)
          return "devices writes into the part of a device info that it does not know";
        if (result["wrote_behind"] == true)
          return "devices writes behind a device info that is shorter than its own: mind "
                 "infos[0].h.size";
        if (result["all_named"] != true)
          return "a device info has no name, or lies where the host does not look: mind "
                 "infos[0].h.size";
        return {};
      });
}

std::vector<std::string> some_calls(const Subject& subject, int) {
  std::vector<std::string> all = small_calls(subject, 0), some;
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(all.size() / 6, 1))
    some.push_back(all[i]);
  return some;
}

// Calls and tensors of a newer host are longer: the same result comes.
ProbePlan newer_call(const std::string& variant, const Subject& subject) {
  const SmallCall small = small_call(variant, subject);
  ProbePlan plan;
  plan.steps = small.setup;
  std::vector<std::size_t> calls, reads[2];
  for (const bool newer : {false, true}) {
    Json call = small.call;
    call["newer"] = newer;
    calls.push_back(plan.add(call));
    for (const int object : small.outputs)
      reads[newer].push_back(plan.add({{"do", "read"}, {"object", object}}));
  }
  plan.judge = [steps = plan.steps, calls, usual = reads[0],
                longer = reads[1]](const Json& answer) -> std::string {
    if (is_refused(result_of(answer, calls[0])) && is_refused(result_of(answer, calls[1])))
      return {};
    if (std::string failure = first_failure(answer, steps); !failure.empty()) return failure;
    for (std::size_t i = 0; i < usual.size(); ++i)
      if (result_of(answer, usual[i])["bytes"] != result_of(answer, longer[i])["bytes"])
        return "with a newer host's longer structs the call gives another result";
    return {};
  };
  return plan;
}

ProbePlan devices(const std::string&, const Subject&) {
  return bare_plan({{"do", "devices"}}, [](const Json& result) -> std::string {
    return result["infos"].empty() ? "" : result["infos"][0].get<std::string>();
  });
}

ProbePlan extensions(const std::string&, const Subject&) {
  return bare_plan({{"do", "extensions"}}, [](const Json& result) -> std::string {
    if (!result["unknown"].empty())
      return fmt::format("the extension '{}', which nobody knows, is answered",
                         result["unknown"][0].get<std::string>());
    if (!result["future"].empty())
      return fmt::format("version 2147483647 of '{}' is answered",
                         result["future"][0].get<std::string>());
    return {};
  });
}

ProbePlan probing(const std::string&, const Subject&) {
  return bare_plan({{"do", "probe"}}, [](const Json& result) -> std::string {
    for (const Json& code : result["codes"])
      if (code != BP_OK)
        return fmt::format("probe says {}, though the device opens", code.get<int>());
    return {};
  });
}

}  // namespace

const std::vector<Probe>& load_probes() {
  static const std::vector<Probe> probes = {
      {"lint", one_variant, lint},       {"exports", one_variant, exports},
      {"unload", one_variant, unload},   {"unload_by_core", one_variant, unload_by_core},
      {"abi", abi_variants, abi},        {"newer_call", some_calls, newer_call},
      {"devices", one_variant, devices}, {"extensions", one_variant, extensions},
      {"probe", one_variant, probing}};
  return probes;
}

}  // namespace bp::conform
