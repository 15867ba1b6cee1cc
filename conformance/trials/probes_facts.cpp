// L1: what a device says of itself is so, and stays so: its texts, its place in the machine, priorities, free memory, links.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include <backplane/extensions/peer.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

// `find` gives what is wrong with one device's facts.
void of_each_device(ProbePlan& plan, std::function<std::string(const Json& facts)> find) {
  ask_bare(plan, {{"do", "facts"}}, [find = std::move(find)](const Json& result) {
    for (std::size_t i = 0; i < result["first"].size(); ++i) {
      const std::string fault = find(result["first"][i]);
      demand(fault.empty(), "device {} {}", i, fault);
    }
  });
}

void twice(ProbePlan& plan) {
  ask_bare(plan, {{"do", "facts"}}, [](const Json& result) {
    for (std::size_t i = 0; i < result["first"].size(); ++i)
      for (const auto& [fact, value] : result["first"][i].items())
        demand(result["second"].at(i).at(fact) == value,
               "the {} of device {} is another one when asked again", fact, i);
  });
}

void texts(ProbePlan& plan) {
  of_each_device(plan, [](const Json& facts) -> std::string {
    for (const char* text : {"name", "bus", "driver"}) {
      const auto& bytes = facts[text].get_binary();
      if (std::ranges::find(bytes, 0) == bytes.end())
        return fmt::format("has a {} that does not end", text);
    }
    return {};
  });
}

void numa_node(ProbePlan& plan) {
  of_each_device(plan, [](const Json& facts) -> std::string {
    const int node = facts["numa_node"].get<int>();
    if (node == -1) return {};
    const std::string folder = fmt::format("/sys/devices/system/node/node{}", node);
    if (node >= 0 && std::filesystem::exists(folder)) return {};
    return fmt::format("is on NUMA node {}, which this machine does not have; -1 is unknown", node);
  });
}

void priority_range(ProbePlan& plan) {
  of_each_device(plan, [has_streams = plan.subject.has_streams](const Json& facts) -> std::string {
    const int least = facts["least_priority"].get<int>(),
              greatest = facts["greatest_priority"].get<int>();
    const std::string range = fmt::format("has priorities from {} down to {}", least, greatest);
    if (greatest > least) return range + "; lower is more urgent";
    if (greatest > 0 || least < 0) return range + ", without 0, which is normal";
    if (!has_streams && greatest != least) return "has a range of priorities, and no streams";
    return {};
  });
}

// A stream at the end of the range takes work as any other.
void priority(ProbePlan& plan) {
  plan.add({{"do", "stream"},
            {"object", 50},
            {"priority", plan.variant == "least" ? plan.subject.least_priority
                                                 : plan.subject.greatest_priority}});
  plan.make(1, pattern_bytes(3000, 4));
  plan.allocate(2, 3000);
  plan.copy(2, 0, 1, 0, 3000, 50);
  plan.synchronize(50);
  plan.expect(2, fmt::format("a copy on a stream of the {} priority", plan.variant));
}

// Others may take and give back memory meanwhile, so that only what happens in every round counts.
void free_memory(ProbePlan& plan) {
  constexpr std::uint64_t much = 32 << 20;
  constexpr std::size_t rounds = 4;
  plan.run_once(60);
  const Json describe = {{"do", "describe_space"}, {"space", 0}};
  for (std::size_t round = 0; round < rounds; ++round) {
    plan.add(describe);
    plan.add(allocate_step(1 + static_cast<int>(round), much));
    plan.add(describe);
  }
  plan.judge = [=](const Answer& answer) {
    std::size_t rises = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto free_at = [&](std::size_t step) {
        const auto free = answer[step]["free"].get<std::uint64_t>(),
                   total = answer[step]["total"].get<std::uint64_t>();
        demand(free <= total, "{} bytes are free of {}", free, total);
        return free;
      };
      const std::uint64_t before = free_at(3 * round), after = free_at(3 * round + 2);
      rises += after >= before + much / 2;
    }
    demand(rises < rounds, "free memory rises whenever {} bytes are allocated", much);
  };
}

void check_link(const Json& links, const Json& link) {
  const int to = link["to"].get<int>(), from = link["from"].get<int>();
  const std::string name = fmt::format("the link from device {} to {}", from, to);
  demand(code_of(link) == BP_OK || code_of(link) == BP_UNSUPPORTED, "{}: {}", name, error_of(link));
  if (code_of(link) != BP_OK) return;
  const auto kind = link["kind"].get<std::uint32_t>();
  demand(to != from || kind == BP_LINK_SAME || kind == BP_LINK_UNKNOWN,
         "{} is of kind {}, though they are one device", name, kind);
  for (const Json& back : links)
    demand(back["to"] != from || back["from"] != to ||
               (code_of(back) == BP_OK && back["kind"] == kind),
           "{} is of kind {}, and not the one back", name, kind);
}

void links_between(ProbePlan& plan) {
  ask_bare(plan, {{"do", "links"}}, [](const Json& result) {
    for (const Json& each : result["links"]) check_link(result["links"], each);
  });
}

}  // namespace

std::vector<ProbeFamily> facts_families() {
  return {{"facts",
           1,
           {{"twice", twice},
            {"texts", texts},
            {"numa_node", numa_node},
            {"priority_range", priority_range},
            {"priority", priority, {{"least", "greatest"}, has<&Subject::has_streams>}},
            {"free_memory", free_memory, {.applies = has<&Subject::describes_space>}},
            {"link", links_between, {.applies = has<&Subject::has_links>}}}}};
}

}  // namespace bp::conform
