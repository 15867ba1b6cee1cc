// L1: what a device says of itself is so, and stays so: its texts, its place in the machine, priorities, free memory, links.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include <backplane/extensions/peer.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

// `find` gives what is wrong with one device's facts.
ProbePlan of_each_device(std::function<std::string(const Json& facts)> find) {
  return ask_bare({{"do", "facts"}}, [find = std::move(find)](const Json& result) -> std::string {
    for (std::size_t i = 0; i < result["first"].size(); ++i)
      if (const std::string fault = find(result["first"][i]); !fault.empty())
        return fmt::format("device {} {}", i, fault);
    return {};
  });
}

ProbePlan twice(const std::string&, const Subject&) {
  return ask_bare({{"do", "facts"}}, [](const Json& result) -> std::string {
    for (std::size_t i = 0; i < result["first"].size(); ++i)
      for (const auto& [fact, value] : result["first"][i].items())
        if (result["second"].at(i).at(fact) != value)
          return fmt::format("the {} of device {} is another one when asked again", fact, i);
    return {};
  });
}

ProbePlan texts(const std::string&, const Subject&) {
  return of_each_device([](const Json& facts) -> std::string {
    for (const char* text : {"name", "bus", "driver"}) {
      const auto& bytes = facts[text].get_binary();
      if (std::ranges::find(bytes, 0) == bytes.end())
        return fmt::format("has a {} that does not end", text);
    }
    return {};
  });
}

ProbePlan numa_node(const std::string&, const Subject&) {
  return of_each_device([](const Json& facts) -> std::string {
    const int node = facts["numa_node"].get<int>();
    if (node == -1) return {};
    const std::string folder = fmt::format("/sys/devices/system/node/node{}", node);
    if (node >= 0 && std::filesystem::exists(folder)) return {};
    return fmt::format("is on NUMA node {}, which this machine does not have; -1 is unknown", node);
  });
}

ProbePlan priority_range(const std::string&, const Subject& subject) {
  return of_each_device([has_streams = subject.has_streams](const Json& facts) -> std::string {
    const int least = facts["least_priority"].get<int>(),
              greatest = facts["greatest_priority"].get<int>();
    if (greatest > least)
      return fmt::format("has priorities from {} down to {}; lower is more urgent", least,
                         greatest);
    if (greatest > 0 || least < 0)
      return fmt::format("has priorities from {} down to {}, without 0, which is normal", least,
                         greatest);
    if (!has_streams && greatest != least) return "has a range of priorities, and no streams";
    return {};
  });
}

std::vector<std::string> ends_of_range(const Subject& subject, int) {
  if (!subject.has_streams) return {};
  return {"least", "greatest"};
}

// A stream at the end of the range takes work as any other.
ProbePlan priority(const std::string& variant, const Subject& subject) {
  PicturedPlan script;
  script.plan.add(
      {{"do", "stream"},
       {"object", 50},
       {"priority", variant == "least" ? subject.least_priority : subject.greatest_priority}});
  script.make(1, pattern_bytes(3000, 4));
  script.allocate(2, 3000);
  script.copy(2, 0, 1, 0, 3000, 50);
  script.plan.add(simple_step("synchronize", 50));
  script.expect(2, fmt::format("a copy on a stream of the {} priority", variant));
  return script.take();
}

// Others may take and give back memory meanwhile, so that only what happens in every round counts.
ProbePlan free_memory(const std::string&, const Subject&) {
  constexpr std::uint64_t much = 32 << 20;
  constexpr int rounds = 4;
  ProbePlan plan;
  plan.run_once(60);
  std::vector<std::size_t> before, after;
  for (int round = 0; round < rounds; ++round) {
    before.push_back(plan.add({{"do", "describe_space"}, {"space", 0}}));
    plan.add(allocate_step(1 + round, much));
    after.push_back(plan.add({{"do", "describe_space"}, {"space", 0}}));
  }
  plan.judge_after_success([=](const Json& answer) -> std::string {
    int rises = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto at = static_cast<std::size_t>(round);
      std::uint64_t free[2];
      for (const bool is_after : {false, true}) {
        const Json& space = result_of(answer, is_after ? after[at] : before[at]);
        free[is_after] = space["free"].get<std::uint64_t>();
        const auto total = space["total"].get<std::uint64_t>();
        if (free[is_after] > total)
          return fmt::format("{} bytes are free of {}", free[is_after], total);
      }
      rises += free[1] >= free[0] + much / 2;
    }
    if (rises < rounds) return {};
    return fmt::format("free memory rises whenever {} bytes are allocated", much);
  });
  return plan;
}

std::string fault_in_link(const Json& links, const Json& link) {
  const int to = link["to"].get<int>(), from = link["from"].get<int>();
  const auto name = [&] { return fmt::format("the link from device {} to {}", from, to); };
  if (code_of(link) != BP_OK && code_of(link) != BP_UNSUPPORTED)
    return fmt::format("{}: {}", name(), error_of(link));
  if (code_of(link) != BP_OK) return {};
  const auto kind = link["kind"].get<std::uint32_t>();
  if (to == from && kind != BP_LINK_SAME && kind != BP_LINK_UNKNOWN)
    return fmt::format("{} is of kind {}, though they are one device", name(), kind);
  for (const Json& back : links)
    if (back["to"] == from && back["from"] == to &&
        (code_of(back) != BP_OK || back["kind"] != kind))
      return fmt::format("{} is of kind {}, and not the one back", name(), kind);
  return {};
}

ProbePlan link(const std::string&, const Subject&) {
  return ask_bare({{"do", "links"}}, [](const Json& result) -> std::string {
    for (const Json& each : result["links"])
      if (std::string fault = fault_in_link(result["links"], each); !fault.empty()) return fault;
    return {};
  });
}

}  // namespace

std::vector<Probe> facts_probes() {
  return {{"twice", one_variant, twice},
          {"texts", one_variant, texts},
          {"numa_node", one_variant, numa_node},
          {"priority_range", one_variant, priority_range},
          {"priority", ends_of_range, priority},
          {"free_memory", where<&Subject::describes_space>, free_memory},
          {"link", where<&Subject::has_links>, link}};
}

}  // namespace bp::conform
